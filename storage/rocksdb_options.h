// How EDO tunes RocksDB: one place for every option, for the database and for the files of a bulk
// load, which must agree. The reasons stand beside the options; the facts are in
// docs/architecture.md, "Why the database is set up so".
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <memory>

#include "edo/options.h"

namespace edo::storage {

inline constexpr char kChunksFamily[] = "chunks";
inline constexpr char kKeysFamily[] = "keys";
inline constexpr uint64_t kSstFileBytes = uint64_t{256} << 20;

struct RocksdbTuning {
  bool read_only = false;
  // Open every file now and hold it: a writer in another process may delete files. Without, files
  // are opened when they are first read, so that a store of a thousand tables opens fast.
  bool hold_files = false;
  bool direct_reads = false;
  uint64_t key_cache_bytes = uint64_t{32} << 20;
  LogFunction log;
  rocksdb::Env* env = nullptr;  // over RingFileSystem
};

rocksdb::DBOptions DatabaseOptions(const RocksdbTuning& tuning);
rocksdb::ColumnFamilyOptions CatalogFamilyOptions();
rocksdb::ColumnFamilyOptions ChunksFamilyOptions();
// Of files whose chunks are compressed: one a block as well, without gaps.
rocksdb::ColumnFamilyOptions PackedChunksOptions();
rocksdb::ColumnFamilyOptions KeysFamilyOptions(uint64_t key_cache_bytes);

}  // namespace edo::storage
