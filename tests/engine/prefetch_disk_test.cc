// Reading ahead over files: rings that fail in every way, damage on disk, io_uring refused.
// Whatever happens below, every row that is given out is right, and what could not be read is said.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <numeric>
#include <thread>

#include "storage/rocksdb_row_store.h"
#include "tests/engine/lookup_fixture.h"
#include "tests/storage/faulty_ring.h"

#if !defined(__SANITIZE_THREAD__)

namespace edo::test {
namespace {

constexpr uint32_t kDim = 100;
constexpr uint64_t kRows = 6000;

class PrefetchDiskTest : public ::testing::Test {
 protected:
  void Open(storage::RocksdbRowStoreOptions disk, StoreOptions options = {}) {
    disk.create = true;
    auto rows = storage::OpenRocksdbRowStore(dir_.path(), disk);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    store_ = engine::StoreImpl::MakeNew(std::move(*rows), "", options).value();
    TableOptions table;
    table.dim = kDim;
    table.compression = Compression::kNone;  // tests know which rows a chunk has
    ASSERT_TRUE(WriteTable(store_.get(), "t", table, kRows).ok());
    table_ = OpenTable(store_.get(), "t");
  }
  // Each row is right, or unread where that is allowed.
  void Check(const std::vector<uint64_t>& rows, std::span<const float> values,
             const LookupReport& report, bool may_fail) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (report.states[i] == RowState::kUnread) {
        ASSERT_TRUE(may_fail);
        continue;
      }
      for (const uint32_t c : {0u, 63u, kDim - 1}) {
        ASSERT_EQ(values[i * kDim + c], rows[i] < kRows ? ValueOf(rows[i], c) : 0.0f) << rows[i];
      }
    }
  }
  std::vector<std::vector<uint64_t>> Batches(size_t count, uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::vector<std::vector<uint64_t>> batches(count);
    for (auto& batch : batches) batch = SomeRows(kRows, random() % 300, 20, random);
    return batches;
  }
  // A loop and a bulk lookup over the same batches; true rows, in order.
  void Loop(const std::vector<std::vector<uint64_t>>& batches) {
    auto pipeline = table_->MakePipeline(KeysFrom(batches), {.depth = 3}).value();
    size_t number = 0;
    for (const PipelineBatch& batch : *pipeline) {
      EDO_ASSERT_OK(batch.status);
      Check(batches[number++], batch.values, batch.report, false);
    }
    EXPECT_EQ(number, batches.size());
    std::vector<uint64_t> stream;
    for (const auto& batch : batches) stream.insert(stream.end(), batch.begin(), batch.end());
    EDO_ASSERT_OK(
        table_->BulkLookup(KeysFrom(batches), {.window_bytes = 400000}, [&](const BulkRows& rows) {
          for (uint64_t i = 0; i < rows.count; ++i) {
            const uint64_t row = stream[rows.first + i];
            EXPECT_EQ(rows.values[i * kDim + 9], row < kRows ? ValueOf(row, 9) : 0.0f);
          }
          return Status::Ok();
        }));
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
};

TEST_F(PrefetchDiskTest, RingsThatFailInEveryWay) {
  const uint64_t seed = Seed(21);
  std::atomic<uint64_t> rings{0};
  storage::RocksdbRowStoreOptions disk;
  disk.rings = [&]() -> std::unique_ptr<storage::BlockRing> {
    const uint64_t number = rings++;
    storage::RingFaults faults;
    faults.read_error = 30;
    faults.short_read = 30;
    faults.flipped_byte = 30;
    faults.queue_full = 100;
    faults.again = 50;
    faults.broken = number % 4 == 3 ? 5 : 0;
    faults.reorder = true;
    int error = 0;
    std::unique_ptr<storage::BlockRing> ring = storage::MakeUringRing(&error);
    if (!ring) ring = storage::MakePreadRing();
    return std::make_unique<storage::FaultyRing>(std::move(ring), faults, seed * 100 + number);
  };
  StoreOptions options;
  options.cache_bytes = 64 << 10;
  options.prefetch_threads = 2;
  Open(disk, options);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] { Loop(Batches(25, seed * 10 + t)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(rings, 0u);
}

TEST_F(PrefetchDiskTest, EveryWayOfReadingGivesTheSame) {
  for (const bool direct : {false, true}) {
    for (const bool uring : {false, true}) {
      for (const bool by_address : {false, true}) {
        store_.reset();
        std::filesystem::remove_all(dir_.path());
        storage::RocksdbRowStoreOptions disk;
        disk.direct_reads = direct;
        disk.io_uring = uring;
        disk.by_address = by_address;
        StoreOptions options;
        options.cache_bytes = 0;
        Open(disk, options);
        Loop(Batches(10, 5));
        table_.reset();
      }
    }
  }
}

TEST_F(PrefetchDiskTest, DamageOnDiskComesToTheTicketAndTheLookup) {
  StoreOptions options;
  options.cache_bytes = 0;
  Open({}, options);
  std::string file;
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    if (entry.path().extension() == ".sst" && entry.file_size() > bytes) {
      file = entry.path().string();
      bytes = entry.file_size();
    }
  }
  // A byte of a row of chunk 7.
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  char byte = 0;
  ASSERT_EQ(::pread(fd, &byte, 1, 7 * 4096 + 1000), 1);
  byte = static_cast<char>(byte ^ 4);
  ASSERT_EQ(::pwrite(fd, &byte, 1, 7 * 4096 + 1000), 1);
  ::close(fd);

  const uint64_t chunk_rows = table_->info().chunk_rows;
  std::vector<uint64_t> rows(3 * chunk_rows);
  std::iota(rows.begin(), rows.end(), 6 * chunk_rows);
  const auto ticket = table_->PrefetchRows(rows).value();
  const Status s = ticket->Wait();
  EXPECT_EQ(s.code(), StatusCode::kCorruption) << s.ToString();
  EXPECT_NE(s.message().find("chunk 7"), std::string_view::npos) << s.ToString();
  EXPECT_NE(s.message().find(".sst"), std::string_view::npos) << s.ToString();
  EXPECT_EQ(ticket->report().unread, chunk_rows);
  std::vector<float> out(rows.size() * kDim, -1.0f);
  LookupReport report;
  EXPECT_EQ(table_->LookupRows(rows, {}, out.data(), &report).code(), StatusCode::kCorruption);
  EXPECT_EQ(report.unread, chunk_rows);
  Check(rows, out, report, /*may_fail=*/true);
}

}  // namespace
}  // namespace edo::test

#endif
