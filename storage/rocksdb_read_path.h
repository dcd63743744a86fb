// What the reading of files shares: counters and findings of a store, and the files that are open.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace edo::storage {

// Counters and findings of the read path, shared by all files of a store.
struct ReadPath {
  std::atomic<uint64_t> device_reads{0};
  std::atomic<uint64_t> device_bytes{0};
  std::atomic<uint64_t> uring_batches{0};
  std::atomic<uint64_t> chunks_by_address{0};
  std::atomic<uint64_t> chunks_by_multiget{0};
  std::atomic<uint64_t> depth_sum{0};
  std::atomic<uint64_t> depth_samples{0};
  std::atomic<bool> direct_used{false};
  std::atomic<bool> direct_refused{false};

  mutable std::mutex mutex;
  std::string note;  // why a faster path was refused; guarded by mutex
  void Note(const std::string& text);
  std::string note_text() const;
};

// A file open for reading; closed with its last holder, also when it was unlinked meanwhile.
class OpenFile {
 public:
  OpenFile(std::string name, int fd, bool direct)
      : name_(std::move(name)), fd_(fd), direct_(direct) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& name() const { return name_; }
  int fd() const { return fd_; }
  bool direct() const { return direct_; }

 private:
  const std::string name_;
  const int fd_;
  const bool direct_;
};

// Opens files, and shares those that are open: RocksDB and the reader by address need one
// descriptor a file between them, and a file that RocksDB holds is there for both although a writer
// in another process has removed it. Safe from many threads.
class OpenFiles {
 public:
  explicit OpenFiles(std::shared_ptr<ReadPath> path) : path_(std::move(path)) {}
  // With `direct` by O_DIRECT where the file system allows it. 0 or an errno.
  int Open(const std::string& name, bool direct, std::shared_ptr<const OpenFile>* file);

 private:
  const std::shared_ptr<ReadPath> path_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const OpenFile>> open_;  // guarded by mutex_
  size_t prune_at_ = 64;                                       // guarded by mutex_
};

}  // namespace edo::storage
