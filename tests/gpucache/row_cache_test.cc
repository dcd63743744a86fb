// RowCache on the CPU backend against a simple model: a row that is found has the bits that its
// encoded bytes decode to by scalar formulas, or the sum of them in a plain loop; everything else
// is a miss. Compared to the bit, over all codecs and output types and dimensions from 1 to 4096.
#include "gpucache/row_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>

#include "kernels/score.h"
#include "tests/gpucache/cache_harness.h"

namespace edo::gpucache {
namespace {

using kernels::RowCodec;
using kernels::RowMark;
using test::AddTestTable;
using test::BlockBytes;
using test::HeldReader;
using test::Look;
using test::LookAndCheck;
using test::LookAndOffer;
using test::Offer;
using test::Range;
using test::TestCache;
using test::TestTable;

const std::vector<RowCodec> kCodecs = [] {
  std::vector<RowCodec> all;
  for (int i = 0; i < kernels::kRowCodecs; ++i) all.push_back(static_cast<RowCodec>(i));
  return all;
}();
// A rotation costs as many products as there are columns, a value.
bool IsSlow(RowCodec codec, uint32_t dim) { return codec == RowCodec::kRotatedPQ && dim > 300; }
constexpr FloatType kTypes[] = {FloatType::kF32, FloatType::kF16, FloatType::kBF16};

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

// ---- reading what was filled -------------------------------------------------------------------

TEST(RowCache, RowFilledIsFoundBitForBit) {
  for (const RowCodec codec : kCodecs) {
    for (const uint32_t dim : {1u, 3u, 31u, 33u, 100u, 128u, 300u, 4096u}) {
      if (IsSlow(codec, dim)) continue;
      TestCache cache({.bytes = BlockBytes(codec, dim, 8)});
      TestTable table = AddTestTable(*cache, codec, dim, 1000);
      table.values = test::Values::kAnyBits;
      const std::vector<uint64_t> rows = Range(0, 64);
      EXPECT_EQ(LookAndCheck(*cache, table, rows), 0u);
      Offer(*cache, table, rows);
      for (const FloatType type : kTypes) {
        const uint32_t found = LookAndCheck(*cache, table, rows, 0, type);
        EXPECT_EQ(found, cache->counters().fills);
        EXPECT_GE(found, 50u);
        if (HasFailure()) FAIL() << "codec " << static_cast<int>(codec) << " dim " << dim;
      }
      cache.CheckBlocks();
    }
  }
}

TEST(RowCache, RowsInCellsAreFoundBitForBit) {
  for (const RowCodec codec : kCodecs) {
    for (const uint32_t dim : {32u, 100u, 300u}) {
      for (const uint32_t cell_bytes : {16u, 32u, 48u, 64u}) {
        TestCache cache({.bytes = BlockBytes(codec, dim, 9)});
        const TestTable table = AddTestTable(*cache, codec, dim, 1000, cell_bytes);
        Offer(*cache, table, Range(0, 100));
        EXPECT_GE(LookAndCheck(*cache, table, Range(0, 1010)), 80u);
        cache.CheckBlocks();
      }
    }
  }
}

TEST(RowCache, CellsThatDoNotHoldWholeValuesAreRefused) {
  TestCache cache({.bytes = kMegabyte});
  for (const uint32_t cell_bytes : {1u, 8u, 24u}) {
    const auto table = cache->AddTable(kernels::MakeRowFormat(RowCodec::kF32, 64), 10, cell_bytes);
    ASSERT_FALSE(table.ok()) << cell_bytes;
    EXPECT_EQ(table.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(table.status().message().find(std::to_string(cell_bytes)), std::string::npos);
  }
}

TEST(RowCache, EmptyBatchOneIdAndDuplicatesAreOrdinary) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 4)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 100);
  EXPECT_EQ(LookAndCheck(*cache, table, {}), 0u);
  Offer(*cache, table, {});
  EXPECT_EQ(LookAndCheck(*cache, table, {7}), 0u);
  Offer(*cache, table, {7, 7, 7});
  EXPECT_EQ(cache->counters().fills, 1u);
  EXPECT_EQ(LookAndCheck(*cache, table, {7}), 1u);
  EXPECT_EQ(LookAndCheck(*cache, table, {7, 8, 7, 8, 8, 7, 100, 7}), 4u);
  EXPECT_EQ(LookAndCheck(*cache, table, std::vector<uint64_t>(4096, 7)), 4096u);
  EXPECT_EQ(LookAndCheck(*cache, table, std::vector<uint64_t>(4096, 8)), 0u);
  Offer(*cache, table, std::vector<uint64_t>(4096, 8));
  EXPECT_EQ(LookAndCheck(*cache, table, std::vector<uint64_t>(4096, 8)), 4096u);
  cache.CheckBlocks();
}

TEST(RowCache, RowBeyondTheTableIsAbsentAndNeverFilled) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kInt8, 8, 4)});
  const TestTable table = AddTestTable(*cache, RowCodec::kInt8, 8, 10);
  const TestTable next = AddTestTable(*cache, RowCodec::kInt8, 8, 1000);
  Offer(*cache, table, {9, 10, 11, 64, ~uint64_t{0}});
  EXPECT_EQ(cache->counters().fills, 1u);
  EXPECT_EQ(LookAndCheck(*cache, table, {9, 10, 11, 64, ~uint64_t{0}}), 1u);
  EXPECT_EQ(LookAndCheck(*cache, next, Range(0, 1000)), 0u);
  const TestTable empty = AddTestTable(*cache, RowCodec::kInt8, 8, 0);
  Offer(*cache, empty, {0});
  EXPECT_EQ(LookAndCheck(*cache, empty, {0, 1}), 0u);
}

