// ReadOptions::base_only: the refinement of L4+4 dropped and read again, to the bit, by every way
// to read, beside handles that have it. One seed decides rows and lookups; EDO_TEST_SEED=N replays
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "edo/recode.h"
#include "tests/engine/lookup_fixture.h"

namespace edo {
namespace {

constexpr uint64_t kRows = 1500;

CodecSpec Spec(const std::string& word) { return *CodecSpec::Parse(word); }

Status Put(Store* store, const std::string& codec, uint32_t dim, std::vector<HotTier> hot = {}) {
  TableOptions options;
  options.dim = dim;
  options.codec = Spec(codec);
  options.hot = std::move(hot);
  options.replace = true;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable("t", options));
  std::mt19937_64 random(7);
  std::normal_distribution<float> gauss(0, 1);
  std::vector<float> values(kRows * dim);
  for (float& v : values) v = gauss(random);
  std::fill_n(values.begin() + 5 * dim, dim, 0.0f);
  TableWriter::Rows rows;
  rows.values = values;
  EDO_RETURN_IF_ERROR(writer->Append(rows));
  return writer->Commit().status();
}

std::unique_ptr<Table> Open(const Store& store, bool base_only) {
  auto table = store.OpenTable("t", {.base_only = base_only});
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? std::move(*table) : nullptr;
}

std::vector<uint64_t> AllRows() {
  std::vector<uint64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  return rows;
}

std::vector<float> Read(const Table& table) {
  std::vector<float> out(kRows * table.info().dim);
  EDO_EXPECT_OK(table.LookupRows(AllRows(), {}, out.data()));
  return out;
}

// Rows of the same table recoded: what the base must decode to.
std::vector<float> Recoded(const std::string& codec, uint32_t dim, const std::string& half,
                           std::vector<HotTier> hot = {}, std::vector<HotTier> half_hot = {}) {
  const auto store = test::MemoryStore({});
  EDO_EXPECT_OK(Put(store.get(), codec, dim, std::move(hot)));
  RecodeOptions recode;
  recode.table = "t";
  recode.codec = Spec(half);
  recode.hot = std::move(half_hot);
  const auto report = Recode(store.get(), recode);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->dropped_refinement);
  return Read(*Open(*store, false));
}

class RefinementTest : public ::testing::TestWithParam<uint64_t> {};  // bytes of each cache
INSTANTIATE_TEST_SUITE_P(Caches, RefinementTest,
                         ::testing::Values(uint64_t{0}, uint64_t{50} << 10, uint64_t{8} << 20));

TEST_P(RefinementTest, TheBaseIsTheHalfToTheBitAndTheWholeComesBack) {
  std::mt19937_64 random(test::Seed(81));
  for (const uint32_t dim : {1u, 21u, 64u, 100u}) {
    for (const auto& [codec, half] : {std::pair("L4+4", "L4"), std::pair("P,L4+4", "P,L4")}) {
      SCOPED_TRACE(testing::Message() << codec << " of dim " << dim);
      StoreOptions options;
      options.cache_bytes = options.device_cache_bytes = GetParam();
      options.backend = BackendKind::kCpu;
      const auto store = test::MemoryStore(options);
      EDO_ASSERT_OK(Put(store.get(), codec, dim));
      const std::vector<float> expected = Recoded(codec, dim, half);
      const auto whole_table = Open(*store, false);
      const std::vector<float> whole = Read(*whole_table);
      for (int round = 0; round < 2; ++round) {  // dropped, read again, dropped, read again
        const auto base = Open(*store, true);
        EXPECT_EQ(base->info().codec.ToString(), codec);
        EXPECT_EQ(Read(*base), expected);
        EXPECT_EQ(Read(*base), expected);
        EXPECT_EQ(test::PlainRows(*base, AllRows()), expected);  // by scan
        EXPECT_EQ(Read(*whole_table), whole);                    // an older handle
        const std::vector<uint64_t> rows = test::SomeRows(kRows, 400, 20, random);
        const std::vector<float> some = test::PlainRows(*base, rows);
        auto ticket = base->PrefetchRows(rows, {.to_device = round == 1});
        ASSERT_TRUE(ticket.ok());
        EDO_ASSERT_OK((*ticket)->Wait());
        std::vector<float> out(some.size());
        EDO_ASSERT_OK(base->LookupRows(rows, {}, out.data()));
        EXPECT_EQ(out, some);
        const std::vector<int64_t> numbers(rows.begin(), rows.end());
        for (int twice = 0; twice < 2; ++twice) {
          std::fill(out.begin(), out.end(), 3.0f);
          auto lookup = base->LookupRowsOnDevice(numbers.data(), rows.size(), {}, out.data());
          ASSERT_TRUE(lookup.ok()) << lookup.status().ToString();
          EDO_ASSERT_OK((*lookup)->Finish());
          EXPECT_EQ(out, some);
        }
        const std::vector<uint64_t> offsets = test::SomeOffsets(rows.size(), random);
        Bags bags;
        bags.offsets = offsets;
        std::vector<float> sums(offsets.size() * dim);
        EDO_ASSERT_OK(base->LookupBagRows(rows, bags, {}, sums.data()));
        EXPECT_EQ(sums, test::PlainBags(*base, rows, bags));
        std::vector<float> streamed;
        const std::vector<std::vector<uint64_t>> batches{rows};
        EDO_ASSERT_OK(base->BulkLookup(KeysFrom(batches), {}, [&](const BulkRows& r) {
          streamed.insert(streamed.end(), r.values.begin(), r.values.end());
          return Status::Ok();
        }));
        EXPECT_EQ(streamed, some);
        const auto again = Open(*store, false);
        EXPECT_EQ(Read(*again), whole);
        EXPECT_EQ(Read(*again), whole);
      }
    }
  }
}

