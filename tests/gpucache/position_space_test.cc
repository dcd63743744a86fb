// PositionSpace: ranges never overlap, and what is given back can be had again; small cases, and a
// random sequence against a model that marks every position.
#include "gpucache/position_space.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/test_util.h"

namespace edo::gpucache {
namespace {

TEST(PositionSpace, RangesStartAtMultiplesOf64) {
  PositionSpace space(uint64_t{1} << 20);
  EXPECT_EQ(space.Take(1), 0u);
  EXPECT_EQ(space.Take(64), 64u);
  EXPECT_EQ(space.Take(65), 128u);
  EXPECT_EQ(space.Take(1), 256u);
}

TEST(PositionSpace, GivesOutAllOfItAndNoMore) {
  PositionSpace space(1024);
  EXPECT_EQ(space.Take(1025), std::nullopt);
  EXPECT_EQ(space.Take(1024), 0u);
  EXPECT_EQ(space.Take(1), std::nullopt);
  space.Give(0, 1024);
  for (uint64_t i = 0; i < 16; ++i) EXPECT_EQ(space.Take(64), i * 64);
  EXPECT_EQ(space.Take(1), std::nullopt);
}

TEST(PositionSpace, NeighboursGivenBackBecomeOneRange) {
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    PositionSpace space(192);
    uint64_t first[3];
    for (uint64_t& f : first) f = *space.Take(10);
    for (const int i : order) space.Give(first[i], 10);
    EXPECT_EQ(space.Take(192), 0u);
  }
}

TEST(PositionSpace, CountsNearTheLargestNumberFindNoRange) {
  PositionSpace space(uint64_t{1} << 45);
  for (uint64_t below = 0; below < 200; ++below) {
    EXPECT_EQ(space.Take(~uint64_t{0} - below), std::nullopt) << below;
  }
  EXPECT_EQ(space.Take((uint64_t{1} << 45) + 1), std::nullopt);
  EXPECT_EQ(space.Take(uint64_t{1} << 45), 0u);
}

TEST(PositionSpace, RangesOfARandomSequenceNeverOverlap) {
  std::mt19937_64 random(test::Seed(21));
  constexpr uint64_t kUnits = 500;  // of 64 positions
  for (int run = 0; run < 20; ++run) {
    PositionSpace space(kUnits * 64);
    std::vector<bool> taken(kUnits, false);
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (int step = 0; step < 1000; ++step) {
      if (random() % 2 == 0) {
        const uint64_t count = 1 + random() % (random() % 4 == 0 ? 6400 : 300);
        const uint64_t units = (count + 63) / 64;
        // First fit.
        uint64_t expected = 0;
        uint64_t free = 0;
        while (expected + free < kUnits && free < units) {
          if (taken[expected + free]) {
            expected += free + 1;
            free = 0;
          } else {
            ++free;
          }
        }
        const std::optional<uint64_t> first = space.Take(count);
        ASSERT_EQ(first.has_value(), free >= units);
        if (!first) continue;
        ASSERT_EQ(*first, expected * 64);
        for (uint64_t u = 0; u < units; ++u) taken[*first / 64 + u] = true;
        ranges.emplace_back(*first, count);
      } else if (!ranges.empty()) {
        std::swap(ranges[random() % ranges.size()], ranges.back());
        const auto [first, count] = ranges.back();
        ranges.pop_back();
        space.Give(first, count);
        for (uint64_t u = 0; u < (count + 63) / 64; ++u) taken[first / 64 + u] = false;
      }
    }
    for (const auto& [first, count] : ranges) space.Give(first, count);
    ASSERT_EQ(space.Take(kUnits * 64), 0u);
  }
}

}  // namespace
}  // namespace edo::gpucache