TEST(RowCache, TableOfATrillionRowsKeepsItsLastRowApart) {
  constexpr uint64_t kRows = uint64_t{1} << 40;
  TestCache cache({.bytes = BlockBytes(RowCodec::kF16, 8, 64)});
  std::vector<TestTable> tables;
  for (int i = 0; i < 32; ++i) {
    tables.push_back(AddTestTable(*cache, RowCodec::kF16, 8, kRows));
    ASSERT_FALSE(HasFailure());
  }
  const auto beyond = cache->AddTable(tables[0].format, kRows);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.status().code(), StatusCode::kNoSpace);
  const std::vector<uint64_t> rows{0, 1, kRows / 2, kRows - 2, kRows - 1, kRows};
  for (uint64_t i = 0; i < tables.size(); ++i) Offer(*cache, tables[i], rows, i);
  for (uint64_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(LookAndCheck(*cache, tables[i], rows, i), 5u) << "table " << i;
  }
  cache.CheckBlocks();
}

TEST(RowCache, TableOfMoreRowsThanThereArePositionsIsRefused) {
  TestCache cache({.bytes = kMegabyte});
  const kernels::RowFormat format = kernels::MakeRowFormat(RowCodec::kF16, 8);
  for (const uint64_t rows : {~uint64_t{0}, ~uint64_t{0} - 62, uint64_t{1} << 46}) {
    const auto table = cache->AddTable(format, rows);
    ASSERT_FALSE(table.ok()) << rows;
    EXPECT_EQ(table.status().code(), StatusCode::kNoSpace);
  }
  const TestTable table = AddTestTable(*cache, RowCodec::kF16, 8, 100);
  Offer(*cache, table, Range(0, 10));
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 100)), 10u);
}

TEST(RowCache, CountersAddUpToTheRowsAskedFor) {
  std::mt19937_64 random(test::Seed(11));
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 10)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 1000);
  uint64_t hits = 0;
  uint64_t misses = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<uint64_t> rows(random() % 200);
    for (uint64_t& row : rows) row = random() % (random() % 2 == 0 ? 100 : 1100);
    const uint32_t found = LookAndOffer(*cache, table, rows);
    hits += found;
    for (const uint64_t row : rows) misses += row < table.rows;
    misses -= found;
  }
  EXPECT_EQ(cache->counters().hits, hits);
  EXPECT_EQ(cache->counters().misses, misses);
  EXPECT_GT(hits, 0u);
  const RowCacheCounters counters = cache->counters();
  uint64_t resident = 0;
  for (const auto& view : cache.spy->views()) resident += test::ResidentRows(view).size();
  EXPECT_EQ(resident, counters.fills - counters.evictions);
  cache.CheckBlocks();
}

// ---- bags --------------------------------------------------------------------------------------

struct Pooled {
  std::vector<float> out;
  std::vector<uint32_t> incomplete;
  kernels::QueryCounts counts;
};
Pooled PoolBags(RowCache& cache, const TestTable& table, const std::vector<uint64_t>& rows,
                const std::vector<uint64_t>& offsets, kernels::PoolMode mode,
                const std::vector<float>& weights) {
  const auto bags = static_cast<uint32_t>(offsets.size() - 1);
  Pooled pooled;
  pooled.out.assign(size_t{bags} * table.format.dim, 1234.5f);
  pooled.incomplete.resize(bags);
  PoolQuery query;
  query.rows = rows.data();
  query.count = static_cast<uint32_t>(rows.size());
  query.bags = {offsets.data(), bags, weights.empty() ? nullptr : weights.data(), mode};
  query.out = {pooled.out.data(), FloatType::kF32, table.format.dim};
  query.incomplete = pooled.incomplete.data();
  query.counts = &pooled.counts;
  EDO_EXPECT_OK(cache.Pool(*table.handle, query));
  pooled.incomplete.resize(pooled.counts.bags);
  return pooled;
}

// The sum of one bag in a plain loop.
std::vector<float> BagOf(const TestTable& table, std::span<const uint64_t> rows,
                         kernels::PoolMode mode, const float* weights, uint64_t version = 0) {
  std::vector<float> sum(table.format.dim, 0.0f);
  uint64_t present = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= table.rows) continue;
    ++present;
    const std::vector<std::byte> row = table.Encoded(rows[i], version);
    const std::vector<float> values = test::RowValues(table.format, row.data());
    for (uint32_t c = 0; c < table.format.dim; ++c) {
      const float value = values[c];
      const float term = weights != nullptr ? weights[i] * value : value;
      sum[c] = sum[c] + term;
    }
  }
  if (mode == kernels::PoolMode::kMean && present > 0) {
    for (float& value : sum) value = value / static_cast<float>(present);
  }
  return sum;
}

