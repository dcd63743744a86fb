// Lookups on device against the same lookups into host memory, byte for byte, places that must stay
// untouched included. Run with the backends of test_backends.h.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "engine/backends.h"
#include "tests/engine/lookup_fixture.h"
#include "tests/engine/test_backends.h"

namespace edo {
namespace {

using test::BackendNames;
using test::OpenTable;
using test::Rewrite;
using test::SomeOffsets;
using test::SomeRows;

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    setenv("EDO_BACKEND", GetParam().c_str(), 1);
    auto backend = engine::ChooseBackend(BackendKind::kAuto, kernels::MakeCpuBackend());
    if (!backend.ok()) GTEST_SKIP() << backend.status().ToString();
    backend_ = *backend;
  }
  void TearDown() override { unsetenv("EDO_BACKEND"); }

  // Memory of the device, with what a host array holds in it.
  struct Memory {
    kernels::Backend* backend;
    void* at;
    uint64_t bytes;
    Memory(kernels::Backend* b, void* a, uint64_t n) : backend(b), at(a), bytes(n) {}
    Memory(const Memory&) = delete;
    ~Memory() { backend->Free(at, bytes); }
  };
  std::unique_ptr<Memory> ToDevice(const void* host, uint64_t bytes) {
    auto got = backend_->Allocate(bytes);
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    auto memory = std::make_unique<Memory>(backend_.get(), *got, bytes);
    EDO_EXPECT_OK(backend_->CopyToDevice(memory->at, host, bytes, {}));
    EDO_EXPECT_OK(backend_->Synchronize(kernels::Stream{}));
    return memory;
  }
  std::vector<uint8_t> FromDevice(const Memory& memory) {
    std::vector<uint8_t> bytes(memory.bytes);
    EDO_EXPECT_OK(backend_->CopyToHost(bytes.data(), memory.at, memory.bytes, {}));
    EDO_EXPECT_OK(backend_->Synchronize(kernels::Stream{}));
    return bytes;
  }
  static std::unique_ptr<Store> NewStore(uint64_t device_cache_bytes) {
    StoreOptions options;
    options.cache_bytes = 0;
    options.device_cache_bytes = device_cache_bytes;
    return test::MemoryStore(options);
  }

  std::shared_ptr<kernels::Backend> backend_;
};
INSTANTIATE_TEST_SUITE_P(Backends, DeviceTest, ::testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

void ExpectSameReport(const LookupReport& device, const LookupReport& host) {
  EXPECT_EQ(device.found, host.found);
  EXPECT_EQ(device.missing, host.missing);
  EXPECT_EQ(device.unread, host.unread);
  EXPECT_EQ(device.states, host.states);
}

TEST_P(DeviceTest, RowsEqualTheHostsForEveryCodecAndOutput) {
  std::mt19937_64 random(test::Seed(11));
  for (const char* codec : {"F32", "F16", "BF16", "INT8", "F8", "L4", "L4+4", "P,INT8", "P,L4",
                            "P,L4+4", "PQ5x8", "OPQ5,PQ5x4", "RQ3x4", "L4+4 base", "P,L4+4 base",
                            "P,L4+4|F32|INT8", "L4+4|PQ5x8|P,L4+4 base"}) {
    for (const FloatType type : {FloatType::kF32, FloatType::kF16, FloatType::kBF16}) {
      const uint32_t dim = std::string(codec) == "INT8" ? 128 : 33;
      for (const uint64_t cache_bytes : {uint64_t{0}, uint64_t{60000}, uint64_t{4} << 20}) {
        SCOPED_TRACE(std::string(codec) + " to " + std::string(FloatTypeName(type)) + ", cache " +
                     std::to_string(cache_bytes));
        const auto store = NewStore(cache_bytes);
        TableOptions options;
        options.dim = dim;
        // "base": read without its refinement; "a|b|c": the last, and tiers before it.
        std::string words = codec;
        const bool base_only = words.ends_with(" base");
        if (base_only) words.resize(words.size() - 5);
        for (size_t bar; (bar = words.find('|')) != std::string::npos; words.erase(0, bar + 1)) {
          options.hot.push_back({.rows = 90, .codec = *CodecSpec::Parse(words.substr(0, bar))});
        }
        options.codec = *CodecSpec::Parse(words);
        EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 700));
        // Cut into columns where that is possible, or not.
        auto opened = store->OpenTable(
            "t", {.read_dims = cache_bytes > 60000 ? dim / 2 : 0, .base_only = base_only});
        ASSERT_TRUE(opened.ok()) << opened.status().ToString();
        const auto& table = *opened;
        for (int round = 0; round < 4; ++round) {
          const auto rows = SomeRows(700, 150, 8, random);
          LookupOptions lookup;
          lookup.out_type = type;
          lookup.out_stride = dim + 3;
          lookup.on_missing = round == 1 ? OnMissing::kMark : OnMissing::kZero;
          if (round == 2) lookup.dims = dim / 2 + 1;
          std::vector<uint8_t> expected(rows.size() * lookup.out_stride * FloatTypeBytes(type),
                                        0xcd);
          const auto out = ToDevice(expected.data(), expected.size());
          LookupReport host_report, report;
          EDO_ASSERT_OK(table->LookupRows(rows, lookup, expected.data(), &host_report));
          const auto device_rows = ToDevice(rows.data(), rows.size() * 8);
          auto started = table->LookupRowsOnDevice(static_cast<const int64_t*>(device_rows->at),
                                                   rows.size(), lookup, out->at);
          ASSERT_TRUE(started.ok()) << started.status().ToString();
          EDO_ASSERT_OK((*started)->Finish(&report));
          started->reset();
          ASSERT_EQ(FromDevice(*out), expected);
          ExpectSameReport(report, host_report);
        }
        if (cache_bytes > 1000000) {
          EXPECT_GT(store->stats().device_cache_hits, 0u);
        }
        EXPECT_EQ(store->stats().backend, GetParam());
      }
    }
  }
}

