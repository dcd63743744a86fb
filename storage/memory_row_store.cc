#include "storage/memory_row_store.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "storage/chunk_packing.h"
#include "storage/page_key.h"

namespace edo::storage {
namespace {

using PageMap = std::map<uint64_t, std::string>;  // by PageId

class MemoryBulkWriter : public BulkWriter {
 public:
  explicit MemoryBulkWriter(uint64_t generation) : generation_(generation) {
    std::string pattern = (std::filesystem::temp_directory_path() / "edo_bulk_XXXXXX").string();
    if (const char* made = ::mkdtemp(pattern.data())) directory_ = made;
  }
  ~MemoryBulkWriter() override {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  Status Put(PageKind kind, uint64_t number, std::string_view page) override {
    pages(kind)[PageId(kind, generation_, number)] = page;
    return Status::Ok();
  }
  Result<std::string> ReadBack(PageKind kind, uint64_t number) override {
    const auto found = pages(kind).find(PageId(kind, generation_, number));
    if (found == pages(kind).end()) return Status::Corruption("page just written is not there");
    return found->second;
  }
  uint64_t file_bytes(PageKind kind) const override {
    uint64_t bytes = 0;
    for (const auto& [id, page] : kind == PageKind::kChunk ? chunks_ : keys_) bytes += page.size();
    return bytes;
  }
  uint64_t file_count(PageKind kind) const override {
    return (kind == PageKind::kChunk ? chunks_ : keys_).empty() ? 0 : 1;
  }
  const std::string& temp_directory() const override { return directory_; }
  Status Finish() override { return Status::Ok(); }

  PageMap& pages(PageKind kind) { return kind == PageKind::kChunk ? chunks_ : keys_; }

 private:
  const uint64_t generation_;
  std::string directory_;
  PageMap chunks_, keys_;
};

class MemoryRowStore : public RowStore {
 public:
  void ReadPages(PageKind kind, uint64_t generation, std::span<const uint64_t> numbers,
                 const Deadline& deadline, const PageFunction& fn) const override {
    ChunkUnpacker unpacker;
    const std::shared_lock lock(mutex_);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (deadline && std::chrono::steady_clock::now() >= *deadline) {
        fn(i, Status::DeadlineExceeded("the deadline passed before it was read"), PageView());
        continue;
      }
      const auto found = pages(kind).find(PageId(kind, generation, numbers[i]));
      if (found == pages(kind).end()) {
        fn(i, Status::NotFound("not in the store"), PageView());
        continue;
      }
      Result<PageView> page = OpenPage(found->second, numbers[i]);
      Status s = page.status();
      if (s.ok() && kind == PageKind::kChunk) s = unpacker.Unpack(&*page);
      fn(i, s, s.ok() ? *page : PageView());
    }
  }

  std::unique_ptr<PageCursor> ScanPages(PageKind kind, uint64_t generation, uint64_t first,
                                        uint64_t last) const override {
    return std::make_unique<Cursor>(this, kind, generation, first, last);
  }

  Result<std::vector<CatalogEntry>> ReadCatalog() const override {
    const std::shared_lock lock(mutex_);
    std::vector<CatalogEntry> entries;
    for (const auto& [name, record] : catalog_) entries.push_back({name, record});
    return entries;
  }

  Status WriteCatalog(std::span<const CatalogEntry> puts,
                      std::span<const std::string> deletes) override {
    const std::unique_lock lock(mutex_);
    for (const std::string& name : deletes) catalog_.erase(name);
    for (const CatalogEntry& entry : puts) catalog_[entry.name] = entry.record;
    return Status::Ok();
  }

  Result<std::unique_ptr<BulkWriter>> NewBulkWriter(uint64_t generation) override {
    return std::unique_ptr<BulkWriter>(std::make_unique<MemoryBulkWriter>(generation));
  }

  Status Ingest(BulkWriter* writer) override {
    auto* memory = static_cast<MemoryBulkWriter*>(writer);
    const std::unique_lock lock(mutex_);
    chunks_.merge(memory->pages(PageKind::kChunk));
    keys_.merge(memory->pages(PageKind::kKeys));
    return Status::Ok();
  }

  Status DropGeneration(uint64_t generation) override {
    const std::unique_lock lock(mutex_);
    for (PageMap* map : {&chunks_, &keys_}) {
      map->erase(map->lower_bound(generation << kPageNumberBits),
                 map->lower_bound((generation + 1) << kPageNumberBits));
    }
    return Status::Ok();
  }

  std::optional<uint64_t> FreeBytes() const override { return std::nullopt; }

  std::vector<StoreFile> Files() const override {
    const std::shared_lock lock(mutex_);
    std::map<std::pair<uint64_t, PageKind>, StoreFile> files;
    for (const PageKind kind : {PageKind::kChunk, PageKind::kKeys}) {
      for (const auto& [id, page] : pages(kind)) {
        StoreFile& file = files[{GenerationOf(id), kind}];
        file.kind = kind;
        file.has_pages = true;
        file.generation = GenerationOf(id);
        file.bytes += page.size();
      }
    }
    std::vector<StoreFile> list;
    for (auto& [key, file] : files) list.push_back(std::move(file));
    return list;
  }

  std::string FileOf(PageKind, uint64_t, uint64_t) const override { return {}; }
  Status VerifyFile(const StoreFile& /*file*/,
                    const std::function<bool(uint64_t)>& /*progress*/) const override {
    return Status::Ok();
  }
  void AddStats(Stats* stats) const override { stats->read_path = "memory"; }

 private:
  class Cursor : public PageCursor {
   public:
    Cursor(const MemoryRowStore* store, PageKind kind, uint64_t generation, uint64_t first,
           uint64_t last)
        : store_(store), kind_(kind), generation_(generation), next_(first), last_(last) {}
    Result<bool> Next(uint64_t* number, PageView* page) override {
      if (next_ >= last_) return false;
      const std::string name = std::string(PageKindName(kind_)) + " " + std::to_string(next_);
      const std::shared_lock lock(store_->mutex_);
      const auto found = store_->pages(kind_).find(PageId(kind_, generation_, next_));
      if (found == store_->pages(kind_).end()) {
        return Status::Corruption(name + ": not in the store");
      }
      current_ = found->second;
      Result<PageView> view = OpenPage(current_, next_);
      Status s = view.status();
      if (s.ok() && kind_ == PageKind::kChunk) s = unpacker_.Unpack(&*view);
      if (!s.ok()) return s.WithContext(name);
      *page = *view;
      *number = next_++;
      return true;
    }

   private:
    const MemoryRowStore* const store_;
    const PageKind kind_;
    const uint64_t generation_;
    uint64_t next_;
    const uint64_t last_;
    std::string current_;
    ChunkUnpacker unpacker_;
  };

  const PageMap& pages(PageKind kind) const { return kind == PageKind::kChunk ? chunks_ : keys_; }

  mutable std::shared_mutex mutex_;  // guards all below
  PageMap chunks_, keys_;
  std::map<std::string, std::string> catalog_;
};

}  // namespace

std::unique_ptr<RowStore> MakeMemoryRowStore() { return std::make_unique<MemoryRowStore>(); }

}  // namespace edo::storage