TEST(RowCache, BagsAreTheSumsOfAPlainLoopBitForBit) {
  std::mt19937_64 random(test::Seed(12));
  for (const RowCodec codec : kCodecs) {
    for (const uint32_t dim : {1u, 33u, 128u, 1025u, 4096u}) {
      if (IsSlow(codec, dim)) continue;
      TestCache cache({.bytes = BlockBytes(codec, dim, 8)});
      const TestTable table = AddTestTable(*cache, codec, dim, 120);
      Offer(*cache, table, Range(0, 90));
      std::set<uint64_t> resident;
      const test::Looked looked = Look(*cache, table, Range(0, 120));
      for (uint64_t row = 0; row < 120; ++row) {
        if (looked.found(row)) resident.insert(row);
      }
      ASSERT_GT(resident.size(), 70u);
      for (int call = 0; call < 6; ++call) {
        std::vector<uint64_t> rows;
        std::vector<uint64_t> offsets{0};
        for (int bag = 0; bag < 12; ++bag) {
          const uint64_t size = bag == 5 ? 200 : random() % 4 == 0 ? 0 : random() % 20;
          // Most bags hold rows that are resident only; ids beyond the table are absent.
          const bool any = random() % 3 == 0;
          while (rows.size() < offsets.back() + size) {
            const uint64_t row = random() % 130;
            if (any || row >= 120 || resident.count(row) > 0) rows.push_back(row);
          }
          offsets.push_back(rows.size());
        }
        const bool weighted = call % 3 == 0;
        std::vector<float> weights;
        for (size_t i = 0; weighted && i < rows.size(); ++i) {
          weights.push_back(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512.0f);
        }
        const auto mode = call % 3 == 1 ? kernels::PoolMode::kMean : kernels::PoolMode::kSum;
        const RowCacheCounters before = cache->counters();
        const Pooled pooled = PoolBags(*cache, table, rows, offsets, mode, weights);
        std::vector<uint32_t> incomplete;
        uint64_t hits = 0;
        uint64_t absent = 0;
        uint64_t missed = 0;
        for (uint32_t bag = 0; bag + 1 < offsets.size(); ++bag) {
          const auto ids = std::span<const uint64_t>(rows).subspan(offsets[bag],
                                                                   offsets[bag + 1] - offsets[bag]);
          bool whole = true;
          uint64_t present = 0;
          for (const uint64_t row : ids) {
            present += row < table.rows;
            whole &= row >= table.rows || resident.count(row) > 0;
          }
          absent += ids.size() - present;
          std::vector<float> expected(dim, 1234.5f);
          if (whole) {
            hits += present;
            expected = BagOf(table, ids, mode, weighted ? weights.data() + offsets[bag] : nullptr);
          } else {
            missed += present;
            incomplete.push_back(bag);
          }
          ASSERT_EQ(std::memcmp(expected.data(), pooled.out.data() + size_t{bag} * dim, dim * 4), 0)
              << "bag " << bag << " of " << ids.size() << " ids, whole " << whole << ", codec "
              << static_cast<int>(codec) << " dim " << dim;
        }
        EXPECT_EQ(pooled.incomplete, incomplete);
        EXPECT_EQ(pooled.counts.misses, missed);
        EXPECT_EQ(pooled.counts.absent, absent);
        EXPECT_EQ(cache->counters().hits, before.hits + hits);
        EXPECT_EQ(cache->counters().misses, before.misses);
      }
    }
  }
}

TEST(RowCache, BagsOfThousandsOfIdsOfLongRowsAreSummed) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kInt8, 1100, 8)});
  const TestTable table = AddTestTable(*cache, RowCodec::kInt8, 1100, 100);
  Offer(*cache, table, Range(0, 50));
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < 5000; ++i) rows.push_back(i % 7 == 0 ? 100 + i : i % 50);
  for (const uint64_t ids : {uint64_t{4095}, uint64_t{4096}, uint64_t{4097}, uint64_t{5000}}) {
    rows.resize(ids);
    const Pooled pooled = PoolBags(*cache, table, rows, {0, ids}, kernels::PoolMode::kMean, {});
    EXPECT_EQ(pooled.incomplete.size(), 0u);
    EXPECT_EQ(pooled.out, BagOf(table, rows, kernels::PoolMode::kMean, nullptr)) << ids;
    rows.resize(5000, 3);
  }
}

// Rows longer than what is summed at once: the bag's rows may lose their tags between two pieces
// of it, and must be summed all the same or the bag be given up.
TEST(RowCache, BagOfLongRowsIsWholeBesideFillsAndInvalidations) {
  constexpr uint32_t kDim = 4096;
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, kDim, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, kDim, 100);
  const std::vector<uint64_t> rows{0, 1, 2, 3, 0, 1, 2, 3};
  const std::vector<float> expected = BagOf(table, rows, kernels::PoolMode::kSum, nullptr);
  Offer(*cache, table, Range(0, 32));
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    const std::vector<uint64_t> two{1, 3};
    while (!stop) {
      EDO_EXPECT_OK(cache->Invalidate(*table.handle, two));
      Offer(*cache, table, two);
      EDO_EXPECT_OK(cache->Flush());
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // whole for a moment
    }
  });
  uint64_t whole = 0;
  // Longer on a machine so busy that no bag was whole when it was looked at.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while ((std::chrono::steady_clock::now() < end || whole == 0) && !HasFailure()) {
    const Pooled pooled =
        PoolBags(*cache, table, rows, {0, rows.size()}, kernels::PoolMode::kSum, {});
    if (!pooled.incomplete.empty()) continue;
    ++whole;
    EXPECT_TRUE(pooled.out == expected) << "bag " << whole << " has a wrong sum";
  }
  stop = true;
  changes.join();
}

// ---- one block ---------------------------------------------------------------------------------

TEST(RowCache, MoreRowsThanABlockHasSlotsFillItAndNoMore) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 1000);
  EXPECT_EQ(cache->slots_of(*table.handle), 32u);
  Offer(*cache, table, Range(0, 100));
  EXPECT_EQ(cache->counters().fills, 32u);
  EXPECT_EQ(cache->counters().rejected, 68u);
  EXPECT_EQ(cache->counters().evictions, 0u);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 100)), 32u);
  for (uint64_t first = 100; first < 900; first += 100) {
    Offer(*cache, table, Range(first, first + 100));
    EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 1000)), 32u);
    cache.CheckBlocks();
  }
}

TEST(RowCache, RowAskedForOnceDoesNotDisplaceRowsAskedForOften) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 1000);
  Offer(*cache, table, Range(0, 32));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 32u);
  for (uint64_t row = 100; row < 110; ++row) Offer(*cache, table, {row});
  EXPECT_EQ(cache->counters().rejected, 10u);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 32u);
}

TEST(RowCache, RowAskedForOftenGetsIn) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 1000);
  Offer(*cache, table, Range(0, 32));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 32u);
  int offers = 0;
  while (LookAndOffer(*cache, table, {500}) == 0 && offers < 100) ++offers;
  EXPECT_LE(offers, 12);
  EXPECT_EQ(cache->counters().evictions, 1u);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 31u);
}