TEST_P(DeviceTest, WhenAllIsCachedFinishEnqueuesNothing) {
  const auto store = NewStore(4 << 20);
  TableOptions options;
  options.dim = 64;
  options.codec = *CodecSpec::Parse("INT8");
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 300));
  const auto table = OpenTable(store.get(), "t");
  std::vector<uint64_t> rows(300);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<float> expected(300 * 64);
  EDO_ASSERT_OK(table->LookupRows(rows, {}, expected.data()));
  const auto device_rows = ToDevice(rows.data(), rows.size() * 8);
  const std::vector<float> blank(expected.size(), -7.0f);
  uint64_t misses = 1;
  for (int pass = 0; pass < 3; ++pass) {
    const auto out = ToDevice(blank.data(), blank.size() * 4);
    const uint64_t before = store->stats().device_cache_misses;
    auto started = table->LookupRowsOnDevice(static_cast<const int64_t*>(device_rows->at),
                                             rows.size(), {}, out->at);
    ASSERT_TRUE(started.ok());
    EDO_ASSERT_OK(backend_->Synchronize(kernels::Stream{}));
    const auto at_once = FromDevice(*out);  // what the call itself brought
    EDO_ASSERT_OK((*started)->Finish());
    started->reset();
    misses = store->stats().device_cache_misses - before;
    if (misses == 0) {
      EXPECT_EQ(std::memcmp(at_once.data(), expected.data(), at_once.size()), 0);
    }
    EXPECT_EQ(std::memcmp(FromDevice(*out).data(), expected.data(), at_once.size()), 0);
  }
  EXPECT_EQ(misses, 0u) << "300 rows do not fit 4 MiB?";
}

