#include "gpucache/admission.h"

#include <algorithm>

namespace edo::gpucache {
namespace {

// The finaliser of splitmix64, a bijection: each bit of the result depends on each of the position.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t kSlotsPerWord = 2;

uint32_t Least(uint64_t word, const uint32_t (&shifts)[4]) {
  uint64_t least = FrequencySketch::kMostCount;
  for (const uint32_t shift : shifts) least = std::min(least, (word >> shift) & 15);
  return static_cast<uint32_t>(least);
}

}  // namespace

FrequencySketch::FrequencySketch(uint64_t slots)
    : words_(std::max<uint64_t>(1, (slots + kSlotsPerWord - 1) / kSlotsPerWord)),
      counters_(std::make_unique<std::atomic<uint64_t>[]>(words_)) {}

FrequencySketch::Place FrequencySketch::PlaceOf(uint64_t position) const {
  const uint64_t hash = Mix(position);
  Place place;
  // The upper half chooses the word (enough below 2^32 words, 32 GiB of sketch), the lowest bits
  // the counters.
  place.word = (hash >> 32) * words_ >> 32;
  for (uint32_t i = 0; i < 4; ++i) {
    place.shifts[i] = 16 * i + 4 * static_cast<uint32_t>((hash >> (2 * i)) & 3);
  }
  return place;
}

uint32_t FrequencySketch::Estimate(uint64_t position) const {
  const Place place = PlaceOf(position);
  return Least(counters_[place.word].load(std::memory_order_relaxed), place.shifts);
}

uint32_t FrequencySketch::Observe(uint64_t position) {
  MoveHand();
  const Place place = PlaceOf(position);
  uint64_t word = counters_[place.word].load(std::memory_order_relaxed);
  const uint32_t before = Least(word, place.shifts);
  if (before == kMostCount) return kMostCount;
  // Only the counters at the minimum rise: the others already count somebody else as well.
  for (const uint32_t shift : place.shifts) {
    if (((word >> shift) & 15) == before) word += uint64_t{1} << shift;
  }
  counters_[place.word].store(word, std::memory_order_relaxed);
  return before + 1;
}

void FrequencySketch::MoveHand() {
  constexpr uint64_t kMissesPerWord = kMissesPerSlot * kSlotsPerWord;
  const uint64_t miss = misses_.fetch_add(1, std::memory_order_relaxed);
  if (miss % kMissesPerWord != 0) return;
  std::atomic<uint64_t>& counters = counters_[miss / kMissesPerWord % words_];
  counters.store((counters.load(std::memory_order_relaxed) >> 1) & 0x7777777777777777u,
                 std::memory_order_relaxed);
}

}  // namespace edo::gpucache
