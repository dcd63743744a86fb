#include "engine/store_impl.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/backends.h"
#include "engine/table_impl.h"
#include "engine/table_writer.h"
#include "engine/verify.h"
#include "storage/readers/utf8.h"
#include "storage/rocksdb_row_store.h"
#include "storage/store_file.h"

namespace edo {
namespace engine {

using storage::CatalogEntry;
using storage::TableRecord;

namespace {

std::string TableRecordName(std::string_view table) {
  return storage::kTableRecordPrefix + std::string(table);
}

Status CheckTableName(std::string_view name) {
  if (name.empty() || name.size() > kMaxTableNameBytes) {
    return Status::InvalidArgument("table name of " + std::to_string(name.size()) +
                                   " bytes; allowed are 1 to " +
                                   std::to_string(kMaxTableNameBytes));
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return Status::InvalidArgument("table name holds a control character");
    }
  }
  if (storage::FirstInvalidUtf8(name) != std::string_view::npos) {
    return Status::InvalidArgument("table name is not UTF-8");
  }
  return Status::Ok();
}

// The files of each table must be those that its record counted.
Status CheckFiles(const storage::RowStore& rows, const CatalogState& state,
                  const std::string& directory) {
  struct Count {
    uint64_t chunk_files = 0, key_files = 0, bytes = 0;
  };
  std::map<uint64_t, Count> by_generation;
  for (const storage::StoreFile& file : rows.Files()) {
    if (!file.has_pages) continue;
    Count& count = by_generation[file.generation];
    ++(file.kind == storage::PageKind::kChunk ? count.chunk_files : count.key_files);
    count.bytes += file.bytes;
  }
  for (const auto& [name, table] : state.tables) {
    for (const TableRecord& record : storage::TiersOf(table)) {
      const Count count = by_generation[record.info.generation];
      const uint64_t expected = record.info.chunk_file_bytes + record.info.key_file_bytes;
      if (count.chunk_files == record.chunk_files && count.key_files == record.key_files &&
          count.bytes == expected) {
        continue;
      }
      return Status::Corruption("store '" + directory + "': table '" + name + "' needs " +
                                std::to_string(record.chunk_files + record.key_files) +
                                " files of " + std::to_string(expected) +
                                " bytes; the MANIFEST names " +
                                std::to_string(count.chunk_files + count.key_files) + " of " +
                                std::to_string(count.bytes) + " bytes: the MANIFEST is damaged");
    }
  }
  return Status::Ok();
}

}  // namespace

Result<CatalogState> LoadCatalog(const storage::RowStore& rows, uint64_t commits,
                                 const std::string& directory) {
  EDO_ASSIGN_OR_RETURN(const std::vector<CatalogEntry> entries, rows.ReadCatalog());
  CatalogState state;
  bool has_store_record = false;
  for (const CatalogEntry& entry : entries) {
    if (entry.name == storage::kStoreRecordName) {
      EDO_ASSIGN_OR_RETURN(state.store, storage::DecodeStoreRecord(entry.record));
      has_store_record = true;
    } else if (entry.name.starts_with(storage::kTableRecordPrefix)) {
      const std::string name = entry.name.substr(sizeof(storage::kTableRecordPrefix) - 1);
      EDO_ASSIGN_OR_RETURN(state.tables[name], storage::DecodeTableRecord(name, entry.record));
    }
  }
  if (!has_store_record) {
    return Status::Corruption("store '" + directory +
                              "': the catalog holds no record of the store");
  }
  if (state.store.commits < commits) {
    return Status::Corruption("store '" + directory + "': the catalog has seen " +
                              std::to_string(state.store.commits) + " commits, the file EDO says " +
                              std::to_string(commits) +
                              ": the MANIFEST or a .log file lost its last records");
  }
  EDO_RETURN_IF_ERROR(CheckFiles(rows, state, directory));
  return state;
}

// The backend that the options, or the environment, ask for, and the caches.
Status MakeCaches(StoreContext* context) {
  const StoreOptions& options = context->options;
  // A backend that was forced must be there. One that was not is looked for when it is needed:
  // asking a driver takes time that a lookup on the CPU shall not pay.
  if (options.backend != BackendKind::kAuto || options.device_cache_bytes > 0 ||
      std::getenv("EDO_BACKEND") != nullptr) {
    EDO_RETURN_IF_ERROR(DeviceOf(*context).status());
  }
  const auto make = [](const std::shared_ptr<kernels::Backend>& backend, uint64_t bytes,
                       std::unique_ptr<gpucache::RowCache>* cache) -> Status {
    if (bytes == 0) return Status::Ok();
    EDO_ASSIGN_OR_RETURN(*cache, gpucache::RowCache::Make(backend, {.bytes = bytes}));
    return Status::Ok();
  };
  // Beside a device the host's cache is the tier between it and the disk: pinned memory, from which
  // copies go straight up.
  const bool tier = options.device_cache_bytes > 0 && !context->device->synchronous();
  const auto host = tier ? kernels::MakeCpuBackend(context->device) : context->cpu;
  EDO_RETURN_IF_ERROR(make(host, options.cache_bytes, &context->cache));
  return make(context->device, options.device_cache_bytes, &context->device_cache);
}

StoreImpl::StoreImpl(std::shared_ptr<StoreContext> context, CatalogState state)
    : context_(std::move(context)), record_(state.store) {
  for (auto& [name, record] : state.tables) {
    std::vector<std::shared_ptr<GenerationPin>> hot;
    for (const TableRecord& tier : storage::TiersOf(record)) {
      hot.push_back(std::make_shared<GenerationPin>(context_, tier.info.generation));
    }
    hot.pop_back();  // the last tier's generation is the table's
    auto pin = std::make_shared<GenerationPin>(context_, record.info.generation, std::move(hot));
    tables_[name] = {std::move(record), std::move(pin)};
  }
}

Result<std::unique_ptr<StoreImpl>> StoreImpl::Make(std::unique_ptr<storage::RowStore> rows,
                                                   std::string directory,
                                                   const StoreOptions& options,
                                                   CatalogState state) {
  auto context = std::make_shared<StoreContext>();
  context->directory = std::move(directory);
  context->options = options;
  context->rows = std::move(rows);
  context->prefetcher = std::make_unique<Prefetcher>(context->rows.get(), options);
  EDO_RETURN_IF_ERROR(MakeCaches(context.get()));
  auto store = std::unique_ptr<StoreImpl>(new StoreImpl(std::move(context), std::move(state)));
  if (!options.read_only) store->DropOrphans();
  return store;
}

Result<std::unique_ptr<StoreImpl>> StoreImpl::MakeNew(std::unique_ptr<storage::RowStore> rows,
                                                      std::string directory,
                                                      const StoreOptions& options) {
  EDO_ASSIGN_OR_RETURN(auto store, Make(std::move(rows), std::move(directory), options, {}));
  EDO_RETURN_IF_ERROR(store->WriteCommit({}, {}));
  if (store->directory().empty()) return store;
  // From here on the store counts as made (see Store::Open), so this write may not fail quietly.
  EDO_ASSIGN_OR_RETURN(const storage::StoreFileContent file,
                       storage::ReadStoreFile(store->directory()));
  if (file.commits != store->record_.commits) {
    return Status::IoError("cannot write the file EDO in '" + store->directory() + "'");
  }
  return store;
}

// Tickets and tables that outlive the store find its reads ahead at an end.
StoreImpl::~StoreImpl() { context_->prefetcher->Close(); }

void StoreImpl::DropOrphans() {
  std::set<uint64_t> present;
  for (const storage::StoreFile& file : context_->rows->Files()) {
    if (file.has_pages) present.insert(file.generation);
  }
  if (!present.empty()) {
    record_.next_generation = std::max(record_.next_generation, *present.rbegin() + 1);
  }
  for (const auto& [name, entry] : tables_) {
    for (const TableRecord& tier : storage::TiersOf(entry.record)) {
      present.erase(tier.info.generation);
    }
  }
  for (const uint64_t generation : present) {
    context_->Log(LogLevel::kInfo, "dropping generation " + std::to_string(generation) +
                                       ", left by an import that did not finish");
    const Status s = context_->rows->DropGeneration(generation);
    if (!s.ok()) context_->Log(LogLevel::kWarning, s.ToString());
  }
}

Status StoreImpl::CheckWritable() const {
  if (!context_->options.read_only) return Status::Ok();
  return Status::InvalidArgument("store '" + context_->directory + "' is open read-only");
}

Status StoreImpl::UnknownTable(std::string_view name) const {
  std::string known;
  for (const auto& [other, entry] : tables_) known += (known.empty() ? "'" : ", '") + other + "'";
  return Status::NotFound("store '" + context_->directory + "' has no table '" + std::string(name) +
                          "'" + (known.empty() ? "; it is empty" : "; it has " + known));
}

std::vector<TableInfo> StoreImpl::Tables() const {
  const std::shared_lock lock(mutex_);
  std::vector<TableInfo> infos;
  infos.reserve(tables_.size());
  for (const auto& [name, entry] : tables_) {
    infos.push_back(entry.record.info);
    if (entry.record.composition) infos.back().unfit = CheckComposed(entry.record).message();
  }
  return infos;
}

Result<std::unique_ptr<Table>> StoreImpl::MakeTable(const Entry& entry,
                                                    const ReadOptions& options) const {
  if (entry.record.composition) return OpenComposed(entry, options);
  EDO_ASSIGN_OR_RETURN(auto table, TableImpl::Make(context_, entry.pin, entry.record, options));
  return std::unique_ptr<Table>(std::move(table));
}

Result<std::unique_ptr<Table>> StoreImpl::OpenTable(std::string_view name,
                                                    const ReadOptions& options) const {
  const std::shared_lock lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return UnknownTable(name);
  return MakeTable(found->second, options);
}

Result<std::unique_ptr<Table>> StoreImpl::OpenOnlyTable() const {
  const std::shared_lock lock(mutex_);
  if (tables_.size() == 1) return MakeTable(tables_.begin()->second, {});
  std::string names;
  for (const auto& [name, entry] : tables_) names += (names.empty() ? "'" : ", '") + name + "'";
  if (names.empty()) {
    return Status::NotFound("store '" + context_->directory + "' has no tables");
  }
  return Status::InvalidArgument("store '" + context_->directory + "' has " +
                                 std::to_string(tables_.size()) + " tables; name one of " + names);
}

Status StoreImpl::CheckMayCreate(std::string_view name, bool replace) const {
  const std::shared_lock lock(mutex_);
  if (replace || !tables_.contains(name)) return Status::Ok();
  return Status::AlreadyExists("table '" + std::string(name) + "' exists in store '" +
                               context_->directory + "' and replacing it was not asked for");
}

Result<std::unique_ptr<TableWriter>> StoreImpl::CreateTable(std::string_view name,
                                                            const TableOptions& options) {
  EDO_RETURN_IF_ERROR(CheckWritable());
  EDO_RETURN_IF_ERROR(CheckTableName(name));
  EDO_RETURN_IF_ERROR(options.Validate());
  EDO_RETURN_IF_ERROR(CheckMayCreate(name, options.replace));
  return TableWriterImpl::Make(this, std::string(name), options);
}

Result<uint64_t> StoreImpl::NewGeneration() {
  const std::unique_lock lock(mutex_);
  if (record_.next_generation > kMaxGenerations) {
    return Status::InvalidArgument("store '" + context_->directory + "' has used up its " +
                                   std::to_string(kMaxGenerations) +
                                   " generations; export its tables into a new store");
  }
  return record_.next_generation++;
}

Status StoreImpl::WriteCommit(std::vector<CatalogEntry> puts, std::vector<std::string> deletes) {
  storage::StoreRecord record = record_;
  ++record.commits;
  puts.push_back({storage::kStoreRecordName, storage::EncodeStoreRecord(record)});
  EDO_RETURN_IF_ERROR(context_->rows->WriteCatalog(puts, deletes));
  record_ = record;
  if (context_->directory.empty()) return Status::Ok();
  // The commit stands. Should this fail, the file counts one commit less, which is harmless.
  const Status counted =
      storage::WriteStoreFile(context_->directory, {storage::kFormatVersion, record.commits});
  if (!counted.ok()) context_->Log(LogLevel::kWarning, counted.ToString());
  return Status::Ok();
}

Status StoreImpl::CommitTable(TableRecord record, bool replace, storage::BulkWriter* writer,
                              StagedTiers hot) {
  const std::unique_lock lock(mutex_);
  if (tables_.contains(record.info.name) && !replace) {
    return Status::AlreadyExists("table '" + record.info.name +
                                 "' was made by another writer meanwhile");
  }
  return CommitLocked(std::move(record), writer, std::move(hot));
}

Status StoreImpl::CommitRecoded(TableRecord record, uint64_t expected, storage::BulkWriter* writer,
                                StagedTiers hot) {
  const std::unique_lock lock(mutex_);
  const auto old = tables_.find(record.info.name);
  if (old == tables_.end()) return UnknownTable(record.info.name);
  if (old->second.record.info.generation != expected) {
    return Status::AlreadyExists("table '" + record.info.name +
                                 "' was replaced meanwhile; it is left as it is now");
  }
  return CommitLocked(std::move(record), writer, std::move(hot));
}

Status StoreImpl::CommitLocked(TableRecord record, storage::BulkWriter* writer, StagedTiers hot) {
  const std::string name = record.info.name;
  const auto old = tables_.find(name);
  EDO_RETURN_IF_ERROR(context_->rows->Ingest(writer));
  auto pin = std::make_shared<GenerationPin>(context_, record.info.generation, hot);
  const Status s = WriteCommit({{TableRecordName(name), storage::EncodeTableRecord(record)}}, {});
  if (!s.ok()) {
    pin->Doom();
    return s;
  }
  for (const auto& tier : hot) tier->Keep();
  if (old != tables_.end()) old->second.pin->Doom();
  tables_[name] = {std::move(record), std::move(pin)};
  WarnOfUnfit(name);
  return Status::Ok();
}

Result<TableInfo> StoreImpl::CommitComposed(TableRecord record) {
  const TableInfo info = record.info;
  EDO_RETURN_IF_ERROR(CheckTableName(info.name));
  EDO_RETURN_IF_ERROR(
      WriteCommit({{TableRecordName(info.name), storage::EncodeTableRecord(record)}}, {}));
  if (const auto old = tables_.find(info.name); old != tables_.end()) old->second.pin->Doom();
  auto pin = std::make_shared<GenerationPin>(context_, info.generation);
  tables_[info.name] = {std::move(record), std::move(pin)};
  return info;
}

Result<std::shared_ptr<GenerationPin>> StoreImpl::Stage(uint64_t generation,
                                                        storage::BulkWriter* writer) {
  const std::unique_lock lock(mutex_);
  EDO_RETURN_IF_ERROR(context_->rows->Ingest(writer));
  auto pin = std::make_shared<GenerationPin>(context_, generation);
  pin->Doom();
  return pin;
}

Status StoreImpl::DropTable(std::string_view name) {
  EDO_RETURN_IF_ERROR(CheckWritable());
  const std::unique_lock lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return UnknownTable(name);
  if (const std::string composed = ComposedOf(name); !composed.empty()) {
    return Status::InvalidArgument("table '" + std::string(name) + "' is a part of table '" +
                                   composed + "'; drop that first");
  }
  EDO_RETURN_IF_ERROR(WriteCommit({}, {TableRecordName(name)}));
  found->second.pin->Doom();
  tables_.erase(found);
  return Status::Ok();
}

Status StoreImpl::RenameTable(std::string_view from, std::string_view to) {
  EDO_RETURN_IF_ERROR(CheckWritable());
  EDO_RETURN_IF_ERROR(CheckTableName(to));
  const std::unique_lock lock(mutex_);
  const auto found = tables_.find(from);
  if (found == tables_.end()) return UnknownTable(from);
  if (from == to) return Status::Ok();
  if (tables_.contains(to)) {
    return Status::AlreadyExists("table '" + std::string(to) + "' exists in store '" +
                                 context_->directory + "'");
  }
  Entry entry = found->second;
  entry.record.info.name = to;
  for (TableRecord& tier : entry.record.tiers) tier.info.name = to;
  std::vector<CatalogEntry> puts{{TableRecordName(to), storage::EncodeTableRecord(entry.record)}};
  // Compositions follow the names of their parts.
  std::map<std::string, TableRecord> renamed;
  for (const auto& [name, other] : tables_) {
    if (!other.record.composition) continue;
    TableRecord record = other.record;
    bool named = false;
    for (ComposedPart& part : record.composition->parts) {
      if (part.table != from) continue;
      part.table = to;
      named = true;
    }
    if (!named) continue;
    record.info.composition = record.composition->ToString();
    puts.push_back({TableRecordName(name), storage::EncodeTableRecord(record)});
    renamed[name] = std::move(record);
  }
  EDO_RETURN_IF_ERROR(WriteCommit(std::move(puts), {TableRecordName(from)}));
  for (auto& [name, record] : renamed) tables_.find(name)->second.record = std::move(record);
  tables_.erase(found);
  tables_[std::string(to)] = std::move(entry);
  return Status::Ok();
}

Status StoreImpl::SetMetadata(std::string_view name, const Metadata& pairs) {
  EDO_RETURN_IF_ERROR(CheckWritable());
  const std::unique_lock lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return UnknownTable(name);
  TableRecord record = found->second.record;
  for (const auto& [key, value] : pairs) {
    if (value.empty()) {
      record.info.metadata.erase(key);
    } else {
      record.info.metadata[key] = value;
    }
  }
  EDO_RETURN_IF_ERROR(
      WriteCommit({{TableRecordName(name), storage::EncodeTableRecord(record)}}, {}));
  found->second.record = std::move(record);
  return Status::Ok();
}

Result<VerifyReport> StoreImpl::Verify(const VerifyOptions& options) const {
  std::vector<TableRecord> records;
  std::vector<std::shared_ptr<GenerationPin>> pins;  // nothing is dropped while it is read
  std::vector<UnfitTable> unfit;
  {
    const std::shared_lock lock(mutex_);
    if (!options.table.empty() && !tables_.contains(options.table)) {
      return UnknownTable(options.table);
    }
    const auto wanted = tables_.find(options.table);
    for (const auto& [name, entry] : tables_) {
      // With a composed table its parts: what it reads.
      bool take = options.table.empty() || name == options.table;
      if (!take && wanted->second.record.composition) {
        for (const ComposedPart& part : wanted->second.record.composition->parts) {
          take |= part.table == name;
        }
      }
      if (!take) continue;
      records.push_back(entry.record);
      pins.push_back(entry.pin);
      if (!entry.record.composition) continue;
      if (const Status s = CheckComposed(entry.record); !s.ok()) {
        unfit.push_back({name, std::string(s.message())});
      }
    }
  }
  EDO_ASSIGN_OR_RETURN(VerifyReport report, VerifyTables(*context_, records, options));
  report.unfit = std::move(unfit);
  return report;
}

Stats StoreImpl::stats() const {
  Stats stats;
  context_->counters.AddTo(&stats);
  context_->rows->AddStats(&stats);
  {
    const std::lock_guard lock(context_->device_mutex);
    if (context_->device) stats.backend = context_->device->name();
  }
  if (context_->cache) {
    const gpucache::RowCacheCounters c = context_->cache->counters();
    stats.cache_hits = c.hits;
    stats.cache_misses = c.misses;
    stats.cache_fills = c.fills;
    stats.cache_evictions = c.evictions;
    stats.cache_rejected = c.rejected;
    stats.cache_skipped = c.skipped;
    stats.cache_bytes = c.bytes;
  }
  if (context_->device_cache) {
    const gpucache::RowCacheCounters c = context_->device_cache->counters();
    stats.device_cache_hits = c.hits;
    stats.device_cache_misses = c.misses;
    stats.device_cache_fills = c.fills;
    stats.device_cache_evictions = c.evictions;
    stats.device_cache_bytes = c.bytes;
  }
  return stats;
}

}  // namespace engine