TEST_P(DeviceTest, KeysOfEveryKindAreResolvedByTheHost) {
  const auto store = NewStore(1 << 20);
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    SCOPED_TRACE(KeyKindName(kind));
    TableOptions options;
    options.dim = 16;
    options.key_kind = kind;
    EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 400));
    const auto table = OpenTable(store.get(), "t");
    std::vector<std::string> texts;
    std::vector<int64_t> ids;
    for (const uint64_t row : {3u, 399u, 400u, 3u, 17u}) {
      texts.push_back("k" + std::to_string(row));
      ids.push_back(kind == KeyKind::kInt64 ? static_cast<int64_t>(row) * 7 - 1000
                                            : static_cast<int64_t>(row));
    }
    ids.push_back(std::numeric_limits<int64_t>::min());
    texts.push_back("");
    const std::vector<std::string_view> tokens(texts.begin(), texts.end());
    for (const OnMissing missing : {OnMissing::kZero, OnMissing::kMark, OnMissing::kError}) {
      LookupOptions lookup;
      lookup.on_missing = missing;
      if (kind != KeyKind::kText) lookup.padding_id = ids[4];
      std::vector<float> expected(6 * 16, -7.0f);
      const auto out = ToDevice(expected.data(), expected.size() * 4);
      LookupReport host_report, report;
      const Status host =
          kind == KeyKind::kText
              ? table->Lookup(tokens, lookup, expected.data(), &host_report)
              : table->Lookup(std::span<const int64_t>(ids), lookup, expected.data(), &host_report);
      auto started = kind == KeyKind::kText ? table->LookupOnDevice(tokens, lookup, out->at)
                                            : table->LookupOnDevice(ids, lookup, out->at);
      ASSERT_TRUE(started.ok()) << started.status().ToString();
      const Status device = (*started)->Finish(&report);
      started->reset();
      EXPECT_EQ(device.ToString(), host.ToString());
      EXPECT_EQ(std::memcmp(FromDevice(*out).data(), expected.data(), expected.size() * 4), 0);
      ExpectSameReport(report, host_report);
    }
  }
}

TEST_P(DeviceTest, BagsEqualTheHosts) {
  std::mt19937_64 random(test::Seed(12));
  using Case = std::pair<const char*, uint64_t>;  // codec, bytes of the cache
  for (const auto& [codec, cache_bytes] :
       {Case{"INT8", 0}, Case{"INT8", 40000}, Case{"INT8", 2 << 20}, Case{"P,L4", 2 << 20},
        Case{"L4+4", 40000}, Case{"PQ5x4", 2 << 20}}) {
    SCOPED_TRACE(codec);
    const auto store = NewStore(cache_bytes);
    TableOptions options;
    options.dim = 40;
    options.codec = *CodecSpec::Parse(codec);
    EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 500));
    const auto table = OpenTable(store.get(), "t");
    for (int round = 0; round < 8; ++round) {
      SCOPED_TRACE("cache " + std::to_string(cache_bytes) + " round " + std::to_string(round));
      const auto rows = SomeRows(500, 300, round % 2 ? 12 : 0, random);
      const auto offsets = SomeOffsets(rows.size(), random);
      std::vector<uint64_t> ends = offsets;  // of DeviceBags
      ends.push_back(rows.size());
      std::vector<float> weights(rows.size());
      for (float& w : weights) w = static_cast<float>(random() % 1000) / 300.0f - 1.5f;
      Bags bags{offsets};
      if (round % 3 == 1) bags.weights = weights;
      if (round % 3 == 2) bags.mode = PoolMode::kMean;
      LookupOptions lookup;
      if (round >= 5) lookup.out_type = FloatType::kF16;
      if (round == 4) lookup.dims = 17;
      if (round >= 6) lookup.on_missing = OnMissing::kError;
      std::vector<uint8_t> expected(offsets.size() * 40 * FloatTypeBytes(lookup.out_type), 0xcd);
      const auto out = ToDevice(expected.data(), expected.size());
      const auto again = ToDevice(expected.data(), expected.size());
      LookupReport host_report, report;
      const Status host = table->LookupBagRows(rows, bags, lookup, expected.data(), &host_report);

      const auto device_rows = ToDevice(rows.data(), rows.size() * 8);
      const auto device_offsets = ToDevice(ends.data(), ends.size() * 8);
      const auto device_weights = ToDevice(weights.data(), weights.size() * 4);
      DeviceBags device_bags;
      device_bags.offsets = static_cast<const uint64_t*>(device_offsets->at);
      device_bags.count = offsets.size();
      device_bags.mode = bags.mode;
      if (!bags.weights.empty()) {
        device_bags.weights = static_cast<const float*>(device_weights->at);
      }
      auto started = table->LookupBagRowsOnDevice(static_cast<const int64_t*>(device_rows->at),
                                                  rows.size(), device_bags, lookup, out->at);
      ASSERT_TRUE(started.ok()) << started.status().ToString();
      EXPECT_EQ((*started)->Finish(&report).ToString(), host.ToString());
      started->reset();
      ASSERT_EQ(FromDevice(*out), expected);
      ExpectSameReport(report, host_report);

      const std::vector<int64_t> ids(rows.begin(), rows.end());
      started = table->LookupBagsOnDevice(ids, bags, lookup, again->at);
      ASSERT_TRUE(started.ok()) << started.status().ToString();
      EXPECT_EQ((*started)->Finish().ToString(), host.ToString());
      started->reset();
      ASSERT_EQ(FromDevice(*again), expected);
    }
  }
}

