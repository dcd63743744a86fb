// RowStore: the seam between the engine and the disk. Pages of tables by (kind, generation, number)
// and the catalog's records by name. Two bodies: RocksdbRowStore (the product) and MemoryRowStore
// (its twin for tests and models).
//
// A generation is written whole by a BulkWriter, becomes readable by Ingest, and is never changed
// after that. What makes it a table is the catalog record that names it (engine/store_impl).
// Reads are safe from many threads; writes are made by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edo/stats.h"
#include "edo/status.h"
#include "storage/page.h"

namespace edo::storage {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Writes the pages of one generation. Nothing is readable before RowStore::Ingest; a writer that is
// destroyed first leaves no trace. One thread at a time.
class BulkWriter {
 public:
  virtual ~BulkWriter() = default;
  // Numbers ascend within a kind; of one generation's key pages, index and order, each comes behind
  // the one before. Chunks and size pages may come at any time.
  virtual Status Put(PageKind kind, uint64_t number, std::string_view page) = 0;
  // The chunks to come are compressed and of many sizes: they are laid out without gaps, and their
  // place follows from the size pages. To be called before the first chunk.
  virtual void PackChunks() {}
  // A page that was put, as it was put, for the rare case that the writer must look back (duplicate
  // keys).
  virtual Result<std::string> ReadBack(PageKind kind, uint64_t number) = 0;
  // Bytes on disk so far; exact after Finish.
  virtual uint64_t file_bytes(PageKind kind) const = 0;
  virtual uint64_t file_count(PageKind kind) const = 0;
  // A directory for spills, removed with the writer.
  virtual const std::string& temp_directory() const = 0;
  // Makes the files complete and durable. Then only ReadBack, Ingest or destruction.
  virtual Status Finish() = 0;
};

struct CatalogEntry {
  std::string name;
  std::string record;
};

// A file of the store, for verify.
struct StoreFile {
  std::string path;
  uint64_t bytes = 0;
  PageKind kind = PageKind::kChunk;
  bool has_pages = false;   // false: the catalog's own files
  uint64_t generation = 0;  // meaningful with has_pages
  std::string checksum;     // of the whole file; empty = none recorded
};

// Called once a page: i is the place in `numbers`; `page` is valid during the call only. One call
// at a time, but not always from the caller's thread.
using PageFunction = std::function<void(size_t i, const Status& status, const PageView& page)>;

// A page to read, and what its reader knows it by.
struct PageRequest {
  PageKind kind = PageKind::kChunk;
  uint64_t generation = 0;
  uint64_t number = 0;
  Deadline deadline{};  // not begun after it: kDeadlineExceeded
  uint64_t tag = 0;     // the caller's own
};

// Pages that are asked for while others are being read, so that the device's queue never runs dry
// between two batches.
class PageStream {
 public:
  virtual ~PageStream() = default;
  // The next page to read; false: none at this moment.
  virtual bool Next(PageRequest* request) = 0;
  // What became of a page, once for each that Next gave, in any order; status and page as for
  // PageFunction. `page` is valid during the call.
  virtual void Done(const PageRequest& request, const Status& status, const PageView& page) = 0;
};

// A page that the catalog promises and the store does not have is damage, not a missing key.
inline Status AsDamage(const Status& status) {
  if (status.code() != StatusCode::kNotFound) return status;
  return Status::Corruption(std::string(status.message()));
}

// Pages of one kind in order. One thread at a time.
class PageCursor {
 public:
  virtual ~PageCursor() = default;
  // Moves to the next page and returns true, or false behind the last. `page` is valid until the
  // next call. An error names the page that could not be read; the cursor is then spent.
  virtual Result<bool> Next(uint64_t* number, PageView* page) = 0;
};

class RowStore {
 public:
  virtual ~RowStore() = default;

  // Reads pages, many in flight at once. The payload of a chunk is its codes, also where they are
  // compressed on disk: that is undone once, in the thread that read. `numbers` ascends, without
  // repeats. Every page arrives exactly once at `fn`, proved by its checksum, or with the Status
  // that says why not: kNotFound when there is no such page, kDeadlineExceeded when the deadline
  // passed before it was read.
  virtual void ReadPages(PageKind kind, uint64_t generation, std::span<const uint64_t> numbers,
                         const Deadline& deadline, const PageFunction& fn) const = 0;
  // Reads what the stream asks for, as many pages at once as the device's queue takes, until Next
  // has none and nothing is in flight. Calls Next and Done from this thread, one at a time. Numbers
  // that follow each other are read together where they lie together on disk. Several threads may
  // read at once, each with a stream of its own.
  virtual void ReadStream(PageStream* stream) const;
  // Walks pages [first, last) in order by large sequential reads. The store must outlive the
  // cursor.
  virtual std::unique_ptr<PageCursor> ScanPages(PageKind kind, uint64_t generation, uint64_t first,
                                                uint64_t last) const = 0;

  virtual Result<std::vector<CatalogEntry>> ReadCatalog() const = 0;
  // All or nothing, durable when it returns.
  virtual Status WriteCatalog(std::span<const CatalogEntry> puts,
                              std::span<const std::string> deletes) = 0;

  virtual Result<std::unique_ptr<BulkWriter>> NewBulkWriter(uint64_t generation) = 0;
  // Makes a finished writer's pages readable, all or nothing.
  virtual Status Ingest(BulkWriter* writer) = 0;
  virtual Status DropGeneration(uint64_t generation) = 0;
  // Free bytes where the store lives; nullopt when that cannot be known.
  virtual std::optional<uint64_t> FreeBytes() const = 0;

  // Every data file, with the generation its pages belong to.
  virtual std::vector<StoreFile> Files() const = 0;
  // Path of the file that holds a page; empty when that is not known.
  virtual std::string FileOf(PageKind kind, uint64_t generation, uint64_t number) const = 0;
  // Whole-file checksum against the recorded one. kCorruption says found and expected.
  virtual Status VerifyFile(const StoreFile& file,
                            const std::function<bool(uint64_t bytes)>& progress) const = 0;
  // Adds the counters of the read path to `stats`.
  virtual void AddStats(Stats* stats) const = 0;
};

}  // namespace edo::storage
