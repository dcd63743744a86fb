// How often the rows that were missed lately were missed: what a fill needs to know of a row before
// it gives it a slot. A count-min sketch of 4-bit counters, 8 counters (4 bytes) a slot of the
// cache; hits are not counted, the slot's score (kernels/score.h) knows those. It ages without a
// pass: each miss also moves a hand forward that halves the counters it passes, once round in
// kMissesPerSlot misses a slot.
//
// Safe from any number of threads. Counters are read and written with relaxed atomics, so a count
// may be lost where two threads meet; no lock, no wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace edo::gpucache {

class FrequencySketch {
 public:
  static constexpr uint32_t kMostCount = 15;
  static constexpr uint64_t kMissesPerSlot = 2;

  // For a cache of `slots` slots; memory is 4 bytes a slot. The sketch does not grow with the
  // cache: make a new one and let it learn, which takes it kMissesPerSlot misses a slot.
  explicit FrequencySketch(uint64_t slots);

  // Counts a miss of `position`. Returns the estimate after it, 1..kMostCount.
  uint32_t Observe(uint64_t position);

  // The recent misses of `position`, 0..kMostCount: at least those counted since the hand last
  // passed its counters (but for counts lost to races), more when other rows share all of its
  // counters.
  uint32_t Estimate(uint64_t position) const;

  size_t MemoryBytes() const { return words_ * sizeof(uint64_t); }

 private:
  // A row's counters: one in each quarter of one word, so that a miss costs one line of memory.
  struct Place {
    uint64_t word;
    uint32_t shifts[4];
  };
  Place PlaceOf(uint64_t position) const;
  void MoveHand();

  const uint64_t words_;
  std::unique_ptr<std::atomic<uint64_t>[]> counters_;  // 16 of 4 bits each
  std::atomic<uint64_t> misses_{0};
};

}  // namespace edo::gpucache
