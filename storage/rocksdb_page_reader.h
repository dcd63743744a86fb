// PageReader: reads the pages that a stream asks for. Chunks whose place is known (BlockMap) are
// read straight from their files, with the device's queue kept full, and proved by the key in the
// block, the page's checksum and its number; all other pages, and those that did not prove, go
// through RocksDB, whose answer then counts.
//
// Safe from many threads; each reads with a lane of its own, lent by a pool: a ring, 2 MiB of
// buffers, and a table of the reads in flight. Nothing is allocated for a read.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "storage/rocksdb_block_map.h"
#include "storage/rocksdb_block_ring.h"
#include "storage/rocksdb_page_getter.h"
#include "storage/rocksdb_read_path.h"
#include "storage/row_store.h"

namespace edo::storage {

class PageReader {
 public:
  struct Parts {
    const PageGetter* getter = nullptr;  // outlives the reader
    BlockMaps* maps = nullptr;           // likewise; null: everything goes through RocksDB
    std::shared_ptr<ReadPath> path;
    bool io_uring = true;
    BlockRingFactory rings;  // in place of io_uring, for tests; or null
  };
  explicit PageReader(Parts parts);
  ~PageReader();

  // As RowStore::ReadStream.
  void ReadStream(PageStream* stream);
  // As RowStore::ReadPages, with at most `threads` threads.
  void ReadPages(PageKind kind, uint64_t generation, std::span<const uint64_t> numbers,
                 const Deadline& deadline, uint32_t threads, const PageFunction& fn);

 private:
  class Lane;
  std::unique_ptr<Lane> Take();
  void GiveBack(std::unique_ptr<Lane> lane);

  const Parts parts_;
  BlockRingPool rings_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> free_;  // guarded by mutex_
};

}  // namespace edo::storage
