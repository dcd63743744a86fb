#include "storage/rocksdb_block_ring.h"

#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/rocksdb_read_path.h"

namespace edo::storage {
namespace {

class UringRing : public BlockRing {
 public:
  explicit UringRing(const io_uring& ring) : ring_(ring) {}
  ~UringRing() override { io_uring_queue_exit(&ring_); }

  bool Queue(const BlockRead& read) override {
    if (in_flight_ >= kDepth) return false;  // completions of more would not fit their queue
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return false;
    io_uring_prep_read(entry, read.fd, read.buffer, read.bytes, read.offset);
    io_uring_sqe_set_data64(entry, read.tag);
    ++in_flight_;
    return true;
  }

  int Submit(unsigned wait_for) override {
    const int result =
        wait_for == 0 ? io_uring_submit(&ring_) : io_uring_submit_and_wait(&ring_, wait_for);
    return result >= 0 || result == -EINTR ? 0 : -result;
  }

  size_t Reap(std::span<BlockDone> done) override {
    size_t taken = 0;
    unsigned head = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(&ring_, head, entry) {
      if (taken == done.size()) break;
      done[taken++] = {io_uring_cqe_get_data64(entry), entry->res};
    }
    io_uring_cq_advance(&ring_, static_cast<unsigned>(taken));
    in_flight_ -= taken;
    return taken;
  }

  void Abandon() override {
    const size_t unseen = io_uring_sq_ready(&ring_);  // queued, never seen by the kernel
    size_t pending = in_flight_ > unseen ? in_flight_ - unseen : 0;
    while (pending > 0) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_wait_cqe(&ring_, &entry) == 0) {
        io_uring_cqe_seen(&ring_, entry);
        --pending;
      } else {
        ::usleep(100);  // not even waiting works: look again, reads end by themselves
      }
    }
    in_flight_ = 0;
  }

 private:
  io_uring ring_;
  size_t in_flight_ = 0;  // queued and not reaped
};

class PreadRing : public BlockRing {
 public:
  bool Queue(const BlockRead& read) override {
    if (queued_.size() + done_.size() >= kDepth) return false;
    queued_.push_back(read);
    return true;
  }
  int Submit(unsigned /*wait_for*/) override {
    for (const BlockRead& r : queued_) {
      ssize_t got = 0;
      do {
        got = ::pread(r.fd, r.buffer, r.bytes, static_cast<off_t>(r.offset));
      } while (got < 0 && errno == EINTR);
      done_.push_back({r.tag, static_cast<int32_t>(got < 0 ? -errno : got)});
    }
    queued_.clear();
    return 0;
  }
  size_t Reap(std::span<BlockDone> done) override {
    const size_t taken = std::min(done.size(), done_.size());
    std::copy_n(done_.begin(), taken, done.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<ptrdiff_t>(taken));
    return taken;
  }
  void Abandon() override {
    queued_.clear();
    done_.clear();
  }

 private:
  std::vector<BlockRead> queued_;
  std::vector<BlockDone> done_;
};

}  // namespace

std::unique_ptr<BlockRing> MakePreadRing() { return std::make_unique<PreadRing>(); }

std::unique_ptr<BlockRing> MakeUringRing(int* error) {
  io_uring ring;
  // Completions wait until the thread enters the kernel next, as it does to wait for them: no
  // interrupts of its work. Kernels before 5.19 do not know the flag.
  int result = io_uring_queue_init(BlockRing::kDepth, &ring, IORING_SETUP_COOP_TASKRUN);
  if (result == -EINVAL) result = io_uring_queue_init(BlockRing::kDepth, &ring, 0);
  if (result < 0) {
    *error = -result;
    return nullptr;
  }
  return std::make_unique<UringRing>(ring);
}

int64_t PreadRest(int fd, uint64_t offset, size_t bytes, size_t have, bool direct, char* buffer) {
  // O_DIRECT goes on from whole sectors only; a read that ends within one is at the file's end.
  constexpr size_t kSector = 4096;
  if (have < bytes && direct) have -= have % kSector;
  while (have < bytes) {
    const ssize_t got = ::pread(fd, buffer + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    have += static_cast<size_t>(got);
    if (got == 0 || (direct && have % kSector != 0)) break;
  }
  return static_cast<int64_t>(have);
}

BlockRingPool::BlockRingPool(bool io_uring, BlockRingFactory factory,
                             std::shared_ptr<ReadPath> path)
    : factory_(std::move(factory)), path_(std::move(path)) {
  if (!io_uring) {
    available_ = false;
    return;
  }
  std::unique_ptr<BlockRing> first = Make();
  available_ = first != nullptr;
  if (first) free_.push_back(std::move(first));
}

std::unique_ptr<BlockRing> BlockRingPool::Make() {
  if (factory_) return factory_();
  int error = 0;
  auto ring = MakeUringRing(&error);
  if (!ring) {
    path_->Note(std::string("io_uring refused by the kernel: ") + std::strerror(error));
  }
  return ring;
}

std::unique_ptr<BlockRing> BlockRingPool::Take() {
  if (!available_) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<BlockRing> ring = std::move(free_.back());
      free_.pop_back();
      return ring;
    }
  }
  return Make();
}

void BlockRingPool::GiveBack(std::unique_ptr<BlockRing> ring) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(ring));
}

}  // namespace edo::storage
