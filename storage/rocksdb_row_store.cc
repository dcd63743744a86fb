#include "storage/rocksdb_row_store.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/chunk_packing.h"
#include "storage/page_key.h"
#include "storage/rocksdb_block_map.h"
#include "storage/rocksdb_bulk_writer.h"
#include "storage/rocksdb_checksum.h"
#include "storage/rocksdb_file_system.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_page_getter.h"
#include "storage/rocksdb_page_reader.h"
#include "storage/rocksdb_status.h"

namespace edo::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kScanReadahead = 2 << 20;

std::string FilePath(const std::string& directory, const rocksdb::LiveFileMetaData& file) {
  return directory + "/" + file.relative_filename;
}

// The process that holds the lock file, 0 when none does or that cannot be known. Read from
// /proc/locks: to open and close the file here would drop a lock that this process itself holds.
pid_t LockHolder(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return 0;
  std::ifstream locks("/proc/locks");
  std::string line;
  while (std::getline(locks, line)) {
    // "1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"
    std::istringstream fields(line);
    std::string number, type, mode, access, inode;
    pid_t pid = 0;
    if (!(fields >> number >> type >> mode >> access >> pid >> inode)) continue;
    if (type == "POSIX" && access == "WRITE" &&
        inode.ends_with(":" + std::to_string(info.st_ino))) {
      return pid;
    }
  }
  return 0;
}

Status OpenError(const std::string& directory, const rocksdb::Status& s) {
  const std::string text = s.ToString();
  const std::string lock_file = directory + "/LOCK";
  if (text.find("current process") != std::string::npos) {
    return Status::Busy("store '" + directory + "' is already open for writing in this process (" +
                        lock_file + ")");
  }
  if (text.find("While lock file") != std::string::npos) {
    const pid_t holder = LockHolder(lock_file);
    return Status::Busy("store '" + directory + "' is open for writing in another process" +
                        (holder > 0 ? " (process " + std::to_string(holder) + ")" : std::string()) +
                        "; it holds the lock file " + lock_file + ". Reading beside it works.");
  }
  Status status = FromRocksdb(s, "store '" + directory + "' cannot be opened");
  // Some messages of the database name no file; these are the ones an open reads.
  if (text.find(directory) == std::string::npos) {
    status = Status(status.code(), std::string(status.message()) + " (in " + directory +
                                       "/CURRENT, the MANIFEST it names, or a .log file)");
  }
  return status;
}

// The database itself takes the lock when it opens; this only says that it would fail. (Reading
// /proc/locks can take 20 ms, so not on the way to success.)
Status CheckNotLocked(const std::string& directory) {
  const pid_t holder = LockHolder(directory + "/LOCK");
  if (holder <= 0) return Status::Ok();
  return OpenError(directory, rocksdb::Status::IOError(
                                  holder == ::getpid() ? "While lock file: LOCK: current process"
                                                       : "While lock file: LOCK"));
}

// Each file of a read-only store stays open. Most machines allow 1024 by default and far more on
// request; false where they do not.
bool RaiseFileLimit(size_t files) {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  const rlim_t wanted = files + 256;
  if (limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = std::min(limit.rlim_max, wanted * 2);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted;
}

size_t CountSstFiles(const std::string& directory) {
  size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    count += it->path().extension() == ".sst";
  }
  return count;
}

// When a file of the directory was last made, renamed or removed.
fs::file_time_type LastChange(const std::string& directory) {
  std::error_code error;
  return fs::last_write_time(directory, error);
}

void RemoveBulkDirectories(const std::string& directory) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(kBulkDirectoryPrefix)) {
      found.push_back(it->path());
    }
  }
  for (const fs::path& path : found) fs::remove_all(path, error);
}

// Every open for writing begins a log, and only a commit clears old ones away. Must run while the
// lock is held and nothing more will be written.
void RemoveEmptyLogs(const std::string& directory) {
  std::error_code error;
  std::vector<fs::path> empty;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".log" && it->file_size(error) == 0) empty.push_back(it->path());
  }
  for (const fs::path& path : empty) fs::remove(path, error);
}

class RocksdbRowStore : public RowStore {
 public:
  RocksdbRowStore(std::string directory, std::shared_ptr<RingFileSystem> file_system,
                  std::unique_ptr<rocksdb::Env> env, RocksdbTuning tuning,
                  const RocksdbRowStoreOptions& options)
      : directory_(std::move(directory)),
        file_system_(std::move(file_system)),
        env_(std::move(env)),
        tuning_(std::move(tuning)),
        read_threads_(options.read_threads),
        by_address_(options.by_address),
        rings_(options.rings) {}

