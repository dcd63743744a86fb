// FrequencySketch: what it promises of its estimates, its ageing in misses a slot, its memory, and
// many threads at once (run under ThreadSanitizer).
#include "gpucache/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/test_util.h"

namespace edo::gpucache {
namespace {

TEST(FrequencySketch, NewOneHasSeenNothing) {
  const FrequencySketch sketch(1000);
  for (uint64_t position : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 45) - 1}) {
    EXPECT_EQ(sketch.Estimate(position), 0u);
  }
}

TEST(FrequencySketch, CountsUpToFifteen) {
  FrequencySketch sketch(100000);
  for (uint32_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(sketch.Observe(42), std::min(i, FrequencySketch::kMostCount));
    EXPECT_EQ(sketch.Estimate(42), std::min(i, FrequencySketch::kMostCount));
  }
}

TEST(FrequencySketch, TakesFourBytesASlotAndAnyNumberOfThem) {
  EXPECT_EQ(FrequencySketch(1000).MemoryBytes(), 4000u);
  for (uint64_t slots : {0u, 1u, 2u, 3u, 31u, 33u}) {
    FrequencySketch sketch(slots);
    EXPECT_LE(sketch.MemoryBytes(), slots * 4 + 8);
    for (uint64_t position = 0; position < 1000; ++position) {
      const uint32_t estimate = sketch.Observe(position);
      ASSERT_GE(estimate, 1u);
      ASSERT_LE(estimate, FrequencySketch::kMostCount);
    }
  }
}

TEST(FrequencySketch, UnderestimatesByNoMoreThanItsAgeing) {
  std::mt19937_64 random(test::Seed(5));
  constexpr uint64_t kSlots = 4096;
  FrequencySketch sketch(kSlots);
  // The hand passes every counter once meanwhile, so half of the count is what is promised.
  std::map<uint64_t, uint32_t> truth;
  for (uint64_t miss = 0; miss < FrequencySketch::kMissesPerSlot * kSlots; ++miss) {
    const uint64_t position = random() % 512;
    ++truth[position];
    sketch.Observe(position);
  }
  for (const auto& [position, count] : truth) {
    ASSERT_GE(sketch.Estimate(position), std::min(count, FrequencySketch::kMostCount) / 2);
  }
}

TEST(FrequencySketch, MostRowsMissedOnceAreKnownToBe) {
  FrequencySketch sketch(4096);
  int exact = 0;
  for (uint64_t position = 0; position < 4096; ++position) exact += sketch.Observe(position) == 1;
  EXPECT_GT(exact, 3900);
}

TEST(FrequencySketch, RowNotMissedAnyMoreFadesAway) {
  constexpr uint64_t kSlots = 4096;
  FrequencySketch sketch(kSlots);
  for (int i = 0; i < 15; ++i) sketch.Observe(uint64_t{1} << 40);
  ASSERT_EQ(sketch.Estimate(uint64_t{1} << 40), 15u);
  // Five turns of the hand, with one other row missed all the time.
  uint32_t least = 15;
  for (uint64_t miss = 0; miss < 5 * FrequencySketch::kMissesPerSlot * kSlots; ++miss) {
    sketch.Observe(7);
    const uint32_t estimate = sketch.Estimate(uint64_t{1} << 40);
    ASSERT_LE(estimate, least);
    least = estimate;
  }
  EXPECT_EQ(least, 0u);
}

TEST(FrequencySketch, NeighbouringPositionsDoNotShareCounters) {
  FrequencySketch sketch(4096);
  for (int i = 0; i < 10; ++i) sketch.Observe(1000);
  int wrong = 0;
  for (uint64_t position = 1001; position < 2000; ++position)
    wrong += sketch.Estimate(position) > 0;
  EXPECT_LE(wrong, 5);
}

TEST(FrequencySketch, ManyThreadsMayCountAtOnce) {
  FrequencySketch sketch(4096);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&sketch, t] {
      for (uint64_t i = 0; i < 20000; ++i) {
        const uint32_t estimate = sketch.Observe(i % 8 == 0 ? 99 : t * 100000 + i % 4000);
        ASSERT_LE(estimate, FrequencySketch::kMostCount);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(sketch.Estimate(99), 8u);
}

}  // namespace
}  // namespace edo::gpucache
