// LookAhead against a plain recomputation from the batches that are ahead, and RowCache with a
// look-ahead against a model of its rule: in every set the row that is used last of all goes, rows
// without a known next use before it. What is compared is exact: which rows are resident.
#include "gpucache/look_ahead.h"

#include <gtest/gtest.h>

#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "tests/gpucache/cache_harness.h"

namespace edo::gpucache {
namespace {

using kernels::RowCodec;
using test::BlockBytes;
using test::HeldReader;
using test::Look;
using test::LookAndCheck;
using test::LookAndOffer;
using test::Offer;
using test::Range;
using test::TestCache;
using test::TestTable;

using Batch = std::vector<uint64_t>;

// ---- LookAhead -------------------------------------------------------------------------------

// How many batches ahead each row is used next, looked up the plain way.
std::map<uint64_t, uint32_t> NextUses(const std::deque<Batch>& ahead) {
  std::map<uint64_t, uint32_t> uses;
  for (uint32_t b = 0; b < ahead.size(); ++b) {
    for (const uint64_t row : ahead[b]) uses.emplace(row, b + 1);
  }
  return uses;
}

TEST(LookAhead, KnowsWhatAPlainRecomputationKnows) {
  const uint64_t seed = test::Seed(1);
  for (uint64_t s = seed; s < seed + 60; ++s) {
    SCOPED_TRACE("seed " + std::to_string(s));
    std::mt19937_64 random(s);
    LookAhead look;
    std::deque<Batch> ahead;
    const uint64_t rows = 1 + random() % (s % 2 == 0 ? 40 : 3000);
    const uint64_t spread = s % 3 == 0 ? (uint64_t{1} << 40) + 1 : 1;
    const size_t most = random() % 30;
    std::map<uint64_t, uint32_t> told;  // next uses by what the steps said, as batch numbers
    uint32_t now = 0;
    for (int step = 0; step < 150; ++step) {
      std::vector<LookAhead::Use> changed;
      if (ahead.size() <= most && random() % 3 != 0) {
        Batch batch(random() % 50);
        for (uint64_t& row : batch) row = random() % rows * spread;
        ahead.push_back(batch);
        const std::map<uint64_t, uint32_t> before = NextUses({ahead.begin(), ahead.end() - 1});
        look.Append(batch, &changed);
        for (const LookAhead::Use& use : changed) {
          EXPECT_FALSE(before.contains(use.row));
          EXPECT_EQ(use.ahead, ahead.size());
        }
      } else {
        look.Advance(&changed);
        if (!ahead.empty()) {
          const std::set<uint64_t> read(ahead.front().begin(), ahead.front().end());
          EXPECT_EQ(changed.size(), read.size());
          for (const LookAhead::Use& use : changed) EXPECT_TRUE(read.contains(use.row));
          ahead.pop_front();
          ++now;
        } else {
          EXPECT_TRUE(changed.empty());
        }
      }
      std::set<uint64_t> once;
      for (const LookAhead::Use& use : changed) {
        EXPECT_TRUE(once.insert(use.row).second) << "row " << use.row << " is told twice";
        told.erase(use.row);
        if (use.ahead != 0) told[use.row] = now + use.ahead;
      }
      const std::map<uint64_t, uint32_t> expected = NextUses(ahead);
      ASSERT_EQ(look.batches(), ahead.size());
      ASSERT_EQ(told.size(), expected.size());
      for (const auto& [row, use] : expected) {
        ASSERT_EQ(look.NextUse(row), use) << "row " << row << " step " << step;
        ASSERT_EQ(told[row], now + use) << "who follows the steps knows the same";
      }
      for (int i = 0; i < 20; ++i) {
        const uint64_t row = random() % (rows + 5) * spread;
        if (!expected.contains(row)) {
          ASSERT_EQ(look.NextUse(row), 0u);
        }
      }
      const std::vector<uint64_t> known = look.KnownRows();
      const std::set<uint64_t> distinct(known.begin(), known.end());
      ASSERT_EQ(distinct.size(), known.size());
      ASSERT_EQ(known.size(), expected.size());
    }
  }
}

TEST(LookAhead, EmptyBatchesAndNoBatches) {
  LookAhead look;
  std::vector<LookAhead::Use> changed{{1, 1}};
  look.Advance(&changed);
  EXPECT_TRUE(changed.empty());
  EXPECT_EQ(look.NextUse(0), 0u);
  EXPECT_EQ(look.NextUse(~uint64_t{0}), 0u);
  look.Append({}, &changed);
  look.Append(Batch{7, 7, ~uint64_t{0}, 7}, &changed);
  EXPECT_EQ(changed, (std::vector<LookAhead::Use>{{7, 2}}));
  look.Advance(&changed);
  EXPECT_TRUE(changed.empty());
  EXPECT_EQ(look.NextUse(7), 1u);
  look.Advance(&changed);
  EXPECT_EQ(changed, (std::vector<LookAhead::Use>{{7, 0}}));
  EXPECT_EQ(look.batches(), 0u);
}

TEST(LookAhead, TakesTheMemoryThatItSays) {
  LookAhead look;
  std::vector<LookAhead::Use> changed;
  constexpr uint64_t kRows = 100000;
  for (int b = 0; b < 4; ++b) look.Append(Range(0, kRows), &changed);
  EXPECT_LE(look.memory_bytes(), kRows * (4 * 12 + 16 * 3) + 1000);
}

// ---- RowCache --------------------------------------------------------------------------------

constexpr uint64_t kRows = 400;

// A cache of two blocks and the model of what is resident in it.
class Ahead : public ::testing::Test {
 protected:
  Ahead()
      : cache_({.bytes = BlockBytes(RowCodec::kInt8, 8, 2)}),
        table_(test::AddTestTable(*cache_, RowCodec::kInt8, 8, kRows)) {}