  ~RocksdbRowStore() override {
    if (!db_) return;
    if (!tuning_.read_only) RemoveEmptyLogs(directory_);
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    db_->Close().PermitUncheckedError();
  }

  Status Open(bool create);

  void ReadPages(PageKind kind, uint64_t generation, std::span<const uint64_t> numbers,
                 const Deadline& deadline, const PageFunction& fn) const override {
    reader_->ReadPages(kind, generation, numbers, deadline, ThreadsFor(kind), fn);
  }
  void ReadStream(PageStream* stream) const override { reader_->ReadStream(stream); }
  std::unique_ptr<PageCursor> ScanPages(PageKind kind, uint64_t generation, uint64_t first,
                                        uint64_t last) const override;
  Result<std::vector<CatalogEntry>> ReadCatalog() const override;
  Status WriteCatalog(std::span<const CatalogEntry> puts,
                      std::span<const std::string> deletes) override;
  Result<std::unique_ptr<BulkWriter>> NewBulkWriter(uint64_t generation) override;
  Status Ingest(BulkWriter* writer) override;
  Status DropGeneration(uint64_t generation) override;
  std::optional<uint64_t> FreeBytes() const override;
  std::vector<StoreFile> Files() const override;
  std::string FileOf(PageKind kind, uint64_t generation, uint64_t number) const override {
    return getter_->FileOf(kind, PageId(kind, generation, number));
  }
  Status VerifyFile(const StoreFile& file,
                    const std::function<bool(uint64_t)>& progress) const override;
  void AddStats(Stats* stats) const override;

 private:
  class Cursor;
  // One thread keeps the device's queue full, but for what it reads through MultiGet, which waits
  // for 32 reads at a time, or by preads: there, more threads put more reads in flight.
  uint32_t ThreadsFor(PageKind kind) const {
    if (read_threads_ > 0) return read_threads_;
    const bool full_queue =
        kind == PageKind::kChunk && by_address_ && file_system_->uring_available();
    return tuning_.direct_reads && !full_queue ? 4 : 1;
  }
  rocksdb::ColumnFamilyHandle* family(PageKind kind) const { return getter_->family(kind); }
  std::vector<rocksdb::ColumnFamilyDescriptor> Families() const {
    return {{rocksdb::kDefaultColumnFamilyName, CatalogFamilyOptions()},
            {kChunksFamily, ChunksFamilyOptions()},
            {kKeysFamily, KeysFamilyOptions(tuning_.key_cache_bytes)}};
  }
  bool RightlyGone(const StoreFile& file) const;

  const std::string directory_;
  const std::shared_ptr<RingFileSystem> file_system_;
  const std::unique_ptr<rocksdb::Env> env_;
  const RocksdbTuning tuning_;
  const uint32_t read_threads_;
  const bool by_address_;
  const BlockRingFactory rings_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;  // catalog, chunks, keys
  std::unique_ptr<PageGetter> getter_;
  std::unique_ptr<BlockMaps> maps_;
  std::unique_ptr<PageReader> reader_;
};

Status RocksdbRowStore::Open(bool create) {
  rocksdb::DBOptions options = DatabaseOptions(tuning_);
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  options.error_if_exists = create;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status s =
      tuning_.read_only
          ? rocksdb::DB::OpenForReadOnly(options, directory_, Families(), &handles_, &db)
          : rocksdb::DB::Open(options, directory_, Families(), &handles_, &db);
  if (!s.ok()) return OpenError(directory_, s);
  db_.reset(db);
  getter_ = std::make_unique<PageGetter>(db, handles_[1], handles_[2], directory_);
  maps_ = std::make_unique<BlockMaps>(db, getter_.get(), directory_, tuning_.direct_reads,
                                      file_system_->open_files(), file_system_->read_path());
  reader_ = std::make_unique<PageReader>(
      PageReader::Parts{getter_.get(), by_address_ ? maps_.get() : nullptr,
                        file_system_->read_path(), file_system_->uring_available(), rings_});
  return Status::Ok();
}

// Walks pages by RocksDB's iterator, which reads ahead in large pieces.
class RocksdbRowStore::Cursor : public PageCursor {
 public:
  Cursor(const RocksdbRowStore* store, PageKind kind, uint64_t generation, uint64_t first,
         uint64_t last)
      : store_(store),
        kind_(kind),
        generation_(generation),
        next_(first),
        last_(last),
        end_key_(EncodePageId(PageId(kind, generation, last))),
        upper_bound_(end_key_.data(), end_key_.size()) {
    rocksdb::ReadOptions options;
    options.readahead_size = kScanReadahead;
    options.fill_cache = false;
    options.verify_checksums = true;
    options.iterate_upper_bound = &upper_bound_;
    it_.reset(store->db_->NewIterator(options, store->family(kind)));
  }

