// LookupBags against plain loops over the rows that a scan gives: to the bit, whatever the cache
// holds, for sums, means and weights, all key kinds, absent and padding keys, bags of any length.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernels/float_convert.h"
#include "tests/engine/lookup_fixture.h"

namespace edo {
namespace {

using test::MemoryStore;
using test::OpenTable;
using test::PlainBags;
using test::Rewrite;
using test::SomeOffsets;
using test::SomeRows;

constexpr uint64_t kBlockBytes = 8 << 10;  // of 32 rows of the tables here, generously

TEST(Bags, EqualPlainLoopsWhateverTheCacheHolds) {
  std::mt19937_64 random(test::Seed(3));
  for (const uint64_t cache_bytes : {uint64_t{0}, uint64_t{6} * kBlockBytes, uint64_t{64} << 20}) {
    for (const char* codec : {"F32", "F16", "BF16", "INT8"}) {
      for (const uint32_t dim : {1u, 33u, 128u}) {
        SCOPED_TRACE(std::string(codec) + " dim " + std::to_string(dim) + " cache " +
                     std::to_string(cache_bytes));
        const auto store = MemoryStore({.cache_bytes = cache_bytes});
        TableOptions options;
        options.dim = dim;
        options.codec = *CodecSpec::Parse(codec);
        EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 3000));
        const auto table = OpenTable(store.get(), "t");
        for (int round = 0; round < 6; ++round) {
          const auto rows = SomeRows(3000, 1500, round % 2 ? 9 : 0, random);
          const auto offsets = SomeOffsets(rows.size(), random);
          std::vector<float> weights(rows.size());
          for (float& w : weights) w = static_cast<float>(random() % 1000) / 300.0f - 1.5f;
          Bags bags{offsets};
          if (round % 3 == 1) bags.weights = weights;
          if (round % 3 == 2) bags.mode = PoolMode::kMean;
          std::vector<float> out(offsets.size() * dim, -7.0f);
          LookupReport report;
          EDO_ASSERT_OK(table->LookupBagRows(rows, bags, {}, out.data(), &report));
          ASSERT_EQ(out, PlainBags(*table, rows, bags));
          for (size_t i = 0; i < rows.size(); ++i) {
            ASSERT_EQ(report.states[i], rows[i] < 3000 ? RowState::kFound : RowState::kMissing);
          }
          EXPECT_EQ(report.found + report.missing, rows.size());
        }
      }
    }
  }
}

TEST(Bags, OfTenThousandKeysNeedNoMoreMemoryThanAFewThousand) {
  const auto store = MemoryStore({.cache_bytes = 0});
  TableOptions options;
  options.dim = 5;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 2000));
  const auto table = OpenTable(store.get(), "t");
  std::mt19937_64 random(4);
  const auto rows = SomeRows(2000, 10000, 50, random);
  const std::vector<uint64_t> offsets{0, 3, 9500};
  std::vector<float> weights(rows.size(), 0.25f);
  for (const int kind : {0, 1, 2}) {
    Bags bags{offsets};
    if (kind == 1) bags.weights = weights;
    if (kind == 2) bags.mode = PoolMode::kMean;
    std::vector<float> out(3 * 5, -7.0f);
    EDO_ASSERT_OK(table->LookupBagRows(rows, bags, {}, out.data()));
    EXPECT_EQ(out, PlainBags(*table, rows, bags)) << kind;
  }
}

TEST(Bags, TakeKeysOfEveryKind) {
  const auto store = MemoryStore({});
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    TableOptions options;
    options.dim = 8;
    options.key_kind = kind;
    EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 500));
    const auto table = OpenTable(store.get(), "t");
    const std::vector<uint64_t> rows{1, 499, 7, 7, 600, 0};
    const std::vector<uint64_t> offsets{0, 2, 2, 5};
    const Bags bags{offsets, {}, PoolMode::kMean};
    std::vector<float> out(4 * 8, -7.0f);
    std::vector<std::string> texts;
    std::vector<std::string_view> tokens;
    std::vector<int64_t> ids;
    for (const uint64_t row : rows) {
      texts.push_back("k" + std::to_string(row));
      ids.push_back(kind == KeyKind::kInt64 ? static_cast<int64_t>(row) * 7 - 1000
                                            : static_cast<int64_t>(row));
    }
    tokens.assign(texts.begin(), texts.end());
    if (kind == KeyKind::kText) {
      EDO_ASSERT_OK(table->LookupBags(tokens, bags, {}, out.data()));
      EXPECT_EQ(table->LookupBags(ids, bags, {}, out.data()).code(), StatusCode::kInvalidArgument);
    } else {
      EDO_ASSERT_OK(table->LookupBags(ids, bags, {}, out.data()));
      EXPECT_EQ(table->LookupBags(tokens, bags, {}, out.data()).code(),
                StatusCode::kInvalidArgument);
      if (kind == KeyKind::kDense) {
        const std::vector<int32_t> narrow(ids.begin(), ids.end());
        std::vector<float> again(out.size());
        EDO_ASSERT_OK(table->LookupBags(narrow, bags, {}, again.data()));
        EXPECT_EQ(again, out);
      }
    }
    EXPECT_EQ(out, PlainBags(*table, rows, bags)) << KeyKindName(kind);
  }
}