TEST_P(DeviceTest, BagsOfManyGroupsNeedTheMemoryOfOne) {
  std::mt19937_64 random(test::Seed(14));
  const auto store = NewStore(200000);
  TableOptions options;
  options.dim = 300;
  options.codec = *CodecSpec::Parse("INT8");
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 1000));
  const auto table = OpenTable(store.get(), "t");
  // A group is 64 MiB of decoded rows, some 55,900 of them.
  const auto rows = SomeRows(1000, 130000, 0, random);
  std::vector<uint64_t> offsets;
  for (uint64_t at = 0; at < rows.size(); at += 1000) offsets.push_back(at);
  std::vector<float> expected(offsets.size() * 300);
  EDO_ASSERT_OK(table->LookupBagRows(rows, Bags{offsets}, {}, expected.data()));
  const std::vector<float> blank(expected.size(), -7.0f);
  const auto out = ToDevice(blank.data(), blank.size() * 4);
  const std::vector<int64_t> ids(rows.begin(), rows.end());
  auto started = table->LookupBagsOnDevice(ids, Bags{offsets}, {}, out->at);
  ASSERT_TRUE(started.ok()) << started.status().ToString();
  EDO_ASSERT_OK((*started)->Finish());
  started->reset();
  EXPECT_EQ(std::memcmp(FromDevice(*out).data(), expected.data(), expected.size() * 4), 0);
}

TEST_P(DeviceTest, ABagTooLongForTheDevicesScratchIsPooledByTheHost) {
  std::mt19937_64 random(test::Seed(15));
  const auto store = NewStore(20000);
  TableOptions options;
  options.dim = 40;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 500));
  const auto table = OpenTable(store.get(), "t");
  const auto rows = SomeRows(500, 70000, 0, random);
  const std::vector<uint64_t> offsets{0, 3, 69000};
  LookupOptions lookup;
  lookup.dims = 17;
  std::vector<float> expected(offsets.size() * 17, -7.0f);
  const auto out = ToDevice(expected.data(), expected.size() * 4);
  EDO_ASSERT_OK(table->LookupBagRows(rows, Bags{offsets}, lookup, expected.data()));
  const std::vector<int64_t> ids(rows.begin(), rows.end());
  auto started = table->LookupBagsOnDevice(ids, Bags{offsets}, lookup, out->at);
  ASSERT_TRUE(started.ok()) << started.status().ToString();
  EDO_ASSERT_OK((*started)->Finish());
  started->reset();
  EXPECT_EQ(std::memcmp(FromDevice(*out).data(), expected.data(), expected.size() * 4), 0);
}