  Result<bool> Next(uint64_t* number, PageView* page) override {
    if (next_ >= last_) return false;
    if (!started_) {
      const PageKeyBytes key = EncodePageKey(kind_, generation_, next_);
      it_->Seek(rocksdb::Slice(key.data(), key.size()));
      started_ = true;
    } else {
      it_->Next();
    }
    const std::string name = std::string(PageKindName(kind_)) + " " + std::to_string(next_);
    const uint64_t id = PageId(kind_, generation_, next_);
    if (!it_->Valid() || DecodePageId({it_->key().data(), it_->key().size()}) != id) {
      next_ = last_;
      if (!it_->status().ok()) return FromRocksdb(it_->status(), name);
      return Status::Corruption(name + ": not in the store");
    }
    Status s = store_->getter_->Prove(kind_, id, rocksdb::Status::OK(),
                                      {it_->value().data(), it_->value().size()}, page);
    if (s.ok() && kind_ == PageKind::kChunk) {
      s = unpacker_.Unpack(page);
      if (!s.ok()) s = s.WithContext(store_->getter_->FileOf(kind_, id));
    }
    if (!s.ok()) {
      next_ = last_;
      return s.WithContext(name);
    }
    *number = next_++;
    return true;
  }

 private:
  const RocksdbRowStore* const store_;
  const PageKind kind_;
  const uint64_t generation_;
  uint64_t next_;
  const uint64_t last_;
  const PageKeyBytes end_key_;
  const rocksdb::Slice upper_bound_;
  std::unique_ptr<rocksdb::Iterator> it_;
  ChunkUnpacker unpacker_;
  bool started_ = false;
};

std::unique_ptr<PageCursor> RocksdbRowStore::ScanPages(PageKind kind, uint64_t generation,
                                                       uint64_t first, uint64_t last) const {
  return std::make_unique<Cursor>(this, kind, generation, first, last);
}

Result<std::vector<CatalogEntry>> RocksdbRowStore::ReadCatalog() const {
  std::vector<CatalogEntry> entries;
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->NewIterator(rocksdb::ReadOptions(), handles_[0]));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    entries.push_back({it->key().ToString(), it->value().ToString()});
  }
  EDO_RETURN_IF_ERROR(FromRocksdb(it->status(), "catalog of store '" + directory_ + "'"));
  return entries;
}