TEST(RowCache, PinnedRowsStayWhileOthersGo) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kInt8, 4, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kInt8, 4, 100000);
  Offer(*cache, table, Range(0, 32));
  std::vector<uint8_t> pinned;
  const std::vector<uint64_t> rows{3, 9, 27, 500};  // 500 is not resident
  EDO_EXPECT_OK(cache->Pin(*table.handle, rows, &pinned));
  EXPECT_EQ(pinned, (std::vector<uint8_t>{1, 1, 1, 0}));
  // Forty rows asked for so often that none is worth more.
  const auto press = [&](uint64_t first) {
    std::vector<uint64_t> often;
    for (uint64_t row = first; row < first + 40; ++row) often.insert(often.end(), 15, row);
    Offer(*cache, table, often);
  };
  for (uint64_t first = 1000; first < 9000; first += 50) press(first);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 3u);
  // All slots pinned: nothing gets in.
  const std::vector<uint64_t> all = Range(0, table.rows);
  EDO_EXPECT_OK(cache->Pin(*table.handle, all, &pinned));
  EXPECT_EQ(std::count(pinned.begin(), pinned.end(), 1), 32);
  const uint64_t fills = cache->counters().fills;
  press(50000);
  EXPECT_EQ(cache->counters().fills, fills);
  EDO_EXPECT_OK(cache->Unpin(*table.handle, all));
  // 3, 9 and 27 were pinned twice and unpinned once.
  press(60000);
  EXPECT_EQ(LookAndCheck(*cache, table, {3, 9, 27}), 3u);
  EDO_EXPECT_OK(cache->Unpin(*table.handle, std::vector<uint64_t>{3, 9, 27}));
  press(70000);
  EXPECT_EQ(LookAndCheck(*cache, table, {3, 9, 27}), 0u);
  EDO_EXPECT_OK(cache->Unpin(*table.handle, std::vector<uint64_t>{3, 9, 27}));  // no harm
  cache.CheckBlocks();
}

TEST(RowCache, RowTakes255PinsAndNeedsAsManyUnpins) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 100000);
  Offer(*cache, table, Range(0, 32));
  const std::vector<uint64_t> rows{5};
  std::vector<uint8_t> pinned;
  for (int i = 0; i < 255; ++i) {
    EDO_EXPECT_OK(cache->Pin(*table.handle, rows, &pinned));
    ASSERT_EQ(pinned[0], 1);
  }
  EDO_EXPECT_OK(cache->Pin(*table.handle, rows, &pinned));
  EXPECT_EQ(pinned[0], 0);
  const auto press = [&] {
    for (uint64_t first = 1000; first < 5000; first += 50) {
      Offer(*cache, table, Range(first, first + 50));
    }
  };
  for (int i = 0; i < 254; ++i) EDO_EXPECT_OK(cache->Unpin(*table.handle, rows));
  press();
  EXPECT_EQ(LookAndCheck(*cache, table, rows), 1u);
  EDO_EXPECT_OK(cache->Unpin(*table.handle, rows));
  press();
  EXPECT_EQ(LookAndCheck(*cache, table, rows), 0u);
}

TEST(RowCache, PinNamesTheRowBeyondTheTable) {
  TestCache cache({.bytes = kMegabyte});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 10);
  std::vector<uint8_t> pinned;
  const Status s = cache->Pin(*table.handle, std::vector<uint64_t>{10}, &pinned);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("row 10 of a table of 10 rows"), std::string::npos) << s.ToString();
}

// ---- popularity --------------------------------------------------------------------------------

TEST(RowCache, ScanOfABigTableLeavesTheHotRowsResident) {
  std::mt19937_64 random(test::Seed(13));
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 64)});  // 2048 slots
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 1000000);
  uint64_t scanned = 10000;
  uint64_t asked = 0;
  uint64_t found = 0;
  for (int batch = 0; batch < 4000; ++batch) {
    std::vector<uint64_t> hot(32);
    for (uint64_t& row : hot) row = random() % 1000;
    const uint32_t hits = LookAndOffer(*cache, table, hot);
    if (batch >= 1000) {
      asked += hot.size();
      found += hits;
    }
    LookAndOffer(*cache, table, Range(scanned, scanned + 64));
    scanned += 64;
  }
  EXPECT_GT(found, asked * 9 / 10)
      << 100.0 * static_cast<double>(found) / static_cast<double>(asked);
  cache.CheckBlocks();
}

TEST(RowCache, RowsHotYesterdayGiveWay) {
  std::mt19937_64 random(test::Seed(14));
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 8)});  // 256 slots
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 1000000);
  const auto ask = [&](uint64_t first, int batches) {
    uint64_t found = 0;
    for (int batch = 0; batch < batches; ++batch) {
      std::vector<uint64_t> rows(64);
      for (uint64_t& row : rows) row = first + random() % 180;
      found += LookAndOffer(*cache, table, rows);
    }
    return found;
  };
  ask(0, 2000);
  EXPECT_GT(ask(0, 100), 6000u);
  ask(5000, 1280);  // ten steps of the clock
  EXPECT_GT(ask(5000, 100), 6000u);
  EXPECT_LT(LookAndCheck(*cache, table, Range(0, 180)), 80u);
}

// ---- the budget --------------------------------------------------------------------------------

TEST(RowCache, BudgetTooSmallForABlockNamesBothNumbers) {
  const uint64_t block = BlockBytes(RowCodec::kF32, 4096, 1);
  TestCache cache({.bytes = block - 1});
  const auto table = cache->AddTable(kernels::MakeRowFormat(RowCodec::kF32, 4096), 10);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(table.status().message().find(std::to_string(block - 1)), std::string::npos);
  EXPECT_NE(table.status().message().find(std::to_string(block)), std::string::npos);
  const auto none = RowCache::Make(kernels::MakeCpuBackend(), {.bytes = 0});
  EXPECT_EQ(none.status().code(), StatusCode::kInvalidArgument);
  const auto groups = RowCache::Make(kernels::MakeCpuBackend(), {.bytes = 100, .group_shift = 4});
  EXPECT_EQ(groups.status().code(), StatusCode::kInvalidArgument);
}

