// The row cache as a user of tables meets it: on by default, invisible but for speed and counters.
#include <gtest/gtest.h>

#include <random>

#include "tests/engine/lookup_fixture.h"

namespace edo {
namespace {

using test::MemoryStore;
using test::OpenTable;
using test::PlainRows;
using test::Rewrite;
using test::SomeRows;

TableOptions Int8(uint32_t dim) {
  TableOptions options;
  options.dim = dim;
  options.codec = *CodecSpec::Parse("INT8");
  return options;
}

TEST(Cache, IsOnByDefaultAndServesRowsReadBefore) {
  const auto store = MemoryStore({});
  EDO_ASSERT_OK(Rewrite(store.get(), "t", Int8(128), 4000));
  const auto table = OpenTable(store.get(), "t");
  std::vector<uint64_t> rows(1000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i * 3;
  const auto expected = PlainRows(*table, rows);
  std::vector<float> out(expected.size());
  EDO_ASSERT_OK(table->LookupRows(rows, {}, out.data()));
  EXPECT_EQ(out, expected);
  Stats stats = store->stats();
  EXPECT_EQ(stats.cache_misses, 1000u);
  EXPECT_EQ(stats.cache_fills, 1000u);
  const uint64_t chunks = stats.chunks_read;
  out.assign(out.size(), 0.0f);
  EDO_ASSERT_OK(table->LookupRows(rows, {}, out.data()));
  EXPECT_EQ(out, expected);
  stats = store->stats();
  EXPECT_EQ(stats.cache_hits, 1000u);
  EXPECT_EQ(stats.chunks_read, chunks) << "rows in the cache were read again";
  EXPECT_LE(stats.cache_bytes, StoreOptions().cache_bytes);
  EXPECT_GT(stats.cache_bytes, 1000u * 130);
}

TEST(Cache, OfNoBytesIsNone) {
  const auto store = MemoryStore({.cache_bytes = 0});
  EDO_ASSERT_OK(Rewrite(store.get(), "t", Int8(16), 100));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<uint64_t> rows{1, 1, 1};
  std::vector<float> out(3 * 16);
  for (int pass = 0; pass < 2; ++pass) EDO_ASSERT_OK(table->LookupRows(rows, {}, out.data()));
  EXPECT_EQ(store->stats().cache_hits + store->stats().cache_misses, 0u);
  EXPECT_EQ(store->stats().chunks_read, 2u);
}

TEST(Cache, TooSmallForOneBlockIsAClearError) {
  const auto store = MemoryStore({.cache_bytes = 1000});
  EDO_ASSERT_OK(Rewrite(store.get(), "t", Int8(128), 10));
  const auto table = store->OpenTable("t");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), StatusCode::kInvalidArgument);
  for (const char* word : {"table 't'", "1000 bytes", "130 bytes"}) {
    EXPECT_NE(table.status().message().find(word), std::string_view::npos)
        << table.status().ToString();
  }
}

TEST(Cache, NeverServesRowsOfAReplacedOrDroppedTable) {
  const auto store = MemoryStore({});
  std::vector<uint64_t> rows(300);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::unique_ptr<Table> old;
  std::vector<float> old_values;
  for (uint64_t version = 0; version < 8; ++version) {
    if (version % 3 == 2) {
      EDO_ASSERT_OK(store->DropTable("t"));
    }
    TableOptions options;
    options.dim = 10;
    EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 300, version));
    auto table = OpenTable(store.get(), "t");
    const auto expected = test::RowsOf(0, 300, 10, version);
    std::vector<float> out(expected.size());
    for (int pass = 0; pass < 3; ++pass) {
      EDO_ASSERT_OK(table->LookupRows(rows, {}, out.data()));
      ASSERT_EQ(out, expected) << "version " << version;
      if (old == nullptr) continue;
      EDO_ASSERT_OK(old->LookupRows(rows, {}, out.data()));  // its own generation to the end
      ASSERT_EQ(out, old_values);
    }
    old = std::move(table);
    old_values = expected;
  }
}

TEST(Cache, AThousandTablesShareIt) {
  StoreOptions options;
  options.cache_bytes = 300000;  // some seventy blocks
  const auto store = MemoryStore(options);
  const uint32_t dims[] = {1, 16, 100, 128, 300};
  std::vector<std::unique_ptr<Table>> tables;
  for (int t = 0; t < 1000; ++t) {
    const std::string name = "t" + std::to_string(t);
    EDO_ASSERT_OK(Rewrite(store.get(), name, Int8(dims[t % 5]), 20, static_cast<uint64_t>(t)));
    tables.push_back(OpenTable(store.get(), name));
    ASSERT_NE(tables.back(), nullptr);
  }
  std::mt19937_64 random(test::Seed(21));
  for (int look = 0; look < 5000; ++look) {
    const auto& table = tables[random() % 2 ? random() % 1000 : random() % 5];
    const auto rows = SomeRows(20, 8, 0, random);
    std::vector<float> out(rows.size() * table->info().dim);
    EDO_ASSERT_OK(table->LookupRows(rows, {}, out.data()));
    ASSERT_EQ(out, PlainRows(*table, rows));
    if (look % 100 == 0) {
      ASSERT_LE(store->stats().cache_bytes, options.cache_bytes);
    }
  }
  EXPECT_GT(store->stats().cache_hits, 0u);
}