  void Append(const Batch& batch) {
    EDO_ASSERT_OK(cache_->AppendBatch(*table_.handle, batch));
    ahead_.push_back(batch);
  }
  // Reads the batch that is ahead, as a loop does.
  uint32_t ReadNext() {
    const Batch batch = ahead_.front();
    EDO_EXPECT_OK(cache_->AdvanceBatch(*table_.handle));
    ahead_.pop_front();
    return LookAndOffer(*cache_, table_, batch);
  }
  std::set<uint64_t> Resident() {
    EDO_EXPECT_OK(cache_->Flush());
    const test::Looked looked = Look(*cache_, table_, Range(0, kRows));
    std::set<uint64_t> rows;
    for (uint64_t row = 0; row < kRows; ++row) {
      if (looked.found(row)) rows.insert(row);
    }
    return rows;
  }
  uint64_t BlockOf(uint64_t row) {
    (void)Look(*cache_, table_, Batch{0});  // the spy sees the blocks
    const uint64_t position = cache_.spy->last_first_position + row;
    return kernels::PlaceOf(position, 2, cache_.spy->views().at(0).group_shift).block;
  }

  TestCache cache_;
  TestTable table_;
  std::deque<Batch> ahead_;
};

// Everything is known: a loop whose whole future is appended. Which rows stay is Belady's choice
// in each set, rows of the fill under way excepted, to the row.
TEST_F(Ahead, TheRowUsedLastOfAllGoes) {
  const uint64_t seed = test::Seed(3);
  for (uint64_t s = seed; s < seed + 10 && !HasFailure(); ++s) {
    SCOPED_TRACE("seed " + std::to_string(s));
    std::mt19937_64 random(s);
    EDO_ASSERT_OK(cache_->Invalidate(*table_.handle, Range(0, kRows)));
    EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
    ahead_.clear();
    std::vector<uint64_t> block(kRows);
    for (uint64_t row = 0; row < kRows; ++row) block[row] = BlockOf(row);
    // One row a batch, so that the model needs no order within a fill. All rows come at the end.
    for (int b = 0; b < 600; ++b) {
      Append({random() % 3 == 0 ? random() % kRows : random() % 150});
    }
    for (uint64_t row = 0; row < kRows; ++row) Append({row});
    std::map<uint64_t, std::set<uint64_t>> sets;
    uint32_t hits = 0, expected_hits = 0;
    for (int b = 0; b < 600 && !HasFailure(); ++b) {
      const uint64_t row = ahead_.front()[0];
      hits += ReadNext();
      const std::map<uint64_t, uint32_t> uses = NextUses(ahead_);
      std::set<uint64_t>& set = sets[block[row]];
      if (set.contains(row)) {
        ++expected_hits;
        continue;
      }
      if (set.size() == kernels::kSlots) {
        const uint64_t last =
            *std::max_element(set.begin(), set.end(),
                              [&](uint64_t x, uint64_t y) { return uses.at(x) < uses.at(y); });
        if (uses.at(last) < uses.at(row)) continue;
        set.erase(last);
      }
      set.insert(row);
    }
    EXPECT_EQ(hits, expected_hits);
    std::set<uint64_t> all = sets[0];
    all.insert(sets[1].begin(), sets[1].end());
    EXPECT_EQ(Resident(), all);
    cache_->EndLookAhead(*table_.handle);
  }
  cache_.CheckBlocks();
}

TEST_F(Ahead, ALoopOverTwiceTheCapacityKeepsHalf) {
  const auto hits_of = [&](bool look_ahead) {
    EDO_EXPECT_OK(cache_->Invalidate(*table_.handle, Range(0, kRows)));
    if (look_ahead) EDO_EXPECT_OK(cache_->BeginLookAhead(*table_.handle));
    uint32_t hits = 0;
    ahead_.clear();
    for (int b = 0, appended = 0; b < 160; ++b) {
      for (; look_ahead && appended <= b + 40; ++appended) {
        const uint64_t first = static_cast<uint64_t>(appended) % 16 * 8;
        Append(Range(first, first + 8));
      }
      const uint64_t first = static_cast<uint64_t>(b) % 16 * 8;
      hits += look_ahead ? ReadNext() : LookAndOffer(*cache_, table_, Range(first, first + 8));
    }
    if (look_ahead) cache_->EndLookAhead(*table_.handle);
    return hits;
  };
  const uint32_t without = hits_of(false), with = hits_of(true);
  std::cout << "hits of 1280: " << without << " without, " << with << " with a look-ahead\n";
  EXPECT_GT(with, 1280u * 4 / 10);
  EXPECT_GT(with, without);
}

TEST_F(Ahead, RowsWithoutAKnownUseGoFirstByTheirScores) {
  EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
  for (int i = 0; i < 8; ++i) LookAndOffer(*cache_, table_, Range(0, kRows));
  const std::set<uint64_t> before = Resident();
  ASSERT_GE(before.size(), 60u);
  // A row that is worth nothing, but is used soon, against rows that are hot and are not.
  uint64_t row = 0;
  while (before.contains(row)) ++row;
  Append({row});
  Append({row});
  ReadNext();
  EXPECT_TRUE(Resident().contains(row));
  // Any number of misses of rows that nobody foresees leaves it there.
  for (int i = 0; i < 20; ++i) LookAndOffer(*cache_, table_, Range(0, kRows));
  EXPECT_TRUE(Resident().contains(row));
  // Once its last use has come it is one of the others.
  ReadNext();
  for (int i = 0; i < 20; ++i) {
    Batch others = Range(0, kRows);
    others.erase(others.begin() + static_cast<int64_t>(row));
    LookAndOffer(*cache_, table_, others);
    LookAndOffer(*cache_, table_, others);
  }
  EXPECT_FALSE(Look(*cache_, table_, Batch{row}).found(0));
}

TEST_F(Ahead, PinnedRowsNeverGo) {
  EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
  for (int i = 0; i < 4; ++i) LookAndOffer(*cache_, table_, Range(0, 200));
  const std::set<uint64_t> before = Resident();
  const Batch held(before.begin(), std::next(before.begin(), 20));
  std::vector<uint8_t> pinned;
  EDO_ASSERT_OK(cache_->Pin(*table_.handle, held, &pinned));
  // Rows used soon, again and again, that would take every slot.
  for (int b = 0; b < 12; ++b) Append(Range(200, 400));
  while (!ahead_.empty()) ReadNext();
  EXPECT_EQ(LookAndCheck(*cache_, table_, held), held.size());
  EDO_ASSERT_OK(cache_->Unpin(*table_.handle, held));
  cache_.CheckBlocks();
}

TEST_F(Ahead, OneAtATimeAndOnlyWhileItIsBegun) {
  EXPECT_EQ(cache_->AppendBatch(*table_.handle, Batch{1}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cache_->AdvanceBatch(*table_.handle).code(), StatusCode::kInvalidArgument);
  EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
  EXPECT_EQ(cache_->BeginLookAhead(*table_.handle).code(), StatusCode::kBusy);
  EDO_EXPECT_OK(cache_->AppendBatch(*table_.handle, Batch{1, kRows, ~uint64_t{0}}));
  EDO_EXPECT_OK(cache_->AdvanceBatch(*table_.handle));
  EDO_EXPECT_OK(cache_->AdvanceBatch(*table_.handle));  // nothing is ahead
  cache_->EndLookAhead(*table_.handle);
  cache_->EndLookAhead(*table_.handle);
  EXPECT_EQ(cache_->AdvanceBatch(*table_.handle).code(), StatusCode::kInvalidArgument);
  EDO_EXPECT_OK(cache_->BeginLookAhead(*table_.handle));
}

TEST_F(Ahead, ItsEndLeavesTheScoresToJudge) {
  const uint64_t without = cache_.spy->allocated;
  EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
  EXPECT_EQ(cache_.spy->allocated, without + 2 * kernels::kSlots * 4);
  const uint64_t budget = cache_->counters().bytes;
  Append(Range(0, 200));
  Append(Range(0, 200));
  Append(Range(0, 200));
  ReadNext();
  ReadNext();
  const std::set<uint64_t> before = Resident();
  cache_->EndLookAhead(*table_.handle);
  EXPECT_EQ(cache_.spy->allocated, without) << "the next uses are given back";
  EXPECT_EQ(cache_->counters().bytes, budget) << "they are beside the budget";
  // What was known would have kept these rows; nobody reads them any more.
  for (int i = 0; i < 60; ++i) LookAndOffer(*cache_, table_, Range(200, 260));
  std::set<uint64_t> left;
  for (const uint64_t row : Resident()) {
    if (before.contains(row)) left.insert(row);
  }
  EXPECT_LT(left.size(), before.size() / 2);
}

// The clock of next uses begins 1000 batches before its 32 bits begin again.
TEST_F(Ahead, TheClockMayBeginAgain) {
  EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
  uint32_t appended = 0, hits = 0, reads = 0;
  const auto batch = [](uint32_t number) {
    const uint64_t first = number % 16 * 8;
    return Range(first, first + 8);
  };
  for (uint32_t b = 0; b < 1300; ++b) {
    for (; appended <= b + 40; ++appended) Append(batch(appended));
    const uint32_t found = ReadNext();
    if (b < 900) continue;
    hits += found;
    reads += 8;
  }
  EXPECT_GT(hits * 10, reads * 4) << "of a loop over twice the capacity";
}

// A fill that waits for a reader learns of next uses that become known meanwhile.
TEST_F(Ahead, WaitingFillsAreToldToo) {
  EDO_ASSERT_OK(cache_->BeginLookAhead(*table_.handle));
  const uint64_t block = BlockOf(0);
  Batch same;  // rows of one block
  for (uint64_t row = 0; row < kRows; ++row) {
    if (BlockOf(row) == block) same.push_back(row);
  }
  ASSERT_GT(same.size(), 2 * kernels::kSlots);
  const uint64_t row = same[0];
  {
    HeldReader reader(*cache_, table_, {same[1]});
    Offer(*cache_, table_, {row});
    EXPECT_GT(cache_->counters().deferred, 0u);
    for (int i = 0; i < 3; ++i) Append({row});
  }
  EDO_ASSERT_OK(cache_->Flush());
  // Rows that nobody foresees ask for every slot of its block.
  const Batch others(same.begin() + 1, same.end());
  for (int i = 0; i < 40; ++i) LookAndOffer(*cache_, table_, others);
  EXPECT_TRUE(Look(*cache_, table_, Batch{row}).found(0));
}

// Resized, the class begins with empty slots and goes on looking ahead.
TEST(AheadOfManyTables, AClassMayBeResizedAndTablesMayGo) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kInt8, 8, 8)});
  TestTable one = test::AddTestTable(*cache, RowCodec::kInt8, 8, 100);
  TestTable other = test::AddTestTable(*cache, RowCodec::kInt8, 8, 100);
  EDO_ASSERT_OK(cache->BeginLookAhead(*one.handle));
  EDO_ASSERT_OK(cache->BeginLookAhead(*other.handle));
  for (int b = 0; b < 8; ++b) {
    EDO_ASSERT_OK(cache->AppendBatch(*one.handle, Range(0, 100)));
    EDO_ASSERT_OK(cache->AppendBatch(*other.handle, Range(0, 100)));
  }
  const auto step = [&](const TestTable& table) {
    EDO_ASSERT_OK(cache->AdvanceBatch(*table.handle));
    LookAndOffer(*cache, table, Range(0, 100));
  };
  step(one);
  step(other);
  TestTable wide = test::AddTestTable(*cache, RowCodec::kInt8, 40, 1000);  // takes a share
  step(one);
  step(other);
  EXPECT_GT(LookAndCheck(*cache, one, Range(0, 100)), 0u);
  cache->EndLookAhead(*one.handle);
  step(other);
  other.handle.reset();  // in the midst of its look-ahead
  LookAndOffer(*cache, one, Range(0, 100));
  EDO_EXPECT_OK(cache->BeginLookAhead(*one.handle));
  one.handle.reset();
  wide.handle.reset();
  EXPECT_EQ(cache.spy->allocated, 0u);
}