TEST(RowCache, BudgetIsNeverExceededWhateverTablesCome) {
  std::mt19937_64 random(test::Seed(15));
  TestCache cache({.bytes = 300000});
  std::vector<TestTable> tables;
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto format =
        kernels::MakeRowFormat(kCodecs[random() % 4], 1 + static_cast<uint32_t>(random() % 600));
    const uint64_t rows = random() % 3 == 0 ? random() % 100000 : random() % 100;
    auto handle = cache->AddTable(format, rows);
    if (handle.ok()) {
      tables.push_back({format, rows, *handle});
      Offer(*cache, tables.back(), Range(0, std::min<uint64_t>(rows, 40)));
    } else {
      ++refused;
      EXPECT_TRUE(handle.status().code() == StatusCode::kNoSpace ||
                  handle.status().code() == StatusCode::kInvalidArgument)
          << handle.status().ToString();
    }
    if (!tables.empty() && random() % 3 == 0) {
      std::swap(tables[random() % tables.size()], tables.back());
      tables.pop_back();
    }
    ASSERT_LE(cache->counters().bytes, 300000u);
    ASSERT_EQ(cache->counters().bytes, cache.spy->allocated);
    for (const TestTable& table : tables) ASSERT_GE(cache->slots_of(*table.handle), 32u);
    if (!tables.empty()) {
      LookAndCheck(*cache, tables[random() % tables.size()], Range(0, 50));
    }
    if (HasFailure()) return;
  }
  EXPECT_LE(cache.spy->most_allocated, 300000u);
  EXPECT_GT(refused, 0);
  cache.CheckBlocks();
  tables.clear();
  EXPECT_EQ(cache->counters().bytes, 0u);
  EXPECT_EQ(cache.spy->allocated, 0u);
}

TEST(RowCache, ThousandSmallTablesOfOneShapeKeepTheirRows) {
  TestCache cache({.bytes = kMegabyte * 4});
  std::vector<TestTable> tables;
  uint64_t resizes = 0;
  uint64_t slots = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    tables.push_back(AddTestTable(*cache, RowCodec::kF16, 8, 20));
    if (cache->slots_of(*tables.back().handle) != slots) ++resizes;
    slots = cache->slots_of(*tables.back().handle);
  }
  EXPECT_LE(resizes, 12u);
  for (uint64_t i = 0; i < 1000; ++i) Offer(*cache, tables[i], Range(0, 20), i);
  uint64_t found = 0;
  for (uint64_t i = 0; i < 1000; ++i) found += LookAndCheck(*cache, tables[i], Range(0, 20), i);
  EXPECT_GT(found, 19000u);
  cache.CheckBlocks();
}

TEST(RowCache, TableWithoutRoomBesideOthersIsRefusedAndTheyStay) {
  const uint64_t block_a = BlockBytes(RowCodec::kF32, 16, 1);
  const uint64_t block_b = BlockBytes(RowCodec::kF32, 64, 1);
  TestCache cache({.bytes = block_a + block_b});
  const TestTable a = AddTestTable(*cache, RowCodec::kF32, 16, 1000);
  const TestTable b = AddTestTable(*cache, RowCodec::kF32, 64, 1000);
  const auto c = cache->AddTable(kernels::MakeRowFormat(RowCodec::kF32, 32), 1000);
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.status().code(), StatusCode::kNoSpace);
  EXPECT_NE(c.status().message().find(std::to_string(block_a + block_b)), std::string::npos);
  EXPECT_EQ(cache->slots_of(*a.handle), 32u);
  EXPECT_EQ(cache->slots_of(*b.handle), 32u);
  Offer(*cache, a, Range(0, 10));
  Offer(*cache, b, Range(0, 10));
  EXPECT_EQ(LookAndCheck(*cache, a, Range(0, 10)), 10u);
  EXPECT_EQ(LookAndCheck(*cache, b, Range(0, 10)), 10u);
}

TEST(RowCache, ShapeThatComesBackDoesNotTakeTheRoomOfThoseThatStayed) {
  const uint64_t block_a = BlockBytes(RowCodec::kF32, 16, 1);
  const uint64_t block_b = BlockBytes(RowCodec::kF32, 64, 1);
  const uint64_t block_c = BlockBytes(RowCodec::kF32, 128, 1);
  TestCache cache({.bytes = block_b + block_c});
  AddTestTable(*cache, RowCodec::kF32, 16, 1000);  // and gone again
  const TestTable b = AddTestTable(*cache, RowCodec::kF32, 64, 1000);
  const TestTable c = AddTestTable(*cache, RowCodec::kF32, 128, 1000);
  ASSERT_LT(block_a, block_b);
  const auto again = cache->AddTable(kernels::MakeRowFormat(RowCodec::kF32, 16), 1000);
  EXPECT_EQ(again.status().code(), StatusCode::kNoSpace);
  EXPECT_EQ(cache->slots_of(*b.handle), 32u);
  EXPECT_EQ(cache->slots_of(*c.handle), 32u);
}

TEST(RowCache, MemoryRefusedForATableLeavesNothingBehind) {
  const uint64_t bytes = BlockBytes(RowCodec::kF32, 16, 100);
  for (int refuse_at = 0; refuse_at < 3; ++refuse_at) {
    TestCache cache({.bytes = bytes});
    int allocations = 0;
    cache.spy->refuse = [&](uint64_t) { return allocations++ == refuse_at; };
    const auto table = cache->AddTable(kernels::MakeRowFormat(RowCodec::kF32, 16), 1000);
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.status().code(), StatusCode::kNoSpace);
    EXPECT_EQ(cache.spy->allocated, 0u);
    EXPECT_EQ(cache->counters().bytes, 0u);
    const TestTable next = AddTestTable(*cache, RowCodec::kF32, 16, 1000);
    Offer(*cache, next, Range(0, 100));
    EXPECT_GE(LookAndCheck(*cache, next, Range(0, 100)), 80u);
    EXPECT_EQ(cache.spy->last_first_position, 0u);  // the refused table's positions came back
  }
}