TEST(Cache, ChangesNoResultOfAnyLookup) {
  // Two stores, one with a cache of a few blocks, one with none: the same calls, the same bytes.
  std::mt19937_64 random(test::Seed(22));
  for (const char* codec : {"F32", "F16", "BF16", "INT8"}) {
    for (const uint32_t dim : {1u, 31u, 128u, 300u}) {
      SCOPED_TRACE(std::string(codec) + " dim " + std::to_string(dim));
      StoreOptions small;
      small.cache_bytes = 100 * (dim * 4 + 16) * 2;
      const auto cached = MemoryStore(small);
      const auto plain = MemoryStore({.cache_bytes = 0});
      TableOptions options;
      options.dim = dim;
      options.codec = *CodecSpec::Parse(codec);
      EDO_ASSERT_OK(Rewrite(cached.get(), "t", options, 1000));
      EDO_ASSERT_OK(Rewrite(plain.get(), "t", options, 1000));
      const auto a = OpenTable(cached.get(), "t");
      const auto b = OpenTable(plain.get(), "t");
      for (int round = 0; round < 40; ++round) {
        const auto rows = SomeRows(1000, random() % 200, 10, random);
        LookupOptions lookup;
        lookup.on_missing = static_cast<OnMissing>(random() % 3);
        lookup.out_type = static_cast<FloatType>(random() % 3);
        lookup.out_stride = dim + random() % 3;
        std::vector<uint8_t> from_a(rows.size() * lookup.out_stride * 4, 0xcd), from_b = from_a;
        LookupReport report_a, report_b;
        const Status status_a = a->LookupRows(rows, lookup, from_a.data(), &report_a);
        const Status status_b = b->LookupRows(rows, lookup, from_b.data(), &report_b);
        ASSERT_EQ(status_a.ToString(), status_b.ToString());
        ASSERT_EQ(from_a, from_b);
        ASSERT_EQ(report_a.states, report_b.states);
        ASSERT_EQ(report_a.found, report_b.found);
        ASSERT_EQ(report_a.missing, report_b.missing);
      }
    }
  }
}

TEST(Cache, LeadingValuesAreThoseOfTheWholeRowHoweverTheCacheIsCut) {
  std::mt19937_64 random(test::Seed(23));
  for (const char* codec : {"F32", "F16", "BF16", "INT8"}) {
    for (const uint32_t dim : {5u, 128u, 192u}) {
      for (const uint32_t dims : {1u, dim / 4, dim / 2, dim}) {
        if (dims == 0) continue;
        SCOPED_TRACE(std::string(codec) + " dim " + std::to_string(dim) + " dims " +
                     std::to_string(dims));
        const auto store = MemoryStore({});
        TableOptions options;
        options.dim = dim;
        options.codec = *CodecSpec::Parse(codec);
        EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 600));
        auto opened = store->OpenTable("t", {.read_dims = dims});
        ASSERT_TRUE(opened.ok()) << opened.status().ToString();
        const auto& table = *opened;
        for (int round = 0; round < 4; ++round) {
          const auto rows = SomeRows(600, 100, 12, random);
          const auto whole = PlainRows(*table, rows);
          LookupOptions lookup;
          lookup.dims = round == 3 ? 0 : dims;
          const uint32_t values = round == 3 ? dim : dims;
          lookup.out_stride = values + 1;
          std::vector<float> out(rows.size() * lookup.out_stride, -7.0f);
          EDO_ASSERT_OK(table->LookupRows(rows, lookup, out.data()));
          const std::vector<uint64_t> offsets{0, 40, 40};
          const auto sums = test::PlainBags(*table, rows, Bags{offsets});
          std::vector<float> bags(3 * lookup.out_stride, -7.0f);
          EDO_ASSERT_OK(table->LookupBagRows(rows, Bags{offsets}, lookup, bags.data()));
          for (size_t i = 0; i < rows.size(); ++i) {
            for (uint32_t c = 0; c < values; ++c) {
              ASSERT_EQ(out[i * lookup.out_stride + c], whole[i * dim + c]);
            }
            ASSERT_EQ(out[i * lookup.out_stride + values], -7.0f);
          }
          for (size_t b = 0; b < 3; ++b) {
            for (uint32_t c = 0; c < values; ++c) {
              ASSERT_EQ(bags[b * lookup.out_stride + c], sums[b * dim + c]);
            }
          }
        }
        LookupOptions wrong;
        wrong.dims = dim + 1;
        std::vector<float> out(dim + 1);
        const std::vector<uint64_t> one{0};
        EXPECT_EQ(table->LookupRows(one, wrong, out.data()).code(), StatusCode::kInvalidArgument);
      }
      EXPECT_EQ(MemoryStore({})->OpenTable("t", {.read_dims = 1}).status().code(),
                StatusCode::kNotFound);
    }
  }
}

}  // namespace
}  // namespace edo
