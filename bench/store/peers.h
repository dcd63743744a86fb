// The peers that the store is measured against, over the same rows: a plain file read through
// io_uring (the limit of the device), RocksDB as the distribution ships it, and LMDB.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace edo::bench {

// Reads the rows of a batch; each object is for one thread.
class RowPeer {
 public:
  virtual ~RowPeer() = default;
  // Outside the clock, before each batch.
  virtual void Prepare() {}
  virtual size_t callers() const { return 1; }  // that share a batch
  virtual void ReadBatch(std::span<const uint64_t> rows) = 0;
};

// 4096-byte blocks of `path` at random places, O_DIRECT, `queue_depth` in flight: one block a row.
std::unique_ptr<RowPeer> MakeRawReader(const std::string& path, uint32_t rows_a_block,
                                       unsigned queue_depth);
// The store's own chunks, read by RocksDB's MultiGet with the file system it comes with.
std::unique_ptr<RowPeer> MakeStockRocksdb(const std::string& store_directory, uint64_t generation,
                                          uint32_t chunk_rows, bool direct);
// One fp32 row a key in RocksDB, read by Get: what people do.
std::unique_ptr<RowPeer> MakeRocksdbRows(const std::string& directory, uint64_t rows, uint32_t dim,
                                         bool direct);
// One encoded row a key in RocksDB, everything in its block cache, read by MultiGet in the order of
// the keys. Nothing is decoded.
std::unique_ptr<RowPeer> MakeRocksdbBlockCache(const std::string& directory, uint64_t rows,
                                               uint32_t row_bytes);
// One encoded row a key in LMDB; null when it was not built in. Cold: the file is dropped from the
// page cache before each batch.
std::unique_ptr<RowPeer> MakeLmdb(const std::string& directory, uint64_t rows, uint32_t row_bytes,
                                  bool cold);
// An fp32 file of the same rows, mapped, MADV_RANDOM: dropped from the page cache before each
// batch.
std::unique_ptr<RowPeer> MakeMappedRows(const std::string& path, uint64_t rows, uint32_t dim);
// Writes rows one key each through WriteBatch and the log; returns MB of rows a second.
double RocksdbWriteBatchMBs(const std::string& directory, uint64_t rows, uint32_t row_bytes);

// The limit of a bulk read: MB a second at which the .sst files of a directory are read from
// beginning to end, O_DIRECT, by four threads, 1 MiB a read.
double ReadThroughMBs(const std::string& directory);

// The store's largest chunk file.
std::string LargestChunkFile(const std::string& directory);
void DropFromPageCache(const std::string& path);

}  // namespace edo::bench