TEST(Bags, PaddingTakesNoPartAndIsNoMiss) {
  const auto store = MemoryStore({});
  TableOptions options;
  options.dim = 3;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 100));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<int64_t> ids{5, 0, 6, 0};
  const std::vector<uint64_t> offsets{0, 3};
  LookupOptions lookup;
  lookup.padding_id = 0;
  lookup.on_missing = OnMissing::kError;
  std::vector<float> out(2 * 3, -7.0f);
  LookupReport report;
  EDO_ASSERT_OK(
      table->LookupBags(ids, Bags{offsets, {}, PoolMode::kMean}, lookup, out.data(), &report));
  for (uint32_t c = 0; c < 3; ++c) {
    EXPECT_EQ(out[c], (test::ValueOf(5, c) + test::ValueOf(6, c)) / 2.0f);
    EXPECT_EQ(out[3 + c], 0.0f);
  }
  EXPECT_EQ(report.states[1], RowState::kPadding);
  EXPECT_EQ(report.missing, 0u);
}

TEST(Bags, ABagThatLacksAKeyStaysAsItWasWhenMissingIsAnError) {
  for (const uint64_t cache_bytes : {uint64_t{0}, uint64_t{1} << 20}) {
    const auto store = MemoryStore({.cache_bytes = cache_bytes});
    TableOptions options;
    options.dim = 2;
    EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 100));
    const auto table = OpenTable(store.get(), "t");
    const std::vector<uint64_t> rows{1, 2, 3, 100, 4};
    const std::vector<uint64_t> offsets{0, 2, 4};
    LookupOptions lookup;
    lookup.on_missing = OnMissing::kError;
    std::vector<float> out(3 * 2, -7.0f);
    const Status s = table->LookupBagRows(rows, Bags{offsets}, lookup, out.data());
    EXPECT_EQ(s.code(), StatusCode::kNotFound);
    EXPECT_NE(s.message().find("key number 3"), std::string::npos) << s.ToString();
    EXPECT_EQ(out[0], test::ValueOf(1, 0) + test::ValueOf(2, 0));
    EXPECT_EQ(out[2], -7.0f);
    EXPECT_EQ(out[4], test::ValueOf(4, 0));
  }
}

TEST(Bags, ABagWithARowThatCouldNotBeReadStaysAsItWas) {
  const auto store = MemoryStore({.cache_bytes = 1 << 20});
  TableOptions options;
  options.dim = 2;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 5000));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<uint64_t> warm{1, 2};
  std::vector<float> out(3 * 2, -7.0f);
  EDO_ASSERT_OK(table->LookupRows(warm, {}, out.data()));  // now cached
  out.assign(out.size(), -7.0f);
  const std::vector<uint64_t> rows{1, 2, 1, 4000};
  const std::vector<uint64_t> offsets{0, 2, 4};
  LookupOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  LookupReport report;
  const Status s = table->LookupBagRows(rows, Bags{offsets}, late, out.data(), &report);
  EXPECT_EQ(s.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(out[0], test::ValueOf(1, 0) + test::ValueOf(2, 0));
  EXPECT_EQ(out[2], -7.0f);
  EXPECT_EQ(out[4], 0.0f);
  EXPECT_EQ(report.states[3], RowState::kUnread);
  EXPECT_EQ(report.unread, 1u);
}

TEST(Bags, HalfPrecisionOutputRoundsTheF32Sum) {
  const auto store = MemoryStore({});
  TableOptions options;
  options.dim = 7;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 100));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<uint64_t> rows{1, 2, 3, 4};
  const std::vector<uint64_t> offsets{0, 3};
  const auto sums = PlainBags(*table, rows, Bags{offsets});
  LookupOptions half;
  half.out_type = FloatType::kF16;
  half.out_stride = 9;
  std::vector<uint16_t> out(2 * 9, 0xabcd);
  for (int pass = 0; pass < 2; ++pass) {  // from disk, then from the cache
    EDO_ASSERT_OK(table->LookupBagRows(rows, Bags{offsets}, half, out.data()));
    for (size_t b = 0; b < 2; ++b) {
      for (size_t c = 0; c < 7; ++c) {
        EXPECT_EQ(out[b * 9 + c], kernels::F32ToF16(sums[b * 7 + c]));
      }
      EXPECT_EQ(out[b * 9 + 7], 0xabcd);
    }
  }
}

TEST(Bags, WrongOffsetsAndWeightsAreRefused) {
  const auto store = MemoryStore({});
  TableOptions options;
  options.dim = 2;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 100));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<uint64_t> rows{1, 2, 3};
  std::vector<float> out(100);
  const auto code = [&](const Bags& bags, void* to) {
    return table->LookupBagRows(rows, bags, {}, to).code();
  };
  const std::vector<uint64_t> good{0, 2}, late{1, 2}, down{0, 2, 1}, beyond{0, 4};
  const std::vector<float> weights(3), short_weights(2);
  EXPECT_EQ(code(Bags{good}, out.data()), StatusCode::kOk);
  EXPECT_EQ(code(Bags{late}, out.data()), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Bags{down}, out.data()), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Bags{beyond}, out.data()), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Bags{}, out.data()), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Bags{good}, nullptr), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Bags{good, short_weights}, out.data()), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Bags{good, weights, PoolMode::kMean}, out.data()), StatusCode::kInvalidArgument);
  // No keys: no bags, or empty ones.
  const std::vector<uint64_t> empties{0, 0};
  out.assign(4, -7.0f);
  EDO_EXPECT_OK(table->LookupBagRows({}, Bags{}, {}, nullptr));
  EDO_EXPECT_OK(table->LookupBagRows({}, Bags{empties}, {}, out.data()));
  EXPECT_EQ(out, std::vector<float>(4, 0.0f));
}

}  // namespace
}  // namespace edo
