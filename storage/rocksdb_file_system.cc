#include "storage/rocksdb_file_system.h"

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "storage/rocksdb_bulk_writer.h"
#include "storage/rocksdb_checksum.h"

namespace edo::storage {

using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

void ReadPath::Note(const std::string& text) {
  const std::lock_guard lock(mutex);
  if (note.find(text) != std::string::npos) return;
  if (!note.empty()) note += "; ";
  note += text;
}

std::string ReadPath::note_text() const {
  const std::lock_guard lock(mutex);
  return note;
}

namespace {

constexpr unsigned kQueueDepth = 128;

IOStatus ReadError(const std::string& name, uint64_t offset, int error) {
  return IOStatus::IOError("read " + name + " at offset " + std::to_string(offset),
                           std::strerror(error));
}

}  // namespace

// Rings that are not in use. A thread takes one for the length of a MultiRead, so that the number
// of rings is the number of threads that ever read at the same moment.
class RingPool {
 public:
  RingPool(bool wanted, std::shared_ptr<ReadPath> path) : path_(std::move(path)) {
    if (!wanted) {
      available_ = false;
      path_->Note("io_uring switched off by option");
      return;
    }
    std::unique_ptr<io_uring> first = MakeRing();
    available_ = first != nullptr;
    if (first) free_.push_back(std::move(first));
  }
  ~RingPool() {
    for (auto& ring : free_) io_uring_queue_exit(ring.get());
  }
  RingPool(const RingPool&) = delete;
  RingPool& operator=(const RingPool&) = delete;

  bool available() const { return available_; }

  std::unique_ptr<io_uring> Take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<io_uring> ring = std::move(free_.back());
        free_.pop_back();
        return ring;
      }
    }
    return MakeRing();
  }
  void GiveBack(std::unique_ptr<io_uring> ring) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(ring));
  }
  // A ring with requests in flight must not serve anyone else.
  static void Discard(std::unique_ptr<io_uring> ring) { io_uring_queue_exit(ring.get()); }

 private:
  std::unique_ptr<io_uring> MakeRing() {
    auto ring = std::make_unique<io_uring>();
    const int result = io_uring_queue_init(kQueueDepth, ring.get(), 0);
    if (result < 0) {
      path_->Note(std::string("io_uring refused by the kernel: ") + std::strerror(-result));
      return nullptr;
    }
    return ring;
  }

  std::shared_ptr<ReadPath> path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<io_uring>> free_;  // guarded by mutex_
  bool available_ = true;                        // set once in the constructor
};

namespace {

class RingFile : public rocksdb::FSRandomAccessFile {
 public:
  RingFile(std::string name, int fd, bool direct, std::shared_ptr<ReadPath> path,
           std::shared_ptr<RingPool> rings)
      : name_(std::move(name)),
        fd_(fd),
        direct_(direct),
        path_(std::move(path)),
        rings_(std::move(rings)) {}
  ~RingFile() override { ::close(fd_); }

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& /*options*/, Slice* result,
                char* scratch, IODebugContext* /*debug*/) const override {
    Count(1, n);
    return ReadFrom(offset, n, 0, result, scratch);
  }

  IOStatus MultiRead(FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    if (count > 1 && rings_->available()) {
      if (std::unique_ptr<io_uring> ring = rings_->Take()) {
        return ReadThroughRing(std::move(ring), requests, count);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      FSReadRequest& r = requests[i];
      r.status = Read(r.offset, r.len, options, &r.result, r.scratch, debug);
    }
    return IOStatus::OK();
  }

  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return 4096; }
  void Hint(AccessPattern pattern) override {
    // Without this hint one cold row may pull megabytes of readahead behind it.
    if (!direct_ && pattern == kRandom) posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);
  }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    if (!direct_) {
      posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length),
                    POSIX_FADV_DONTNEED);
    }
    return IOStatus::OK();
  }

 private:
  void Count(uint64_t reads, uint64_t bytes) const {
    path_->device_reads.fetch_add(reads, std::memory_order_relaxed);
    path_->device_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Reads [offset + have, offset + n) behind what is there already.
  IOStatus ReadFrom(uint64_t offset, size_t n, size_t have, Slice* result, char* scratch) const {
    while (have < n) {
      const ssize_t got = ::pread(fd_, scratch + have, n - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        *result = Slice();
        return ReadError(name_, offset + have, errno);
      }
      have += static_cast<size_t>(got);
      // Behind an unaligned tail O_DIRECT refuses to go on; a short read there is the file's end.
      if (got == 0 || (direct_ && have % 4096 != 0)) break;
    }
    *result = Slice(scratch, have);
    return IOStatus::OK();
  }

  IOStatus ReadThroughRing(std::unique_ptr<io_uring> ring, FSReadRequest* requests, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += requests[i].len;
    Count(count, bytes);
    path_->uring_batches.fetch_add(1, std::memory_order_relaxed);
    size_t submitted = 0;
    size_t in_flight = 0;
    size_t done = 0;
    while (done < count) {
      while (submitted < count && in_flight < kQueueDepth) {
        io_uring_sqe* entry = io_uring_get_sqe(ring.get());
        if (entry == nullptr) break;
        FSReadRequest& r = requests[submitted];
        io_uring_prep_read(entry, fd_, r.scratch, static_cast<unsigned>(r.len), r.offset);
        io_uring_sqe_set_data64(entry, submitted++);
        ++in_flight;
      }
      const int result = io_uring_submit_and_wait(ring.get(), 1);
      if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY) {
        return GiveUp(std::move(ring), requests, in_flight, -result);
      }
      const size_t finished = Reap(ring.get(), requests);
      in_flight -= finished;
      done += finished;
    }
    rings_->GiveBack(std::move(ring));
    return IOStatus::OK();
  }

  // Takes what has completed; a short or interrupted read is finished by pread.
  size_t Reap(io_uring* ring, FSReadRequest* requests) const {
    io_uring_cqe* entry = nullptr;
    unsigned head = 0;
    unsigned taken = 0;
    io_uring_for_each_cqe(ring, head, entry) {
      FSReadRequest& r = requests[io_uring_cqe_get_data64(entry)];
      const int result = entry->res;
      if (result < 0 && result != -EAGAIN && result != -EINTR) {
        r.result = Slice();
        r.status = ReadError(name_, r.offset, -result);
      } else {
        const size_t have = result < 0 ? 0 : static_cast<size_t>(result);
        const bool at_end = direct_ && result > 0 && have % 4096 != 0;
        if (have == r.len || at_end) {
          r.result = Slice(r.scratch, have);
          r.status = IOStatus::OK();
        } else {
          r.status = ReadFrom(r.offset, r.len, have, &r.result, r.scratch);
        }
      }
      ++taken;
    }
    io_uring_cq_advance(ring, taken);
    return taken;
  }

  // The ring itself failed. Buffers of requests in flight belong to the kernel until they complete,
  // so those are waited for before the ring is thrown away.
  IOStatus GiveUp(std::unique_ptr<io_uring> ring, FSReadRequest* requests, size_t in_flight,
                  int error) {
    const size_t queued = io_uring_sq_ready(ring.get());  // prepared, never seen by the kernel
    size_t pending = in_flight > queued ? in_flight - queued : 0;
    while (pending > 0) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_wait_cqe(ring.get(), &entry) == 0) {
        pending -= std::min(pending, Reap(ring.get(), requests));
      }
    }
    RingPool::Discard(std::move(ring));
    path_->Note(std::string("io_uring failed: ") + std::strerror(error));
    return ReadError(name_, requests[0].offset, error);
  }

  const std::string name_;
  const int fd_;
  const bool direct_;
  const std::shared_ptr<ReadPath> path_;
  const std::shared_ptr<RingPool> rings_;
};

}  // namespace

