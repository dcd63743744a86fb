// DivideBudget: small cases, and its promises over random demands - never more than there is, one
// block each while possible, nobody more than it wants, and max-min fairness up to whole blocks.
#include "gpucache/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/test_util.h"

namespace edo::gpucache {
namespace {

using Blocks = std::vector<uint64_t>;

TEST(DivideBudget, NoClassesTakeNothing) { EXPECT_EQ(DivideBudget(100, {}), Blocks{}); }

TEST(DivideBudget, OneClassGetsWhatItWantsOrAllThereIs) {
  EXPECT_EQ(DivideBudget(100, {{10, 3}}), Blocks{3});
  EXPECT_EQ(DivideBudget(100, {{10, 300}}), Blocks{10});
  EXPECT_EQ(DivideBudget(109, {{10, 300}}), Blocks{10});
  EXPECT_EQ(DivideBudget(9, {{10, 300}}), Blocks{0});
  EXPECT_EQ(DivideBudget(0, {{10, 300}}), Blocks{0});
}

TEST(DivideBudget, EveryoneGetsABlockTheFirstOnesFirst) {
  EXPECT_EQ(DivideBudget(100, {{60, 5}, {40, 5}}), (Blocks{1, 1}));
  EXPECT_EQ(DivideBudget(99, {{60, 5}, {40, 5}}), (Blocks{1, 0}));
  EXPECT_EQ(DivideBudget(99, {{60, 5}, {40, 5}, {39, 5}}), (Blocks{1, 0, 1}));
}

TEST(DivideBudget, ModestClassLeavesTheRestToTheOthers) {
  EXPECT_EQ(DivideBudget(120, {{10, 1000}, {10, 2}, {10, 1000}}), (Blocks{5, 2, 5}));
  EXPECT_EQ(DivideBudget(1000, {{10, 3}, {10, 2}, {10, 4}}), (Blocks{3, 2, 4}));
}

TEST(DivideBudget, LargestDemandsDoNotOverflow) {
  const uint64_t blocks = (uint64_t{1} << 27) - 1;
  const Blocks got = DivideBudget(uint64_t{1} << 50, {{uint64_t{1} << 23, blocks}, {1000, blocks}});
  EXPECT_EQ(got[1], blocks);
  EXPECT_LE(got[0] * (uint64_t{1} << 23) + got[1] * 1000, uint64_t{1} << 50);
  EXPECT_GT(got[0], uint64_t{1} << 26);
}

TEST(DivideBudget, RandomDemandsAreMetFairly) {
  std::mt19937_64 random(test::Seed(31));
  for (int run = 0; run < 20000; ++run) {
    std::vector<ClassDemand> demands(1 + random() % 8);
    for (ClassDemand& demand : demands) {
      demand = {1 + random() % (random() % 2 == 0 ? 10 : 500), 1 + random() % 300};
    }
    const uint64_t bytes = random() % (random() % 2 == 0 ? 2000 : 100000);
    const Blocks blocks = DivideBudget(bytes, demands);
    ASSERT_EQ(blocks.size(), demands.size());
    uint64_t used = 0;
    uint64_t first_blocks = 0;
    for (size_t i = 0; i < demands.size(); ++i) {
      used += blocks[i] * demands[i].block_bytes;
      ASSERT_LE(blocks[i], demands[i].blocks);
      const bool possible = first_blocks + demands[i].block_bytes <= bytes;
      ASSERT_EQ(blocks[i] > 0, possible) << "class " << i << " of run " << run;
      if (possible) first_blocks += demands[i].block_bytes;
    }
    ASSERT_LE(used, bytes);
    // Who does not get what it wants has as much beyond its first block as anybody, up to a block
    // of its own, and those that the others like it could not use, and the divisions' remainders.
    uint64_t rounding = demands.size();
    for (size_t i = 0; i < demands.size(); ++i) {
      if (blocks[i] < demands[i].blocks) rounding += demands[i].block_bytes;
    }
    for (size_t i = 0; i < demands.size(); ++i) {
      if (blocks[i] == 0 || blocks[i] == demands[i].blocks) continue;
      const uint64_t own = (blocks[i] - 1) * demands[i].block_bytes;
      for (size_t j = 0; j < demands.size(); ++j) {
        if (blocks[j] == 0) continue;
        ASSERT_LE((blocks[j] - 1) * demands[j].block_bytes, own + demands[i].block_bytes + rounding)
            << "classes " << i << " and " << j << " of run " << run;
      }
    }
  }
}

TEST(DivideBudget, BlocksOfOneByteAreDividedExactly) {
  std::mt19937_64 random(test::Seed(32));
  for (int run = 0; run < 5000; ++run) {
    std::vector<ClassDemand> demands(1 + random() % 8);
    for (ClassDemand& demand : demands) demand = {1, 1 + random() % 300};
    const uint64_t bytes = demands.size() + random() % 2000;
    const Blocks blocks = DivideBudget(bytes, demands);
    // Max-min: give one byte at a time to whoever has least and wants more.
    Blocks expected(demands.size(), 1);
    for (uint64_t left = bytes - demands.size(); left > 0; --left) {
      size_t least = demands.size();
      for (size_t i = 0; i < demands.size(); ++i) {
        if (expected[i] == demands[i].blocks) continue;
        if (least == demands.size() || expected[i] < expected[least]) least = i;
      }
      if (least == demands.size()) break;
      ++expected[least];
    }
    // Who among equals gets the odd byte is open.
    for (size_t i = 0; i < demands.size(); ++i) {
      ASSERT_LE(blocks[i] > expected[i] ? blocks[i] - expected[i] : expected[i] - blocks[i], 1u);
    }
    ASSERT_EQ(std::accumulate(blocks.begin(), blocks.end(), uint64_t{0}),
              std::accumulate(expected.begin(), expected.end(), uint64_t{0}));
  }
}

}  // namespace
}  // namespace edo::gpucache
