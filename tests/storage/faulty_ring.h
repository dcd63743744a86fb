// A BlockRing that misbehaves at random, over one that works: read errors, short reads, flipped
// bytes, completions in another order, a full queue, refusals, and the end of the whole ring.
#pragma once

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "storage/rocksdb_block_ring.h"

namespace edo::storage {

// Chances in 1000.
struct RingFaults {
  unsigned read_error = 0;
  unsigned short_read = 0;
  unsigned flipped_byte = 0;
  unsigned queue_full = 0;
  unsigned again = 0;   // Submit gives EAGAIN, and does what it would have done or not
  unsigned broken = 0;  // Submit gives EIO; the ring works no more
  bool reorder = false;
};

class FaultyRing : public BlockRing {
 public:
  FaultyRing(std::unique_ptr<BlockRing> ring, const RingFaults& faults, uint64_t seed)
      : ring_(std::move(ring)), faults_(faults), random_(seed) {}

  bool Queue(const BlockRead& read) override {
    if (Happens(faults_.queue_full) || !ring_->Queue(read)) return false;
    reads_[read.tag] = read;
    return true;
  }
  int Submit(unsigned wait_for) override {
    if (broken_ || Happens(faults_.broken)) {
      broken_ = true;
      return EIO;
    }
    const bool again = Happens(faults_.again);
    if (again && random_() % 2 == 0) return EAGAIN;
    // What is held back here is waited for as little as what is complete.
    const int result = ring_->Submit(done_.empty() ? wait_for : 0);
    return again ? EAGAIN : result;
  }
  size_t Reap(std::span<BlockDone> done) override {
    std::vector<BlockDone> fresh(kDepth);
    fresh.resize(ring_->Reap(fresh));
    for (const BlockDone& d : fresh) done_.push_back(Spoil(d));
    if (faults_.reorder) std::shuffle(done_.begin(), done_.end(), random_);
    size_t count = std::min(done.size(), done_.size());
    if (faults_.reorder && count > 1) count = 1 + random_() % count;  // some arrive later
    std::copy_n(done_.begin(), count, done.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }
  void Abandon() override { ring_->Abandon(); }

 private:
  bool Happens(unsigned chance) { return random_() % 1000 < chance; }
  BlockDone Spoil(BlockDone done) {
    const BlockRead& read = reads_[done.tag];
    if (done.result <= 0) return done;
    if (Happens(faults_.read_error)) {
      done.result = random_() % 4 == 0 ? -EINTR : -EIO;
    } else if (Happens(faults_.short_read)) {
      done.result = static_cast<int32_t>(random_() % static_cast<uint64_t>(done.result));
      // O_DIRECT stops at sectors.
      if (random_() % 2 == 0) done.result = done.result / 4096 * 4096;
      std::fill(read.buffer + done.result, read.buffer + read.bytes, '!');
    } else if (Happens(faults_.flipped_byte)) {
      char& byte = read.buffer[random_() % static_cast<uint64_t>(done.result)];
      byte = static_cast<char>(byte ^ (1 << random_() % 8));
    }
    return done;
  }

  const std::unique_ptr<BlockRing> ring_;
  const RingFaults faults_;
  std::mt19937_64 random_;
  std::map<uint64_t, BlockRead> reads_;  // by tag, the last of each
  std::deque<BlockDone> done_;           // complete, held back
  bool broken_ = false;
};

}  // namespace edo::storage