TEST(RowCache, MemoryRefusedToAnotherShapeLeavesItWhatItHadAndTheTableItsPlace) {
  const uint64_t bytes = BlockBytes(RowCodec::kF32, 16, 1000);
  TestCache cache({.bytes = bytes});
  std::optional<TestTable> a = AddTestTable(*cache, RowCodec::kF32, 16, 1000000);
  const TestTable b = AddTestTable(*cache, RowCodec::kF32, 64, 1000000);
  const uint64_t had = cache->slots_of(*b.handle);
  a.reset();
  // The next table of a's shape is small, so that b's shape may grow beside it; it does not get
  // the memory for it.
  const uint64_t payload = kernels::ShapeOf(b.format).payload_bytes();
  cache.spy->refuse = [&](uint64_t n) { return n > had / 32 * payload; };
  const TestTable small = AddTestTable(*cache, RowCodec::kF32, 16, 100);
  ASSERT_NE(small.handle, nullptr);
  EXPECT_EQ(cache->slots_of(*b.handle), had);
  EXPECT_LE(cache->counters().bytes, bytes);
  EXPECT_EQ(cache->counters().bytes, cache.spy->allocated);
  Offer(*cache, b, Range(0, 10));
  Offer(*cache, small, Range(0, 10));
  EXPECT_EQ(LookAndCheck(*cache, b, Range(0, 10)), 10u);
  EXPECT_EQ(LookAndCheck(*cache, small, Range(0, 10)), 10u);
}

// ---- tables come and go ------------------------------------------------------------------------

TEST(RowCache, TableAtThePositionsOfAnEarlierOneNeverServesItsRows) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kInt8, 16, 20)});
  const TestTable stays = AddTestTable(*cache, RowCodec::kInt8, 16, 100);
  AddTestTable(*cache, RowCodec::kInt8, 16, 200);  // the class has its size from here on
  Offer(*cache, stays, Range(0, 50), 77);
  const uint32_t resident = LookAndCheck(*cache, stays, Range(0, 50), 77);
  std::optional<uint64_t> position;
  for (uint64_t generation = 0; generation < 20; ++generation) {
    const TestTable table = AddTestTable(*cache, RowCodec::kInt8, 16, 200);
    ASSERT_EQ(LookAndCheck(*cache, table, Range(0, 200), generation), 0u);
    if (!position) position = cache.spy->last_first_position;
    ASSERT_EQ(cache.spy->last_first_position, *position);
    Offer(*cache, table, Range(0, 200), generation);
    ASSERT_GT(LookAndCheck(*cache, table, Range(0, 200), generation), 100u);
  }
  EXPECT_EQ(LookAndCheck(*cache, stays, Range(0, 50), 77), resident);
  cache.CheckBlocks();
}

TEST(RowCache, HandleDroppedWhileItsFillWaitsLeavesNoRowBehind) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 20)});
  const TestTable stays = AddTestTable(*cache, RowCodec::kF32, 8, 100);
  for (int i = 0; i < 10; ++i) {
    std::optional<TestTable> goes = AddTestTable(*cache, RowCodec::kF32, 8, 100);
    HeldReader reader(*cache, stays, {1});
    Offer(*cache, *goes, Range(0, 100), 1);
    EXPECT_GT(cache->counters().deferred, 0u);
    std::thread drops([&] { goes.reset(); });
    reader.Leave();
    drops.join();
    const TestTable next = AddTestTable(*cache, RowCodec::kF32, 8, 100);
    ASSERT_EQ(LookAndCheck(*cache, next, Range(0, 100)), 0u);
    cache.CheckBlocks();
  }
}

TEST(RowCache, LastTableOfAShapeDroppedWhileAFillWaitsFreesItsMemory) {
  TestCache cache({.bytes = kMegabyte});
  const TestTable stays = AddTestTable(*cache, RowCodec::kF32, 8, 100);
  std::optional<TestTable> goes = AddTestTable(*cache, RowCodec::kF32, 100, 100);
  HeldReader reader(*cache, stays, {1});
  Offer(*cache, *goes, Range(0, 100));
  std::thread drops([&] { goes.reset(); });
  reader.Leave();
  drops.join();
  EXPECT_EQ(cache->counters().bytes,
            cache->slots_of(*stays.handle) / 32 * BlockBytes(RowCodec::kF32, 8, 1));
}

TEST(RowCache, ReaderKeepsItsBlocksWhileTheClassIsResized) {
  TestCache cache({.bytes = kMegabyte * 16});
  TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 100);
  Offer(*cache, table, Range(0, 100));
  const uint32_t resident = LookAndCheck(*cache, table, Range(0, 100));
  HeldReader reader(*cache, table, Range(0, 100));
  std::atomic<bool> added{false};
  std::optional<TestTable> big;
  std::thread adds([&] {
    big = AddTestTable(*cache, RowCodec::kF32, 8, 100000);
    added = true;
  });
  // The blocks that the reader was given are not freed under it.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(added);
  const test::Looked& looked = reader.Leave();
  adds.join();
  uint32_t found = 0;
  for (size_t i = 0; i < 100; ++i) found += looked.found(i);
  EXPECT_EQ(found, resident);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 100)), 0u);  // a resized class starts empty
}

// ---- invalidation ------------------------------------------------------------------------------