// Checksums of files that were written and closed, until they are asked for.
class WrittenChecksums {
 public:
  void Put(const std::string& name, std::string checksum) {
    const std::lock_guard lock(mutex_);
    by_name_[name] = std::move(checksum);
  }
  std::string Take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return {};
    std::string checksum = std::move(found->second);
    by_name_.erase(found);
    return checksum;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> by_name_;  // guarded by mutex_
};

namespace {

class HashingFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  HashingFile(std::unique_ptr<rocksdb::FSWritableFile> target, std::string name,
              std::shared_ptr<WrittenChecksums> checksums)
      : FSWritableFileOwnerWrapper(std::move(target)),
        name_(std::move(name)),
        checksums_(std::move(checksums)),
        hash_(NewFileChecksumFactory()->CreateFileChecksumGenerator({})) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    hash_->Update(data.data(), data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
    hash_->Update(data.data(), data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    IOStatus s = FSWritableFileOwnerWrapper::Close(options, debug);
    if (s.ok() && !closed_) {
      closed_ = true;
      hash_->Finalize();
      checksums_->Put(name_, hash_->GetChecksum());
    }
    return s;
  }

 private:
  const std::string name_;
  const std::shared_ptr<WrittenChecksums> checksums_;
  const std::unique_ptr<rocksdb::FileChecksumGenerator> hash_;
  bool closed_ = false;
};

}  // namespace

RingFileSystem::RingFileSystem(std::shared_ptr<rocksdb::FileSystem> base, bool io_uring)
    : FileSystemWrapper(std::move(base)),
      read_path_(std::make_shared<ReadPath>()),
      rings_(std::make_shared<RingPool>(io_uring, read_path_)),
      checksums_(std::make_shared<WrittenChecksums>()) {}

RingFileSystem::~RingFileSystem() = default;

IOStatus RingFileSystem::NewWritableFile(const std::string& name,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* file,
                                         IODebugContext* debug) {
  IOStatus s = target()->NewWritableFile(name, options, file, debug);
  if (s.ok() && name.find(kBulkDirectoryPrefix) != std::string::npos) {
    *file = std::make_unique<HashingFile>(std::move(*file), name, checksums_);
  }
  return s;
}

std::string RingFileSystem::TakeFileChecksum(const std::string& name) {
  return checksums_->Take(name);
}

bool RingFileSystem::uring_available() const { return rings_->available(); }

IOStatus RingFileSystem::NewRandomAccessFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                             IODebugContext* debug) {
  if (options.use_mmap_reads) return target()->NewRandomAccessFile(name, options, file, debug);
  bool direct = options.use_direct_reads;
  int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  if (fd < 0 && direct && errno == EINVAL) {
    read_path_->direct_refused = true;
    read_path_->Note("O_DIRECT refused by the file system, reads are buffered");
    direct = false;
    fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (fd < 0) {
    const int error = errno;
    // Not PathNotFound: RocksDB would go on to look for the file under a name of LevelDB's.
    return IOStatus::IOError("open " + name, std::strerror(error));
  }
  if (direct) read_path_->direct_used = true;
  *file = std::make_unique<RingFile>(name, fd, direct, read_path_, rings_);
  return IOStatus::OK();
}

}  // namespace edo::storage
