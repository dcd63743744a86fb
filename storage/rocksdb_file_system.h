// RingFileSystem: RocksDB's file system with reads of our own. Groups of page reads go to the
// kernel together through io_uring (Debian's RocksDB has none: its MultiRead is a loop of preads),
// and O_DIRECT is used for the files that ask for it where the file system allows it. Where the
// kernel refuses either, it falls back to preads and buffered reads and says so.
//
// One object a store; safe from many threads; outlives every file it opened.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace edo::storage {

// Counters and findings of the read path, shared by all files of a store.
struct ReadPath {
  std::atomic<uint64_t> device_reads{0};
  std::atomic<uint64_t> device_bytes{0};
  std::atomic<uint64_t> uring_batches{0};
  std::atomic<bool> direct_used{false};
  std::atomic<bool> direct_refused{false};

  mutable std::mutex mutex;
  std::string note;  // why a faster path was refused; guarded by mutex
  void Note(const std::string& text);
  std::string note_text() const;
};

class RingPool;
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

  const ReadPath& read_path() const { return *read_path_; }
  bool uring_available() const;
  // Adds to what Stats says of refused paths.
  void Note(const std::string& text) { read_path_->Note(text); }

 private:
  std::shared_ptr<ReadPath> read_path_;
  std::shared_ptr<RingPool> rings_;
  std::shared_ptr<WrittenChecksums> checksums_;
};

}  // namespace edo::storage
