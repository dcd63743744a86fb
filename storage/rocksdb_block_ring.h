// BlockRing: a queue of file reads. Two bodies: io_uring, which has them in flight together, and
// pread, one after the other, where the kernel refuses io_uring. BlockRingPool lends rings to
// threads, so that there are as many as threads ever read at the same moment.
//
// A ring is for one thread at a time; the pool for many.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace edo::storage {

struct ReadPath;

struct BlockRead {
  int fd = -1;
  uint64_t offset = 0;
  uint32_t bytes = 0;
  char* buffer = nullptr;  // the kernel's until the read is reaped, or the ring abandoned
  uint64_t tag = 0;        // the caller's own
};

struct BlockDone {
  uint64_t tag = 0;
  int32_t result = 0;  // bytes read, or -errno
};

class BlockRing {
 public:
  static constexpr unsigned kDepth = 128;  // reads in flight

  virtual ~BlockRing() = default;
  // Takes a read for the next Submit. False: the queue is full.
  virtual bool Queue(const BlockRead& read) = 0;
  // Hands what is queued to the kernel and waits until `wait_for` reads are complete (0: does not
  // wait). 0, or an errno: EAGAIN and EBUSY ask to reap and try again, others mean that the ring
  // is of no use any more.
  virtual int Submit(unsigned wait_for) = 0;
  // Takes reads that are complete, at most done.size() of them.
  virtual size_t Reap(std::span<BlockDone> done) = 0;
  // Waits until the kernel writes to no buffer any more. What was not reaped may or may not have
  // been read. Then only destruction.
  virtual void Abandon() = 0;
};

std::unique_ptr<BlockRing> MakePreadRing();
// Null when the kernel refuses io_uring; `error` then says why (an errno).
std::unique_ptr<BlockRing> MakeUringRing(int* error);

// Reads [offset + have, offset + bytes) behind what is there already; the bytes that are there
// then (fewer: the file ends), or -errno.
int64_t PreadRest(int fd, uint64_t offset, size_t bytes, size_t have, bool direct, char* buffer);

// Makes the rings of a pool, for tests that inject faults.
using BlockRingFactory = std::function<std::unique_ptr<BlockRing>()>;

class BlockRingPool {
 public:
  // `io_uring` false: none are lent. `factory`: in place of io_uring; or null.
  BlockRingPool(bool io_uring, BlockRingFactory factory, std::shared_ptr<ReadPath> path);

  bool available() const { return available_; }
  // Null where io_uring is not to be had.
  std::unique_ptr<BlockRing> Take();
  // A ring with nothing in flight.
  void GiveBack(std::unique_ptr<BlockRing> ring);

 private:
  std::unique_ptr<BlockRing> Make();

  const BlockRingFactory factory_;
  const std::shared_ptr<ReadPath> path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockRing>> free_;  // guarded by mutex_
  bool available_ = true;                         // set once in the constructor
};

}  // namespace edo::storage