TEST_P(DeviceTest, APerThreadStreamIsRefused) {
  const auto store = NewStore(1 << 20);
  TableOptions options;
  options.dim = 4;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 50));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<int64_t> ids{1};
  float out[4];
  const auto started = table->LookupOnDevice(ids, {}, out, reinterpret_cast<void*>(uintptr_t{2}));
  EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, ReplacedTablesAreNeverServedFromTheCache) {
  const auto store = NewStore(1 << 20);
  TableOptions options;
  options.dim = 8;
  std::vector<uint64_t> rows(200);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  const auto device_rows = ToDevice(rows.data(), rows.size() * 8);
  std::unique_ptr<Table> old;
  for (uint64_t version = 0; version < 5; ++version) {
    EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 200, version));
    auto table = OpenTable(store.get(), "t");
    for (int pass = 0; pass < 3; ++pass) {
      const std::vector<float> blank(200 * 8);
      const auto out = ToDevice(blank.data(), blank.size() * 4);
      const auto check = [&](const Table& t, uint64_t wanted) {
        auto started = t.LookupRowsOnDevice(static_cast<const int64_t*>(device_rows->at),
                                            rows.size(), {}, out->at);
        ASSERT_TRUE(started.ok());
        EDO_ASSERT_OK((*started)->Finish());
        started->reset();
        const auto expected = test::RowsOf(0, 200, 8, wanted);
        EXPECT_EQ(std::memcmp(FromDevice(*out).data(), expected.data(), expected.size() * 4), 0)
            << "version " << wanted;
      };
      check(*table, version);
      if (old) check(*old, version - 1);  // a handle keeps its generation
    }
    old = std::move(table);
  }
}

TEST_P(DeviceTest, RowsThatCouldNotBeReadStayAsTheyWere) {
  const auto store = NewStore(1 << 20);
  TableOptions options;
  options.dim = 4;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 5000));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<int64_t> ids{1, 4000, 2};
  const std::vector<float> blank(3 * 4, -7.0f);
  const auto out = ToDevice(blank.data(), blank.size() * 4);
  LookupOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  auto started = table->LookupOnDevice(ids, late, out->at);
  ASSERT_TRUE(started.ok());
  LookupReport report;
  EXPECT_EQ((*started)->Finish(&report).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(report.unread, 3u);
  EXPECT_EQ(std::memcmp(FromDevice(*out).data(), blank.data(), blank.size() * 4), 0);
}

TEST_P(DeviceTest, EmptyBatchesAndLookupsThatAreDroppedAreOrdinary) {
  const auto store = NewStore(1 << 20);
  TableOptions options;
  options.dim = 4;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 50));
  const auto table = OpenTable(store.get(), "t");
  auto started = table->LookupRowsOnDevice(nullptr, 0, {}, nullptr);
  ASSERT_TRUE(started.ok()) << started.status().ToString();
  EDO_EXPECT_OK((*started)->Finish());
  started = table->LookupBagRowsOnDevice(nullptr, 0, {}, {}, nullptr);
  ASSERT_TRUE(started.ok()) << started.status().ToString();
  LookupReport report;
  EDO_EXPECT_OK((*started)->Finish(&report));
  EXPECT_TRUE(report.states.empty());
  LookupOptions whole;
  whole.on_missing = OnMissing::kError;
  started = table->LookupBagRowsOnDevice(nullptr, 0, {}, whole, nullptr);
  ASSERT_TRUE(started.ok()) << started.status().ToString();
  EDO_EXPECT_OK((*started)->Finish(&report));
  const std::vector<int64_t> ids{1, 2, 3};
  const std::vector<float> blank(3 * 4);
  const auto out = ToDevice(blank.data(), blank.size() * 4);
  started = table->LookupOnDevice(ids, {}, out->at);
  ASSERT_TRUE(started.ok());
  started->reset();  // never finished
  EXPECT_EQ(table->LookupOnDevice(ids, {}, nullptr).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(table->LookupRowsOnDevice(nullptr, 3, {}, out->at).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, LookupsOnTwoStreamsDoNotDisturbEachOther) {
  std::mt19937_64 random(test::Seed(13));
  const auto store = NewStore(30000);  // a few blocks: rows come and go all the time
  TableOptions options;
  options.dim = 32;
  options.codec = *CodecSpec::Parse("INT8");
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 400));
  const auto table = OpenTable(store.get(), "t");
  kernels::Stream streams[2];
  for (auto& stream : streams) {
    auto made = backend_->CreateStream();
    ASSERT_TRUE(made.ok());
    stream = *made;
  }
  for (int round = 0; round < 20; ++round) {
    struct Half {
      std::vector<uint64_t> rows;
      std::vector<float> expected;
      std::unique_ptr<Memory> device_rows, out;
      std::unique_ptr<DeviceLookup> lookup;
    } halves[2];
    for (int h = 0; h < 2; ++h) {
      Half& half = halves[h];
      half.rows = SomeRows(400, 100, 0, random);
      half.expected.resize(half.rows.size() * 32);
      EDO_ASSERT_OK(table->LookupRows(half.rows, {}, half.expected.data()));
      half.device_rows = ToDevice(half.rows.data(), half.rows.size() * 8);
      half.out = ToDevice(half.expected.data(), half.expected.size() * 4);
      EDO_ASSERT_OK(backend_->Zero(half.out->at, half.out->bytes, {}));
      EDO_ASSERT_OK(backend_->Synchronize(kernels::Stream{}));
    }
    for (int h = 0; h < 2; ++h) {
      Half& half = halves[h];
      auto started =
          table->LookupRowsOnDevice(static_cast<const int64_t*>(half.device_rows->at),
                                    half.rows.size(), {}, half.out->at, streams[h].handle);
      ASSERT_TRUE(started.ok());
      half.lookup = std::move(*started);
    }
    for (const int h : {round % 2, 1 - round % 2}) EDO_ASSERT_OK(halves[h].lookup->Finish());
    for (int h = 0; h < 2; ++h) {
      halves[h].lookup.reset();
      EDO_ASSERT_OK(backend_->Synchronize(streams[h]));
      ASSERT_EQ(std::memcmp(FromDevice(*halves[h].out).data(), halves[h].expected.data(),
                            halves[h].expected.size() * 4),
                0);
    }
  }
  for (const auto& stream : streams) backend_->DestroyStream(stream);
}

