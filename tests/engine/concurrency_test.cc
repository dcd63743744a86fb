// Threads that look up, scan and replace at once: every row that comes back is of one version, the
// one its handle was opened on or a later one, whole. Run under the thread sanitizer over the
// in-memory row store (RocksDB as packaged is not instrumented); over RocksDB in the other builds.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "edo/store.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

constexpr uint64_t kRows = 400;
constexpr uint32_t kDim = 9;

Status WriteVersion(Store* store, uint64_t version) {
  TableOptions options;
  options.dim = kDim;
  options.key_kind = KeyKind::kInt64;
  options.replace = true;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable("t", options));
  const std::vector<float> values = test::RowsOf(0, kRows, kDim, version);
  std::vector<int64_t> keys;
  for (uint64_t r = 0; r < kRows; ++r) keys.push_back(static_cast<int64_t>(r));
  TableWriter::Rows rows;
  rows.values = values;
  rows.int_keys = keys;
  EDO_RETURN_IF_ERROR(writer->Append(rows));
  return writer->Commit().status();
}

class ConcurrencyTest : public ::testing::TestWithParam<test::StoreBody> {};
INSTANTIATE_TEST_SUITE_P(Bodies, ConcurrencyTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

TEST_P(ConcurrencyTest, ReadersSeeWholeVersionsWhileATableIsReplaced) {
  const test::TempDir dir;
  auto store = test::NewStore(GetParam(), dir.File("s"));
  EDO_ASSERT_OK(WriteVersion(store.get(), 1));
  std::atomic<uint64_t> committed{1};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> batches{0};
  const auto read = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<float> out(50 * kDim);
    while (!stop) {
      const uint64_t at_least = committed;
      auto table = store->OpenTable("t");
      ASSERT_TRUE(table.ok()) << table.status().ToString();
      uint64_t version = 0;
      for (int batch = 0; batch < 3; ++batch) {
        std::vector<int64_t> ids(50);
        for (int64_t& id : ids) id = static_cast<int64_t>(random() % kRows);
        EDO_ASSERT_OK((*table)->Lookup(std::span<const int64_t>(ids), {}, out.data()));
        if (version == 0) {  // which one is it?
          version = at_least;
          const auto first = static_cast<uint64_t>(ids[0]);
          while (out[0] != test::ValueOf(first, 0, version) && version < at_least + 1000) ++version;
        }
        for (size_t i = 0; i < ids.size(); ++i) {
          for (uint32_t c = 0; c < kDim; ++c) {
            ASSERT_EQ(out[i * kDim + c], test::ValueOf(static_cast<uint64_t>(ids[i]), c, version));
          }
        }
        ++batches;
      }
    }
  };
  std::vector<std::thread> readers;
  const uint64_t seed = test::Seed(5);
  for (uint64_t t = 0; t < 4; ++t) readers.emplace_back(read, seed + t);
  for (uint64_t version = 2; version <= 25; ++version) {
    EDO_EXPECT_OK(WriteVersion(store.get(), version));
    committed = version;
  }
  while (batches < 200) std::this_thread::yield();
  stop = true;
  for (std::thread& t : readers) t.join();
  const auto report = store->Verify({});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damages.empty());
}

TEST_P(ConcurrencyTest, WritersOfDifferentTablesDoNotMeet) {
  const test::TempDir dir;
  auto store = test::NewStore(GetParam(), dir.File("s"));
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      TableOptions options;
      options.dim = 4;
      auto writer = store->CreateTable("t" + std::to_string(t), options);
      ASSERT_TRUE(writer.ok());
      const std::vector<float> values = test::RowsOf(0, 100, 4, static_cast<uint64_t>(t));
      for (int i = 0; i < 20; ++i) EDO_ASSERT_OK((*writer)->Append({.values = values}));
      ASSERT_TRUE((*writer)->Commit().ok());
    });
  }
  for (std::thread& t : writers) t.join();
  for (int t = 0; t < 4; ++t) {
    auto table = store->OpenTable("t" + std::to_string(t));
    ASSERT_TRUE(table.ok());
    EXPECT_EQ((*table)->info().rows, 2000u);
    const std::array<uint64_t, 1> row{1999};
    float out[4];
    EDO_ASSERT_OK((*table)->LookupRows(row, {}, out));
    EXPECT_EQ(out[3], test::ValueOf(99, 3, static_cast<uint64_t>(t)));
  }
}

}  // namespace
}  // namespace edo
