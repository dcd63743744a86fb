// RocksdbRowStore: the RowStore of the product, one RocksDB database in the store's directory.
//
// Column families: "default" the catalog, "chunks" and "keys" the pages of all tables under keys
// (generation, number). Tables share the families: a thousand tables cost a thousand small files,
// not three thousand families with their memtables. See docs/format.md and docs/architecture.md.
// Reads are safe from many threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edo/options.h"
#include "storage/rocksdb_block_ring.h"
#include "storage/row_store.h"

namespace rocksdb {
class FileSystem;
}

namespace edo::storage {

struct RocksdbRowStoreOptions {
  bool create = false;  // the directory holds no database yet
  bool read_only = false;
  bool direct_reads = false;
  bool io_uring = true;
  uint32_t read_threads = 0;  // of one ReadPages, the caller's among them; 0 = as many as pay
  bool by_address = true;     // chunks straight from their files, where their place is known
  uint64_t key_cache_bytes = uint64_t{32} << 20;
  LogFunction log;
  // Run over a read-only view before anything may be written, and over the opened store; an error
  // ends the open. The engine compares the catalog with the file EDO here.
  std::function<Status(const RowStore&)> check;
  // Below everything, for fault injection in tests; null = the machine's.
  std::shared_ptr<rocksdb::FileSystem> base_file_system;
  // Rings that read chunks by address, likewise; null = io_uring.
  BlockRingFactory rings;
};

// kBusy when another process writes (names the lock file and, where known, the process).
Result<std::unique_ptr<RowStore>> OpenRocksdbRowStore(const std::string& directory,
                                                      const RocksdbRowStoreOptions& options);
// Removes the database's files from `directory`, and temporary directories of bulk loads.
Status DestroyRocksdbRowStore(const std::string& directory);

}  // namespace edo::storage
