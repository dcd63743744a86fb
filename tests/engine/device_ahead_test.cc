// What stands between a device and the disk: the host's cache as a tier, and rows read ahead to the
// device. Backends: test_backends.h.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "engine/backends.h"
#include "tests/engine/lookup_fixture.h"
#include "tests/engine/test_backends.h"
#include "tests/support/gated_row_store.h"

namespace edo::test {
namespace {

class DeviceAheadTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr uint32_t kDim = 128;
  void SetUp() override {
    setenv("EDO_BACKEND", GetParam().c_str(), 1);
    auto backend = engine::ChooseBackend(BackendKind::kAuto, kernels::MakeCpuBackend());
    if (!backend.ok()) GTEST_SKIP() << backend.status().ToString();
    backend_ = *backend;
  }
  void TearDown() override {
    if (disk_ != nullptr) disk_->OpenGate();
    table_.reset();
    store_.reset();
    unsetenv("EDO_BACKEND");
  }
  void Open(uint64_t cache_bytes, uint64_t device_cache_bytes) {
    StoreOptions options;
    options.cache_bytes = cache_bytes;
    options.device_cache_bytes = device_cache_bytes;
    auto base = std::make_unique<GatedRowStore>(storage::MakeMemoryRowStore());
    disk_ = base.get();
    auto store = engine::StoreImpl::MakeNew(std::move(base), "", options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
    TableOptions table;
    table.dim = kDim;
    table.codec = *CodecSpec::Parse("INT8");
    EDO_ASSERT_OK(Rewrite(store_.get(), "t", table, 4000));
    table_ = OpenTable(store_.get(), "t");
    all_.resize(4000 * kDim);
    std::vector<uint64_t> rows(4000);
    std::iota(rows.begin(), rows.end(), 0);
    all_ = PlainRows(*table_, rows);
    disk_->TakeReads();
  }
  // Looks the rows up on device and holds them against the table.
  void Look(const std::vector<uint64_t>& rows) {
    const uint64_t bytes = rows.size() * kDim * 4;
    void* const ids = backend_->Allocate(rows.size() * 8).value();
    void* const out = backend_->Allocate(bytes).value();
    EDO_ASSERT_OK(backend_->CopyToDevice(ids, rows.data(), rows.size() * 8, {}));
    auto started =
        table_->LookupRowsOnDevice(static_cast<const int64_t*>(ids), rows.size(), {}, out);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    EDO_ASSERT_OK((*started)->Finish());
    std::vector<float> host(rows.size() * kDim);
    EDO_ASSERT_OK(backend_->CopyToHost(host.data(), out, bytes, {}));
    EDO_ASSERT_OK(backend_->Synchronize(kernels::Stream{}));
    started->reset();
    backend_->Free(ids, rows.size() * 8);
    backend_->Free(out, bytes);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (uint32_t c = 0; c < kDim; ++c) {
        ASSERT_EQ(host[i * kDim + c], all_[rows[i] * kDim + c]) << "row " << rows[i];
      }
    }
  }