Status RocksdbRowStore::WriteCatalog(std::span<const CatalogEntry> puts,
                                     std::span<const std::string> deletes) {
  rocksdb::WriteBatch batch;
  for (const std::string& name : deletes) {
    EDO_RETURN_IF_ERROR(FromRocksdb(batch.Delete(handles_[0], name), "catalog"));
  }
  for (const CatalogEntry& entry : puts) {
    EDO_RETURN_IF_ERROR(FromRocksdb(batch.Put(handles_[0], entry.name, entry.record), "catalog"));
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  EDO_RETURN_IF_ERROR(FromRocksdb(db_->Write(options, &batch),
                                  "cannot write the catalog of store '" + directory_ + "'"));
  // The record is durable now. Moved out of the log, it also gets a file checksum; should this
  // fail, the log still has it.
  db_->Flush(rocksdb::FlushOptions(), handles_[0]).PermitUncheckedError();
  return Status::Ok();
}

Result<std::unique_ptr<BulkWriter>> RocksdbRowStore::NewBulkWriter(uint64_t generation) {
  rocksdb::DBOptions database = DatabaseOptions(tuning_);
  database.file_checksum_gen_factory = nullptr;  // RingFileSystem hashes these files
  auto writer = RocksdbBulkWriter::Make(
      directory_ + "/" + kBulkDirectoryPrefix + std::to_string(generation), generation,
      file_system_, rocksdb::Options(database, ChunksFamilyOptions()),
      rocksdb::Options(database, KeysFamilyOptions(0)));
  if (!writer.ok()) return writer.status();
  return std::unique_ptr<BulkWriter>(std::move(*writer));
}

Status RocksdbRowStore::Ingest(BulkWriter* writer) {
  auto* files = static_cast<RocksdbBulkWriter*>(writer);
  std::vector<rocksdb::IngestExternalFileArg> arguments;
  const auto add = [&](PageKind kind, const std::vector<RocksdbBulkWriter::FileInfo>& infos) {
    if (infos.empty()) return;
    rocksdb::IngestExternalFileArg argument;
    argument.column_family = family(kind);
    argument.options.move_files = true;
    argument.options.write_global_seqno = false;    // the file's checksum stays true
    argument.options.verify_file_checksum = false;  // it was computed while writing
    for (const auto& info : infos) {
      argument.external_files.push_back(info.path);
      argument.files_checksums.push_back(info.checksum);
      argument.files_checksum_func_names.push_back(kFileChecksumName);
    }
    arguments.push_back(std::move(argument));
  };
  add(PageKind::kChunk, files->chunk_files());
  add(PageKind::kKeys, files->key_files());
  if (arguments.empty()) return Status::Ok();
  EDO_RETURN_IF_ERROR(FromRocksdb(db_->IngestExternalFiles(arguments),
                                  "cannot take the new files into store '" + directory_ + "'"));
  maps_->Forget(files->generation());
  return Status::Ok();
}

Status RocksdbRowStore::DropGeneration(uint64_t generation) {
  const PageKeyBytes first = EncodePageId(generation << kPageNumberBits);
  const PageKeyBytes last = EncodePageId(((generation + 1) << kPageNumberBits) - 1);
  const rocksdb::Slice begin(first.data(), first.size());
  const rocksdb::Slice end(last.data(), last.size());
  for (const PageKind kind : {PageKind::kChunk, PageKind::kKeys}) {
    EDO_RETURN_IF_ERROR(FromRocksdb(
        rocksdb::DeleteFilesInRange(db_.get(), family(kind), &begin, &end, /*include_end=*/true),
        "cannot drop generation " + std::to_string(generation)));
  }
  maps_->Forget(generation);
  return Status::Ok();
}

std::optional<uint64_t> RocksdbRowStore::FreeBytes() const {
  struct statvfs info;
  if (::statvfs(directory_.c_str(), &info) != 0) return std::nullopt;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

std::vector<StoreFile> RocksdbRowStore::Files() const {
  std::vector<rocksdb::LiveFileMetaData> live;
  db_->GetLiveFilesMetaData(&live);
  std::vector<StoreFile> files;
  files.reserve(live.size());
  for (const auto& file : live) {
    StoreFile entry;
    entry.path = FilePath(directory_, file);
    entry.bytes = file.size;
    entry.has_pages = file.column_family_name != rocksdb::kDefaultColumnFamilyName;
    entry.kind = file.column_family_name == kKeysFamily ? PageKind::kKeys : PageKind::kChunk;
    entry.generation = entry.has_pages ? GenerationOf(DecodePageId(file.smallestkey)) : 0;
    if (file.file_checksum_func_name == kFileChecksumName) entry.checksum = file.file_checksum;
    files.push_back(std::move(entry));
  }
  std::sort(files.begin(), files.end(),
            [](const StoreFile& a, const StoreFile& b) { return a.path < b.path; });
  return files;
}

// A file that was listed a moment ago may rightly be gone: RocksDB compacts the catalog, and a
// writer beside a reader replaces and drops tables (whose pages the reader still reads through the
// files that it holds open). Then it is not in the list of now.
bool RocksdbRowStore::RightlyGone(const StoreFile& file) const {
  std::error_code error;
  if (fs::exists(file.path, error)) return false;
  const auto is_file = [&](const StoreFile& f) { return f.path == file.path; };
  if (!tuning_.read_only) {
    const std::vector<StoreFile> files = Files();
    return std::none_of(files.begin(), files.end(), is_file);
  }
  // A look at the store of now can itself meet files that the writer is just taking away.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    RocksdbTuning tuning = tuning_;
    tuning.hold_files = false;
    RocksdbRowStore now(directory_, file_system_, nullptr, std::move(tuning), {});
    if (now.Open(/*create=*/false).ok()) {
      const std::vector<StoreFile> files = now.Files();
      return std::none_of(files.begin(), files.end(), is_file);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

Status RocksdbRowStore::VerifyFile(const StoreFile& file,
                                   const std::function<bool(uint64_t)>& progress) const {
  std::unique_ptr<rocksdb::SequentialFile> in;
  const rocksdb::Status opened = env_->NewSequentialFile(file.path, &in, rocksdb::EnvOptions());
  if (!opened.ok()) {
    if (RightlyGone(file)) return Status::Ok();
    return FromRocksdb(opened, file.path);
  }
  const auto checksum =
      NewFileChecksumFactory()->CreateFileChecksumGenerator(rocksdb::FileChecksumGenContext());
  std::vector<char> buffer(1 << 20);
  uint64_t bytes = 0;
  for (;;) {
    rocksdb::Slice got;
    EDO_RETURN_IF_ERROR(FromRocksdb(in->Read(buffer.size(), &got, buffer.data()), file.path));
    if (got.empty()) break;
    checksum->Update(got.data(), got.size());
    bytes += got.size();
    if (!progress(got.size())) return Status::Cancelled("verify was cancelled");
  }
  checksum->Finalize();
  if (bytes != file.bytes) {
    return Status::Corruption(file.path + ": " + std::to_string(bytes) + " bytes, expected " +
                              std::to_string(file.bytes));
  }
  if (!file.checksum.empty() && checksum->GetChecksum() != file.checksum) {
    return Status::Corruption(file.path +
                              ": the checksum of the whole file does not match the one "
                              "recorded when it was written");
  }
  return Status::Ok();
}

void RocksdbRowStore::AddStats(Stats* stats) const {
  const ReadPath& path = *file_system_->read_path();
  stats->device_reads += path.device_reads.load(std::memory_order_relaxed);
  stats->device_bytes += path.device_bytes.load(std::memory_order_relaxed);
  stats->uring_batches += path.uring_batches.load(std::memory_order_relaxed);
  stats->chunks_by_address += path.chunks_by_address.load(std::memory_order_relaxed);
  stats->chunks_by_multiget += path.chunks_by_multiget.load(std::memory_order_relaxed);
  stats->read_depth_sum += path.depth_sum.load(std::memory_order_relaxed);
  stats->read_depth_samples += path.depth_samples.load(std::memory_order_relaxed);
  stats->read_path = by_address_ ? "SST by arithmetic, " : "";
  stats->read_path += file_system_->uring_available() ? "io_uring" : "pread";
  if (tuning_.direct_reads && !path.direct_refused) stats->read_path += ", O_DIRECT";
  stats->read_path_note = path.note_text();
}

Result<std::unique_ptr<RowStore>> OpenOnce(const std::string& directory,
                                           const RocksdbRowStoreOptions& options, bool read_only,
                                           bool hold_files) {
  auto base = options.base_file_system ? options.base_file_system : rocksdb::FileSystem::Default();
  auto file_system = std::make_shared<RingFileSystem>(base, options.io_uring);
  RocksdbTuning tuning;
  tuning.read_only = read_only;
  tuning.hold_files = hold_files;
  tuning.direct_reads = options.direct_reads;
  tuning.key_cache_bytes = options.key_cache_bytes;
  tuning.log = options.log;
  auto env = rocksdb::NewCompositeEnv(file_system);
  tuning.env = env.get();
  if (hold_files && !RaiseFileLimit(CountSstFiles(directory))) {
    // Then files are opened when they are read; one that a writer removed meanwhile is an error.
    tuning.hold_files = false;
    file_system->read_path()->Note(
        "the limit on open files does not allow to hold all files of the store");
  }
  auto store = std::make_unique<RocksdbRowStore>(directory, std::move(file_system), std::move(env),
                                                 std::move(tuning), options);
  EDO_RETURN_IF_ERROR(store->Open(options.create));
  if (options.check && !options.create) EDO_RETURN_IF_ERROR(options.check(*store));
  return std::unique_ptr<RowStore>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<RowStore>> OpenRocksdbRowStore(const std::string& directory,
                                                      const RocksdbRowStoreOptions& options) {
  if (options.read_only) {
    // Beside a live writer the files of one moment can be gone a moment later; then look again.
    for (int attempt = 1;; ++attempt) {
      const auto before = LastChange(directory);
      auto store = OpenOnce(directory, options, /*read_only=*/true, /*hold_files=*/true);
      if (store.ok() || attempt == 5) return store;
      const bool in_motion = LastChange(directory) != before || LockHolder(directory + "/LOCK") > 0;
      if (!in_motion) return store;
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * attempt));
    }
  }
  if (!options.create) {
    // A writable open deletes what the MANIFEST does not name. Look at it without that power first.
    auto preview = OpenOnce(directory, options, /*read_only=*/true, /*hold_files=*/false);
    if (!preview.ok()) {
      EDO_RETURN_IF_ERROR(CheckNotLocked(directory));  // a writer at work explains it
      return preview.status();
    }
  }
  auto store = OpenOnce(directory, options, /*read_only=*/false, /*hold_files=*/false);
  if (store.ok()) RemoveBulkDirectories(directory);
  return store;
}

Status DestroyRocksdbRowStore(const std::string& directory) {
  EDO_RETURN_IF_ERROR(CheckNotLocked(directory));
  RemoveBulkDirectories(directory);
  return FromRocksdb(rocksdb::DestroyDB(directory, rocksdb::Options()),
                     "cannot remove store '" + directory + "'");
}

}  // namespace edo::storage