// Dropping in place: what the cache held whole it holds as halves, without a read.
TEST(RefinementCacheTest, HalvesOfCachedRowsAreKept) {
  StoreOptions options;
  options.cache_bytes = 8 << 20;
  const auto store = test::MemoryStore(options);
  EDO_ASSERT_OK(Put(store.get(), "P,L4+4", 100));
  auto whole = Open(*store, false);
  std::vector<uint64_t> hot;
  for (uint64_t r = 0; r < kRows; r += 3) hot.push_back(r);
  std::vector<float> out(hot.size() * 100);
  EDO_ASSERT_OK(whole->LookupRows(hot, {}, out.data()));
  whole.reset();
  const auto base = Open(*store, true);
  const uint64_t read = store->stats().chunks_read;
  EDO_ASSERT_OK(base->LookupRows(hot, {}, out.data()));
  EXPECT_EQ(store->stats().chunks_read, read);
  const std::vector<float> expected = test::PlainRows(*base, hot);
  EXPECT_EQ(out, expected);
}

// The same memory holds about twice as many halves.
TEST(RefinementCacheTest, MoreRowsFit) {
  const auto hits = [](bool base_only) {
    StoreOptions options;
    options.cache_bytes = 60 << 10;
    const auto store = test::MemoryStore(options);
    EDO_EXPECT_OK(Put(store.get(), "L4+4", 128));
    const auto table = Open(*store, base_only);
    std::vector<uint64_t> hot(1200);
    std::iota(hot.begin(), hot.end(), uint64_t{0});
    std::vector<float> out(hot.size() * 128);
    for (int i = 0; i < 4; ++i) EDO_EXPECT_OK(table->LookupRows(hot, {}, out.data()));
    const uint64_t before = store->stats().cache_hits;
    EDO_EXPECT_OK(table->LookupRows(hot, {}, out.data()));
    return store->stats().cache_hits - before;
  };
  EXPECT_GT(hits(true), hits(false) * 3 / 2);
}

TEST(RefinementTierTest, OnlyTiersThatHaveOneAreReadWithout) {
  const auto store = test::MemoryStore({});
  const std::vector<HotTier> hot{{.rows = 100, .codec = Spec("F16")},
                                 {.rows = 500, .codec = Spec("L4+4")}};
  const std::vector<HotTier> half{{.rows = 100, .codec = Spec("F16")},
                                  {.rows = 500, .codec = Spec("L4")}};
  EDO_ASSERT_OK(Put(store.get(), "INT8", 20, hot));
  const std::vector<float> whole = Read(*Open(*store, false));
  EXPECT_EQ(Read(*Open(*store, true)), Recoded("INT8", 20, "INT8", hot, half));
  EXPECT_EQ(Read(*Open(*store, false)), whole);
  EDO_ASSERT_OK(Put(store.get(), "INT8", 20));
  const auto refused = store->OpenTable("t", {.base_only = true});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("rows in INT8 have no refinement"),
            std::string_view::npos);
}

}  // namespace
}  // namespace edo
