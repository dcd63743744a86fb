// RingFileSystem: RocksDB's file system with reads of our own. Groups of page reads go to the
// kernel together through io_uring (Debian's RocksDB has none: its MultiRead is a loop of preads),
// and O_DIRECT is used for the files that ask for it where the file system allows it. Where the
// kernel refuses either, it falls back to preads and buffered reads and says so.
//
// One object a store; safe from many threads; outlives every file it opened.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

#include "storage/rocksdb_block_ring.h"
#include "storage/rocksdb_read_path.h"

namespace edo::storage {

class WrittenChecksums;

class RingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // `io_uring` false: plain preads. `base` does everything but random reads.
  RingFileSystem(std::shared_ptr<rocksdb::FileSystem> base, bool io_uring);
  ~RingFileSystem() override;

  const char* Name() const override { return "EdoRingFileSystem"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;

  // Files of bulk loads are hashed while they are written: the checksum that RocksDB computes
  // itself leaves out the padding of aligned blocks.
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  // XXH3-64 of a closed file of a bulk load, as 8 bytes; once a file. Empty: not one of ours.
  std::string TakeFileChecksum(const std::string& name);

  const std::shared_ptr<ReadPath>& read_path() const { return read_path_; }
  const std::shared_ptr<OpenFiles>& open_files() const { return open_files_; }
  bool uring_available() const { return rings_->available(); }

 private:
  std::shared_ptr<ReadPath> read_path_;
  std::shared_ptr<OpenFiles> open_files_;
  std::shared_ptr<BlockRingPool> rings_;
  std::shared_ptr<WrittenChecksums> checksums_;
};

}  // namespace edo::storage