TEST(Backends, WithoutADeviceCacheTheCpuServesDeviceLookupsFromTheHosts) {
  const auto store = test::MemoryStore({.backend = BackendKind::kCpu});
  TableOptions options;
  options.dim = 8;
  EDO_ASSERT_OK(Rewrite(store.get(), "t", options, 100));
  const auto table = OpenTable(store.get(), "t");
  const std::vector<int64_t> ids{5, 6, 7};
  const std::vector<uint64_t> offsets{0, 1};
  std::vector<float> out(3 * 8), sums(2 * 8);
  for (int pass = 0; pass < 3; ++pass) {
    auto rows = table->LookupOnDevice(ids, {}, out.data());
    ASSERT_TRUE(rows.ok());
    EDO_ASSERT_OK((*rows)->Finish());
    auto bags = table->LookupBagsOnDevice(ids, Bags{offsets}, {}, sums.data());
    ASSERT_TRUE(bags.ok());
    EDO_ASSERT_OK((*bags)->Finish());
  }
  EXPECT_EQ(store->stats().chunks_read, 1u);
  EXPECT_EQ(store->stats().cache_hits, 15u);
  EXPECT_EQ(out[8], test::ValueOf(6, 0));
  EXPECT_EQ(sums[8], test::ValueOf(6, 0) + test::ValueOf(7, 0));
}

TEST(Backends, ForcingWhatIsNotThereIsAnError) {
  setenv("EDO_BACKEND", "abacus", 1);
  auto store = engine::StoreImpl::MakeNew(storage::MakeMemoryRowStore(), "", {});
  unsetenv("EDO_BACKEND");
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(store.status().message().find("abacus"), std::string_view::npos);
  const bool has_cuda = Backends()[1].available;
  StoreOptions cuda;
  cuda.backend = BackendKind::kCuda;
  store = engine::StoreImpl::MakeNew(storage::MakeMemoryRowStore(), "", cuda);
  EXPECT_EQ(store.ok(), has_cuda);
  if (!has_cuda) {
    EXPECT_EQ(store.status().code(), StatusCode::kUnsupported);
  }
}

TEST(Backends, TheCpuIsAlwaysThere) {
  const auto backends = Backends();
  ASSERT_EQ(backends.size(), 2u);
  EXPECT_EQ(backends[0].name, "cpu");
  EXPECT_TRUE(backends[0].available);
  EXPECT_EQ(backends[1].name, "cuda");
  EXPECT_FALSE(backends[1].description.empty());
}

}  // namespace
}  // namespace edo