  std::shared_ptr<kernels::Backend> backend_;
  GatedRowStore* disk_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
  std::vector<float> all_;
};
INSTANTIATE_TEST_SUITE_P(Backends, DeviceAheadTest, ::testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

std::vector<uint64_t> Range(uint64_t first, uint64_t count) {
  std::vector<uint64_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

TEST_P(DeviceAheadTest, WhatTheDeviceHasNoRoomForComesFromTheHostsCache) {
  Open(4 << 20, 32 << 10);  // the device holds some 190 rows
  for (int pass = 0; pass < 2; ++pass) {
    for (uint64_t first = 0; first < 2000; first += 250) Look(Range(first, 250));
  }
  const auto first_pass = disk_->TakeReads();
  EXPECT_GT(first_pass.size(), 60u);
  for (uint64_t first = 0; first < 2000; first += 250) Look(Range(first, 250));
  EXPECT_LT(disk_->TakeReads().size(), 5u);
  EXPECT_GT(store_->stats().cache_hits, 1500u);
}

TEST_P(DeviceAheadTest, RowsReadAheadAreOnTheDeviceWhenTheyAreNeeded) {
  Open(0, 4 << 20);
  const std::vector<uint64_t> rows = Range(1000, 300);
  PrefetchOptions up;
  up.to_device = true;
  auto ticket = table_->PrefetchRows(rows, up).value();
  EDO_ASSERT_OK(ticket->Wait());
  EXPECT_EQ(ticket->report().staged, 300u);
  disk_->TakeReads();
  const uint64_t before = store_->stats().device_cache_misses;
  Look(rows);
  EXPECT_TRUE(disk_->TakeReads().empty());
  EXPECT_EQ(store_->stats().device_cache_misses, before) << "all had been copied up";
  // Pinned: many other rows do not drive them out.
  for (uint64_t first = 2000; first < 4000; first += 200) {
    Look(Range(first, 200));
    Look(Range(first, 200));
  }
  disk_->TakeReads();
  Look(rows);
  EXPECT_TRUE(disk_->TakeReads().empty());
  auto again = table_->PrefetchRows(rows, up).value();
  EDO_ASSERT_OK(again->Wait());
  EXPECT_EQ(again->report().resident, 300u);
  EXPECT_TRUE(disk_->TakeReads().empty());
}

TEST_P(DeviceAheadTest, RowsThatFindNoSlotWaitOnTheHost) {
  Open(0, 16 << 10);  // some 90 rows
  const std::vector<uint64_t> rows = Range(100, 600);
  PrefetchOptions up;
  up.to_device = true;
  auto ticket = table_->PrefetchRows(rows, up).value();
  EDO_ASSERT_OK(ticket->Wait());
  disk_->TakeReads();
  Look(rows);
  EXPECT_TRUE(disk_->TakeReads().empty());
  ticket.reset();
  Look(rows);
  EXPECT_GT(disk_->TakeReads().size(), 10u);
}

TEST_P(DeviceAheadTest, AFailedChunkLeavesTheOthersOnTheDevice) {
  Open(0, 4 << 20);
  const uint64_t chunk_rows = table_->info().chunk_rows;
  disk_->Fail(2, Status::IoError("injected"));
  PrefetchOptions up;
  up.to_device = true;
  auto ticket = table_->PrefetchRows(Range(0, 200), up).value();
  EXPECT_EQ(ticket->Wait().code(), StatusCode::kIoError);
  EXPECT_EQ(ticket->report().unread, chunk_rows);
  disk_->Fail(2, Status::Ok());
  disk_->TakeReads();
  Look(Range(0, 200));
  const auto reads = disk_->TakeReads();
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads.begin()->first, 2u);
}

TEST_P(DeviceAheadTest, APipelineLeavesItsRowsOnTheDevice) {
  Open(256 << 10, 256 << 10);
  std::mt19937_64 random(Seed(32));
  std::vector<std::vector<uint64_t>> batches(25);
  for (auto& batch : batches) batch = SomeRows(4000, random() % 200, 15, random);
  const KeySource by_rows = KeysFrom(batches);
  const KeySource by_ids = [&, next = size_t{0}](KeyBatch* batch) mutable -> Result<bool> {
    if (next == batches.size()) return false;
    batch->ids.assign(batches[next].begin(), batches[next].end());
    ++next;
    return true;
  };
  for (const KeySource& source : {by_rows, by_ids}) {
    auto pipeline =
        table_->MakePipeline(source, {.depth = 2, .on_device = true, .look_ahead = 8}).value();
    size_t number = 0;
    for (const PipelineBatch& batch : *pipeline) {
      EDO_ASSERT_OK(batch.status);
      EXPECT_TRUE(batch.values.empty());
      const std::vector<uint64_t>& rows = batches[number++];
      std::vector<float> host(rows.size() * kDim);
      EDO_ASSERT_OK(backend_->CopyToHost(host.data(), batch.data, host.size() * 4, {}));
      EDO_ASSERT_OK(backend_->Synchronize(kernels::Stream{}));
      for (size_t i = 0; i < rows.size(); ++i) {
        const float expected = rows[i] < 4000 ? all_[rows[i] * kDim + 5] : 0.0f;
        ASSERT_EQ(host[i * kDim + 5], expected) << "row " << rows[i];
        ASSERT_EQ(batch.report.states[i], rows[i] < 4000 ? RowState::kFound : RowState::kMissing);
      }
    }
    EDO_EXPECT_OK(pipeline->status());
    EXPECT_EQ(number, batches.size());
  }
}

TEST_P(DeviceAheadTest, TicketsComeAndGoBesideLookups) {
  Open(256 << 10, 128 << 10);
  std::mt19937_64 random(Seed(31));
  std::vector<std::unique_ptr<PrefetchTicket>> tickets;
  PrefetchOptions up;
  up.to_device = true;
  for (int round = 0; round < 60; ++round) {
    const auto rows = SomeRows(4000, 1 + random() % 150, 0, random);
    auto ticket = table_->PrefetchRows(rows, up);
    ASSERT_TRUE(ticket.ok());
    tickets.push_back(std::move(*ticket));
    if (random() % 3 == 0) tickets.back()->Cancel();
    Look(SomeRows(4000, 1 + random() % 150, 0, random));
    if (random() % 2) (void)tickets.back()->Wait();
    Look(rows);
    if (tickets.size() > 3) tickets.erase(tickets.begin());
  }
}

}  // namespace
}  // namespace edo::test