TEST(RowCache, InvalidatedRowIsMissedAndCanComeBackNew) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kBF16, 40, 10)});
  const TestTable table = AddTestTable(*cache, RowCodec::kBF16, 40, 200);
  for (uint64_t version = 0; version < 30; ++version) {
    Offer(*cache, table, Range(0, 100), version);
    const test::Looked looked = Look(*cache, table, Range(0, 200));
    ASSERT_GT(LookAndCheck(*cache, table, Range(0, 200), version), 80u);
    EDO_EXPECT_OK(cache->Invalidate(*table.handle, Range(0, 200)));
    ASSERT_EQ(LookAndCheck(*cache, table, Range(0, 200), version), 0u);
  }
  EDO_EXPECT_OK(cache->Invalidate(*table.handle, std::vector<uint64_t>{}));
  EXPECT_EQ(cache->Invalidate(*table.handle, std::vector<uint64_t>{200}).code(),
            StatusCode::kInvalidArgument);
  cache.CheckBlocks();
}

TEST(RowCache, InvalidationDropsPins) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 4, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 4, 10000);
  Offer(*cache, table, Range(0, 32));
  std::vector<uint8_t> pinned;
  EDO_EXPECT_OK(cache->Pin(*table.handle, Range(0, 32), &pinned));
  EDO_EXPECT_OK(cache->Invalidate(*table.handle, Range(0, 32)));
  Offer(*cache, table, Range(100, 132), 1);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(100, 132), 1), 32u);
  cache.CheckBlocks();
}

TEST(RowCache, InvalidationBesideAWaitingFillForgetsItsRowsToo) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 10)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 100);
  HeldReader reader(*cache, table, {1});
  Offer(*cache, table, Range(0, 50));
  EXPECT_GT(cache->counters().deferred, 0u);
  std::thread invalidates([&] { EDO_EXPECT_OK(cache->Invalidate(*table.handle, Range(0, 25))); });
  reader.Leave();
  invalidates.join();
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 25)), 0u);
  EXPECT_GT(LookAndCheck(*cache, table, Range(25, 50)), 20u);
  cache.CheckBlocks();
}

// ---- fills that wait ---------------------------------------------------------------------------

TEST(RowCache, FillThatWouldOverwriteWhatAReaderSeesIsLaidAside) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 1000);
  Offer(*cache, table, Range(0, 32));
  ASSERT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 32u);
  const kernels::BlockView view = cache.spy->views().at(0);
  const std::vector<test::ResidentRow> before = test::ResidentRows(view);
  HeldReader late(*cache, table, Range(0, 32));  // will look after the choice
  HeldReader early(*cache, table, Range(0, 32), HeldReader::kAfterLooking);
  // Often enough to be worth more than the rows there.
  const RowCacheCounters counters = cache->counters();
  std::vector<uint64_t> rows;
  for (uint64_t row = 100; row < 110; ++row) rows.insert(rows.end(), 8, row);
  Offer(*cache, table, rows, 1);
  EXPECT_EQ(cache->counters().deferred, counters.deferred + 10);
  EXPECT_EQ(cache->counters().evictions, counters.evictions + 10);
  // The rows are not visible, the victims neither, and their bytes are all there still.
  EXPECT_EQ(LookAndCheck(*cache, table, Range(100, 110), 1), 0u);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 32)), 22u);
  test::CheckUnchanged(before, view);
  // One of two readers gone: still not.
  const test::Looked& first = early.Leave();
  EXPECT_EQ(first.counts.misses, 0u);
  Offer(*cache, table, {});
  EXPECT_EQ(LookAndCheck(*cache, table, Range(100, 110), 1), 0u);
  test::CheckUnchanged(before, view);
  // Both: the next fill completes it, and nobody had to call for it.
  const test::Looked& second = late.Leave();
  EXPECT_EQ(second.counts.misses, 10u);
  for (size_t i = 0; i < 32; ++i) {
    if (!second.found(i)) continue;
    EXPECT_EQ(std::memcmp(second.out.data() + i * 32, table.Encoded(i).data(), 32), 0);
  }
  Offer(*cache, table, {});
  EXPECT_EQ(LookAndCheck(*cache, table, Range(100, 110), 1), 10u);
  cache.CheckBlocks();
}

TEST(RowCache, RowOfferedAgainWhileItWaitsIsFilledOnce) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 4)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 100);
  HeldReader reader(*cache, table, {1});
  Offer(*cache, table, {5, 6, 7});
  Offer(*cache, table, {6, 8});
  Offer(*cache, table, {5, 6, 7, 8});
  EXPECT_EQ(cache->counters().fills, 4u);
  reader.Leave();
  cache.CheckBlocks();  // I3: no row twice
  EXPECT_EQ(LookAndCheck(*cache, table, {5, 6, 7, 8}), 4u);
  EDO_EXPECT_OK(cache->Invalidate(*table.handle, std::vector<uint64_t>{5, 6, 7, 8}));
  EXPECT_EQ(LookAndCheck(*cache, table, {5, 6, 7, 8}), 0u);
}

TEST(RowCache, RowThatOneWaitingFillRejectedAndALaterOneTookIsFilledOnce) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 1000);
  Offer(*cache, table, Range(0, 32));
  for (int i = 0; i < 8; ++i) Look(*cache, table, Range(0, 32));
  const auto often = [](uint64_t row) { return std::vector<uint64_t>(15, row); };
  HeldReader first(*cache, table, {1});
  std::vector<uint64_t> rows = often(100);
  rows.push_back(200);
  Offer(*cache, table, rows);
  ASSERT_EQ(cache->counters().deferred, 1u);  // 100; 200 was rejected
  HeldReader second(*cache, table, {1});
  Offer(*cache, table, often(200));
  ASSERT_EQ(cache->counters().deferred, 2u);
  first.Leave();
  Offer(*cache, table, often(200));  // completes the first fill
  EXPECT_EQ(LookAndCheck(*cache, table, {100}), 1u);
  EXPECT_EQ(cache->counters().deferred, 2u);
  second.Leave();
  cache.CheckBlocks();
  EXPECT_EQ(LookAndCheck(*cache, table, {200}), 1u);
}