TEST(AheadOfManyTables, WithoutMemoryItIsRefusedOrDoneWithout) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kInt8, 8, 4)});
  TestTable table = test::AddTestTable(*cache, RowCodec::kInt8, 8, 1000);
  const uint64_t uses = cache->slots_of(*table.handle) * 4;
  cache.spy->refuse = [&](uint64_t bytes) { return bytes == uses; };
  EXPECT_EQ(cache->BeginLookAhead(*table.handle).code(), StatusCode::kNoSpace);
  EXPECT_EQ(cache->AdvanceBatch(*table.handle).code(), StatusCode::kInvalidArgument);
  cache.spy->refuse = nullptr;
  EDO_ASSERT_OK(cache->BeginLookAhead(*table.handle));
  // A class that is resized then, with no memory for next uses, works on by its scores.
  cache.spy->refuse = [&](uint64_t bytes) { return bytes % 128 == 0 && bytes < uses; };
  const TestTable wide = test::AddTestTable(*cache, RowCodec::kInt8, 60, 1000);
  ASSERT_NE(wide.handle, nullptr);
  cache.spy->refuse = nullptr;
  EDO_EXPECT_OK(cache->AppendBatch(*table.handle, Range(0, 100)));
  EDO_EXPECT_OK(cache->AdvanceBatch(*table.handle));
  LookAndOffer(*cache, table, Range(0, 100));
  cache->EndLookAhead(*table.handle);
}

}  // namespace
}  // namespace edo::gpucache
