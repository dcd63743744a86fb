// Cache policies that ours is compared with, over rows of one size and with any slot for any row:
// each answers whether a row was a hit and then admits it or not.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "bench/cache/traces.h"

namespace edo::bench {

class Chain {  // rows from the latest used to the least recently used
 public:
  explicit Chain(uint32_t rows) : next_(rows + 1, rows), previous_(rows + 1, rows) {}
  uint32_t size() const { return size_; }
  uint32_t Last() const { return previous_.back(); }
  void PushFirst(uint32_t row) {
    const uint32_t end = static_cast<uint32_t>(next_.size() - 1);
    next_[row] = next_[end];
    previous_[row] = end;
    previous_[next_[end]] = row;
    next_[end] = row;
    ++size_;
  }
  void Remove(uint32_t row) {
    next_[previous_[row]] = next_[row];
    previous_[next_[row]] = previous_[row];
    --size_;
  }

 private:
  std::vector<uint32_t> next_, previous_;  // the last element closes the ring
  uint32_t size_ = 0;
};

class Lru {
 public:
  Lru(uint32_t rows, uint32_t slots) : slots_(slots), chain_(rows), held_(rows) {}
  bool Access(uint32_t row);

 private:
  const uint32_t slots_;
  Chain chain_;
  std::vector<bool> held_;
};

// Counts every row for ever (or halves all counts every `age_every` accesses) and admits a row when
// its count is at least the least held.
class Lfu {
 public:
  Lfu(uint32_t rows, uint32_t slots, uint64_t age_every)
      : slots_(slots), age_every_(age_every), counts_(rows), held_(rows) {}
  bool Access(uint32_t row);

 private:
  void Age();
  const uint32_t slots_;
  const uint64_t age_every_;
  uint64_t accesses_ = 0;
  std::vector<uint32_t> counts_;
  std::vector<bool> held_;
  std::set<std::pair<uint32_t, uint32_t>> by_count_;  // of the rows held
};

// Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023: a tenth of the slots
// is the small queue, the ghost queue is as long as the main queue.
class S3Fifo {
 public:
  S3Fifo(uint32_t rows, uint32_t slots);
  bool Access(uint32_t row);

 private:
  void EvictSmall();
  void EvictMain();
  const uint32_t slots_, small_slots_, main_slots_;
  std::deque<uint32_t> small_, main_, ghost_;
  std::vector<uint8_t> held_, frequency_, ghosts_;
};

// Einziger et al., "TinyLFU: a highly efficient cache admission policy": a window of 1 % of the
// slots before a segmented LRU (80 % protected), admission by a sketch that counts every access.
class WTinyLfu {
 public:
  WTinyLfu(uint32_t rows, uint32_t slots);
  bool Access(uint32_t row);

 private:
  enum Place : uint8_t { kNowhere, kWindow, kProbation, kProtected };
  void Count(uint32_t row);
  uint32_t Estimate(uint32_t row) const;
  void Admit(uint32_t candidate);
  const uint32_t window_slots_, main_slots_, protected_slots_;
  Chain window_, probation_, protected_;
  std::vector<uint8_t> place_;
  std::vector<uint8_t> counters_[4];
  uint64_t counted_ = 0;
  const uint64_t age_at_;
};

// Evicts the row whose next use is farthest away; knows the whole trace.
class Belady {
 public:
  Belady(uint32_t rows, uint32_t slots, const Trace& trace);
  bool Access(uint32_t row);

 private:
  const uint32_t slots_;
  std::vector<uint32_t> next_use_;    // of each access
  std::vector<uint32_t> held_until_;  // next use of a row held, 0 when it is not
  std::priority_queue<std::pair<uint32_t, uint32_t>> farthest_;  // stale entries are skipped
  uint32_t held_ = 0;
  size_t at_ = 0;
};

}  // namespace edo::bench