Status TableOptions::Validate() const {
  if (dim < 1 || dim > kMaxDim) {
    return Status::InvalidArgument("dim " + std::to_string(dim) + "; allowed are 1 to " +
                                   std::to_string(kMaxDim));
  }
  if (expected_rows > kMaxRows) {
    return Status::InvalidArgument("rows " + std::to_string(expected_rows) + "; at most " +
                                   std::to_string(kMaxRows) + " fit a table");
  }
  return order.Validate();
}

namespace {

storage::RocksdbRowStoreOptions RowStoreOptions(const StoreOptions& options) {
  storage::RocksdbRowStoreOptions rows;
  rows.read_only = options.read_only;
  rows.direct_reads = options.direct_reads;
  rows.io_uring = options.io_uring;
  rows.by_address = options.chunk_files_directly;
  rows.read_threads = options.read_threads;
  rows.key_cache_bytes = options.key_cache_bytes;
  rows.log = options.log;
  return rows;
}

// Makes the database and the first commit in a directory that holds at most a file EDO.
Result<std::unique_ptr<Store>> MakeDatabase(const std::string& directory,
                                            const StoreOptions& options,
                                            std::unique_ptr<storage::DirectoryLock> alone) {
  // A file EDO with no commits marks a store that is being made.
  EDO_RETURN_IF_ERROR(storage::WriteStoreFile(directory, {storage::kFormatVersion, 0}));
  storage::RocksdbRowStoreOptions rows_options = RowStoreOptions(options);
  rows_options.create = true;
  EDO_ASSIGN_OR_RETURN(auto rows, storage::OpenRocksdbRowStore(directory, rows_options));
  EDO_ASSIGN_OR_RETURN(auto store, engine::StoreImpl::MakeNew(std::move(rows), directory, options));
  EDO_RETURN_IF_ERROR(alone->Share());
  store->context()->lock = std::move(alone);
  return std::unique_ptr<Store>(std::move(store));
}

// Everything of a store but its database; for whoever holds the directory alone.
void RemoveFiles(const std::string& directory) {
  (void)storage::DestroyRocksdbRowStore(directory);
  std::error_code error;
  std::filesystem::remove(directory + "/" + storage::kStoreFileName, error);
  storage::RemoveStoreFileLeftover(directory);
}

// `shared`: null for a read-only open.
Result<std::unique_ptr<Store>> OpenDatabase(const std::string& directory,
                                            const StoreOptions& options,
                                            std::unique_ptr<storage::DirectoryLock> shared) {
  engine::CatalogState state;
  storage::RocksdbRowStoreOptions rows_options = RowStoreOptions(options);
  rows_options.check = [&](const storage::RowStore& rows) -> Status {
    // The file is read before the catalog is trusted, and anew each time: beside a live writer
    // both may move, but never the file ahead of the catalog.
    EDO_ASSIGN_OR_RETURN(const storage::StoreFileContent file, storage::ReadStoreFile(directory));
    EDO_ASSIGN_OR_RETURN(state, engine::LoadCatalog(rows, file.commits, directory));
    return Status::Ok();
  };
  EDO_ASSIGN_OR_RETURN(auto rows, storage::OpenRocksdbRowStore(directory, rows_options));
  EDO_ASSIGN_OR_RETURN(
      auto store, engine::StoreImpl::Make(std::move(rows), directory, options, std::move(state)));
  store->context()->lock = std::move(shared);
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace

bool Store::Exists(const std::string& directory) { return storage::StoreFileExists(directory); }

Result<std::unique_ptr<Store>> Store::Create(const std::string& directory,
                                             const StoreOptions& options) {
  EDO_RETURN_IF_ERROR(options.Validate());
  if (options.read_only) return Status::InvalidArgument("a new store cannot be read-only");
  if (Exists(directory)) return Status::AlreadyExists("store '" + directory + "' exists");
  std::error_code error;
  const bool made = std::filesystem::create_directories(directory, error);
  if (error) {
    return Status(
        error == std::errc::no_space_on_device ? StatusCode::kNoSpace : StatusCode::kIoError,
        "cannot make directory '" + directory + "': " + error.message());
  }
  EDO_ASSIGN_OR_RETURN(auto lock, storage::DirectoryLock::Alone(directory));
  if (Exists(directory)) return Status::AlreadyExists("store '" + directory + "' exists");
  storage::RemoveStoreFileLeftover(directory);
  if (!made && !std::filesystem::is_empty(directory, error)) {
    return Status::AlreadyExists("directory '" + directory +
                                 "' is not a store and not empty; a store needs its own directory");
  }
  auto store = MakeDatabase(directory, options, std::move(lock));
  if (!store.ok() && store.status().code() != StatusCode::kBusy) {
    if (const auto again = storage::DirectoryLock::Alone(directory); again.ok()) {
      RemoveFiles(directory);  // leave nothing half made behind
      if (made) std::filesystem::remove(directory, error);
    }
  }
  return store;
}

Result<std::unique_ptr<Store>> Store::Open(const std::string& directory,
                                           const StoreOptions& options) {
  EDO_RETURN_IF_ERROR(options.Validate());
  EDO_ASSIGN_OR_RETURN(const storage::StoreFileContent file, storage::ReadStoreFile(directory));
  if (options.read_only) {
    auto store = OpenDatabase(directory, options, nullptr);
    if (store.ok() || file.commits > 0) return store;
    return Status::NotFound("no store at '" + directory +
                            "': making it was interrupted; the next import will finish that");
  }
  if (file.commits > 0) {
    EDO_ASSIGN_OR_RETURN(auto lock, storage::DirectoryLock::Shared(directory));
    return OpenDatabase(directory, options, std::move(lock));
  }
  // The process that is making this store, or was making it, has not come to its first commit.
  EDO_ASSIGN_OR_RETURN(auto lock, storage::DirectoryLock::Alone(directory));
  EDO_ASSIGN_OR_RETURN(const storage::StoreFileContent now, storage::ReadStoreFile(directory));
  if (now.commits == 0) {
    EDO_RETURN_IF_ERROR(storage::DestroyRocksdbRowStore(directory));
    return MakeDatabase(directory, options, std::move(lock));
  }
  EDO_RETURN_IF_ERROR(lock->Share());
  return OpenDatabase(directory, options, std::move(lock));
}

Status Store::Destroy(const std::string& directory) {
  if (!Exists(directory)) {
    return Status::InvalidArgument("'" + directory + "' is not a store; nothing was removed");
  }
  EDO_ASSIGN_OR_RETURN(const auto lock, storage::DirectoryLock::Alone(directory));
  EDO_RETURN_IF_ERROR(storage::DestroyRocksdbRowStore(directory));
  RemoveFiles(directory);
  std::error_code error;
  std::filesystem::remove(directory, error);  // stays when it holds files of somebody else
  return Status::Ok();
}

Status Store::DestroyIfNeverUsed(const std::string& directory) {
  EDO_ASSIGN_OR_RETURN(const auto lock, storage::DirectoryLock::Alone(directory));
  EDO_ASSIGN_OR_RETURN(const storage::StoreFileContent file, storage::ReadStoreFile(directory));
  if (file.commits > 1) {  // the first commit made the store
    return Status::InvalidArgument("store '" + directory + "' has been used");
  }
  EDO_RETURN_IF_ERROR(storage::DestroyRocksdbRowStore(directory));
  RemoveFiles(directory);
  std::error_code error;
  std::filesystem::remove(directory, error);
  return Status::Ok();
}

}  // namespace edo