TEST(RowCache, TooManyRowsAsideMakeFillsSkipped) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 40), .pending_bytes = 32 * 10});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 1000);
  HeldReader reader(*cache, table, {1});
  Offer(*cache, table, Range(0, 20));  // one fill may always lie aside
  EXPECT_EQ(cache->counters().deferred, 20u);
  Offer(*cache, table, Range(20, 23));
  EXPECT_EQ(cache->counters().deferred, 20u);
  EXPECT_EQ(cache->counters().skipped, 3u);
  reader.Leave();
  Offer(*cache, table, Range(20, 23));
  EXPECT_EQ(cache->counters().skipped, 3u);
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 23)), 23u);
}

TEST(RowCache, FlushCompletesWhatWaits) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 40)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 1000);
  HeldReader reader(*cache, table, {1});
  for (uint64_t row = 0; row < 50; row += 10) Offer(*cache, table, Range(row, row + 10));
  EXPECT_EQ(cache->counters().deferred, 50u);
  std::atomic<bool> flushed{false};
  std::thread flushes([&] {
    EDO_EXPECT_OK(cache->Flush());
    flushed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(flushed);
  // A fill that meets another one, or a flush, gives up at once.
  Offer(*cache, table, {900});
  EXPECT_EQ(cache->counters().skipped, 1u);
  reader.Leave();
  flushes.join();
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 50)), 50u);
  cache.CheckBlocks();
}

TEST(RowCache, WaitingFillsAreCompletedBeforeTheCacheGoes) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 40)});
  {
    std::optional<TestTable> table = AddTestTable(*cache, RowCodec::kF32, 8, 1000);
    HeldReader reader(*cache, *table, {1});
    Offer(*cache, *table, Range(0, 10));
    reader.Leave();
  }
  const std::shared_ptr<test::SpyBackend> spy = cache.spy;
  cache.cache.reset();
  EXPECT_EQ(spy->allocated, 0u);
}

TEST(RowCache, PinnedRowsSurviveFillsThatWait) {
  TestCache cache({.bytes = BlockBytes(RowCodec::kF32, 8, 1)});
  const TestTable table = AddTestTable(*cache, RowCodec::kF32, 8, 1000);
  Offer(*cache, table, Range(0, 32));
  std::vector<uint8_t> pinned;
  EDO_EXPECT_OK(cache->Pin(*table.handle, Range(0, 8), &pinned));
  {
    HeldReader reader(*cache, table, {1});
    for (uint64_t row = 100; row < 200; row += 10) Offer(*cache, table, Range(row, row + 10));
  }
  EDO_EXPECT_OK(cache->Flush());
  EXPECT_EQ(LookAndCheck(*cache, table, Range(0, 8)), 8u);
  const kernels::BlockView view = cache.spy->views().at(0);
  int with_pins = 0;
  for (const test::ResidentRow& row : test::ResidentRows(view)) with_pins += row.pins != 0;
  EXPECT_EQ(with_pins, 8);
  cache.CheckBlocks();
}

// ---- everything at random ----------------------------------------------------------------------

TEST(RowCache, RandomOperationsAgreeWithAModel) {
  const uint64_t seed = test::Seed(16);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 20 && !HasFailure(); ++run) {
    RowCacheOptions options;
    options.bytes = 20000 + random() % 100000;
    if (random() % 2 == 0) options.group_shift = static_cast<uint32_t>(random() % 4);
    TestCache cache(options);
    struct Live {
      TestTable table;
      std::map<uint64_t, uint64_t> versions;  // of its rows; 0 when not here
    };
    std::vector<Live> live;
    uint64_t next_version = 1;
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      const uint64_t what = random() % 20;
      if (live.empty() || what == 0) {
        const test::ModelFormat model =
            test::MakeModelFormat(kCodecs[random() % kCodecs.size()],
                                  1 + static_cast<uint32_t>(random() % 70), next_version);
        const uint64_t rows = 1 + random() % 500;
        auto handle =
            cache->AddTable(model.format, rows, random() % 2 == 0 ? 0 : 16 * (1 + random() % 3));
        if (handle.ok())
          live.push_back({{model.format, rows, *handle, test::Values::kFinite, model.learned}, {}});
        ASSERT_LE(cache->counters().bytes, options.bytes);
        continue;
      }
      const size_t chosen = random() % live.size();
      if (what == 1) {
        live.erase(live.begin() + static_cast<ptrdiff_t>(chosen));
        continue;
      }
      Live& one = live[chosen];
      std::vector<uint64_t> rows(random() % 60);
      for (uint64_t& row : rows) row = random() % one.table.rows;
      if (what < 5) {
        EDO_EXPECT_OK(cache->Invalidate(*one.table.handle, rows));
        for (const uint64_t row : rows) one.versions[row] = next_version++;
      } else {
        // Every row that is found is of the version it has now.
        const test::Looked looked = Look(*cache, one.table, rows);
        const size_t bytes = one.table.format.dim * size_t{4};
        std::vector<std::byte> codes;
        std::vector<uint64_t> missed;
        for (size_t i = 0; i < rows.size(); ++i) {
          const std::vector<std::byte> row = one.table.Encoded(rows[i], one.versions[rows[i]]);
          if (looked.found(i)) {
            const std::vector<std::byte> expected =
                test::DecodedRow(one.table.format, row, FloatType::kF32);
            EXPECT_EQ(std::memcmp(looked.out.data() + i * bytes, expected.data(), bytes), 0);
          } else {
            missed.push_back(rows[i]);
            codes.insert(codes.end(), row.begin(), row.end());
          }
        }
        cache->Fill(*one.table.handle, missed, std::move(codes));
      }
    }
    cache.CheckBlocks();
  }
}

}  // namespace
}  // namespace edo::gpucache
