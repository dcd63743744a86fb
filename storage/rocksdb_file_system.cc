#include "storage/rocksdb_file_system.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "storage/rocksdb_bulk_writer.h"
#include "storage/rocksdb_checksum.h"
#include "storage/rocksdb_sst_tail.h"

namespace edo::storage {

using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

constexpr int kPatience = 1000;  // tries to hand reads to a kernel that is short of memory

IOStatus ReadError(const std::string& name, uint64_t offset, int error) {
  return IOStatus::IOError("read " + name + " at offset " + std::to_string(offset),
                           std::strerror(error));
}

class RingFile : public rocksdb::FSRandomAccessFile {
 public:
  RingFile(std::shared_ptr<const OpenFile> file, std::shared_ptr<ReadPath> path,
           std::shared_ptr<BlockRingPool> rings)
      : file_(std::move(file)), path_(std::move(path)), rings_(std::move(rings)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& /*options*/, Slice* result,
                char* scratch, IODebugContext* /*debug*/) const override {
    Count(1, n);
    return Finish(offset, n, 0, result, scratch);
  }

  IOStatus MultiRead(FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    if (count > 1 && rings_->available()) {
      if (std::unique_ptr<BlockRing> ring = rings_->Take()) {
        return ReadThroughRing(std::move(ring), requests, count);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      FSReadRequest& r = requests[i];
      r.status = Read(r.offset, r.len, options, &r.result, r.scratch, debug);
    }
    return IOStatus::OK();
  }

  bool use_direct_io() const override { return file_->direct(); }
  size_t GetRequiredBufferAlignment() const override { return 4096; }
  void Hint(AccessPattern pattern) override {
    // Without this hint one cold row may pull megabytes of readahead behind it.
    if (!file_->direct() && pattern == kRandom) posix_fadvise(file_->fd(), 0, 0, POSIX_FADV_RANDOM);
  }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    if (!file_->direct()) {
      posix_fadvise(file_->fd(), static_cast<off_t>(offset), static_cast<off_t>(length),
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
  IOStatus Finish(uint64_t offset, size_t n, size_t have, Slice* result, char* scratch) const {
    const int64_t got = PreadRest(file_->fd(), offset, n, have, file_->direct(), scratch);
    if (got < 0) {
      *result = Slice();
      return ReadError(file_->name(), offset, static_cast<int>(-got));
    }
    *result = Slice(scratch, static_cast<size_t>(got));
    return IOStatus::OK();
  }

  IOStatus ReadThroughRing(std::unique_ptr<BlockRing> ring, FSReadRequest* requests, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += requests[i].len;
    Count(count, bytes);
    path_->uring_batches.fetch_add(1, std::memory_order_relaxed);
    std::array<BlockDone, BlockRing::kDepth> done;
    std::vector<bool> reaped(count);
    size_t queued = 0;
    size_t finished = 0;
    int refused = 0;
    while (finished < count) {
      for (; queued < count; ++queued) {
        const FSReadRequest& r = requests[queued];
        if (!ring->Queue(
                {file_->fd(), r.offset, static_cast<uint32_t>(r.len), r.scratch, queued})) {
          break;
        }
      }
      const int error = ring->Submit(1);
      const size_t taken = ring->Reap(done);
      for (size_t i = 0; i < taken; ++i) {
        reaped[done[i].tag] = true;
        Complete(done[i].result, &requests[done[i].tag]);
      }
      finished += taken;
      refused = error != 0 && taken == 0 ? refused + 1 : 0;
      if (error == 0 || ((error == EAGAIN || error == EBUSY) && refused < kPatience)) continue;
      // The ring itself failed.
      path_->Note(std::string("io_uring failed: ") + std::strerror(error));
      ring->Abandon();
      for (size_t i = 0; i < count; ++i) {
        if (!reaped[i]) Complete(0, &requests[i]);
      }
      return IOStatus::OK();
    }
    rings_->GiveBack(std::move(ring));
    return IOStatus::OK();
  }

  // Takes what has completed; a short or interrupted read is finished by pread.
  void Complete(int32_t result, FSReadRequest* r) const {
    if (result < 0 && result != -EAGAIN && result != -EINTR) {
      r->result = Slice();
      r->status = ReadError(file_->name(), r->offset, -result);
      return;
    }
    r->status =
        Finish(r->offset, r->len, static_cast<size_t>(std::max(result, 0)), &r->result, r->scratch);
  }

  const std::shared_ptr<const OpenFile> file_;
  const std::shared_ptr<ReadPath> path_;
  const std::shared_ptr<BlockRingPool> rings_;
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
      open_files_(std::make_shared<OpenFiles>(read_path_)),
      rings_(std::make_shared<BlockRingPool>(io_uring, nullptr, read_path_)),
      checksums_(std::make_shared<WrittenChecksums>()) {
  if (!io_uring) read_path_->Note("io_uring switched off by option");
}

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

IOStatus RingFileSystem::NewRandomAccessFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                             IODebugContext* debug) {
  if (options.use_mmap_reads) return target()->NewRandomAccessFile(name, options, file, debug);
  if (name.ends_with(".sst")) {
    const Status s = CheckSstProperties(name);
    if (!s.ok()) return IOStatus::Corruption(std::string(s.message()));
  }
  std::shared_ptr<const OpenFile> opened;
  if (const int error = open_files_->Open(name, options.use_direct_reads, &opened); error != 0) {
    // Not PathNotFound: RocksDB would go on to look for the file under a name of LevelDB's.
    return IOStatus::IOError("open " + name, std::strerror(error));
  }
  *file = std::make_unique<RingFile>(std::move(opened), read_path_, rings_);
  return IOStatus::OK();
}

}  // namespace edo::storage
