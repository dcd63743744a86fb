// RowCache over the CUDA kernels on the executor: two streams read while fills, invalidations and a
// look-ahead go on, streams interleaved at random by seed. Values change only by an invalidation,
// so a row read must be the row as the model has it, or, when it was read beside the invalidation
// of that row, the row before or after; whatever was not found must be on the miss list. Also: hits
// do come.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "gpucache/row_cache.h"
#include "kernels/cuda/simt_backend.h"
#include "kernels/float_convert.h"
#include "tests/kernels/simt/schedules.h"
#include "tests/support/test_util.h"

namespace edo::test {
namespace {

using gpucache::CachedTable;
using gpucache::GatherQuery;
using gpucache::RowCache;
using kernels::Backend;
using kernels::QueryCounts;
using kernels::RowCodec;
using kernels::RowFormat;
using kernels::RowMark;
using kernels::Stream;

constexpr uint32_t kDim = 24;
constexpr uint64_t kRows = 400;
constexpr uint32_t kMostIds = 40;
constexpr uint32_t kReads = 2;  // streams that read

std::byte CodeOf(uint64_t row, uint64_t version, uint32_t i) {
  return static_cast<std::byte>((row * 31 + version * 101 + i * 7) % 251);
}

// Memory that one stream uses for one call after another.
struct Lane {
  Stream stream;
  std::byte* device = nullptr;
  std::byte* pinned = nullptr;
  std::vector<uint64_t> rows;              // of the call in flight
  std::vector<std::set<uint64_t>> may_be;  // versions that each row may have
  bool busy = false;

  // Layout of both: ids, values, misses, marks, counts, codes.
  static constexpr uint64_t kIds = 0;
  static constexpr uint64_t kValues = kIds + kMostIds * 8;
  static constexpr uint64_t kMisses = kValues + kMostIds * kDim * 4;
  static constexpr uint64_t kMarks = kMisses + kMostIds * 4;
  static constexpr uint64_t kCounts = kMarks + 64;
  static constexpr uint64_t kCodes = kCounts + sizeof(QueryCounts);
  static constexpr uint64_t kBytes = kCodes + kMostIds * (kDim + 2);
};

class RowCacheSimt {
 public:
  RowCacheSimt(std::shared_ptr<Backend> backend, uint64_t seed)
      : backend_(std::move(backend)), random_(seed), versions_(kRows, 0) {
    format_ = kernels::MakeRowFormat(RowCodec::kInt8, kDim);
    const uint64_t block = kernels::ShapeOf(format_).block_bytes();
    auto cache = RowCache::Make(backend_, {.bytes = 4 * block + block / 2});  // 128 of 400 rows
    EXPECT_TRUE(cache.ok()) << cache.status().ToString();
    cache_ = std::move(*cache);
    auto table = cache_->AddTable(format_, kRows);
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    table_ = *table;
    for (Lane& lane : lanes_) {
      lane.stream = *backend_->CreateStream();
      lane.device = static_cast<std::byte*>(*backend_->Allocate(Lane::kBytes));
      lane.pinned = static_cast<std::byte*>(*backend_->AllocatePinned(Lane::kBytes));
    }
  }
  ~RowCacheSimt() {
    for (Lane& lane : lanes_) EDO_EXPECT_OK(backend_->Synchronize(lane.stream));
    table_.reset();
    cache_.reset();
    for (Lane& lane : lanes_) {
      backend_->Free(lane.device, Lane::kBytes);
      backend_->FreePinned(lane.pinned, Lane::kBytes);
      backend_->DestroyStream(lane.stream);
    }
  }

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      Lane& lane = lanes_[random_() % kReads];
      switch (random_() % 10) {
        case 8:
        case 9:
          LookAhead();
          break;
        case 0:
          Invalidate();
          break;
        case 1:
          EDO_EXPECT_OK(cache_->Flush());
          break;
        default:
          if (lane.busy) {
            Finish(lane);
          } else {
            Start(lane);
          }
      }
    }
    for (Lane& lane : lanes_) {
      if (lane.busy) Finish(lane);
    }
    EXPECT_GT(hits_, 0u);
  }
  uint64_t hits() const { return hits_; }

 private:
  // Enqueues a read and copies of what it gives; nothing waits.
  void Start(Lane& lane) {
    lane.busy = true;
    lane.rows.clear();
    lane.may_be.clear();
    const auto count = 1 + random_() % kMostIds;
    for (uint64_t i = 0; i < count; ++i) {
      // Skewed, so that rows come again; some beyond the table.
      const uint64_t row = random_() % 3 == 0 ? random_() % (kRows + 5) : random_() % 60;
      lane.rows.push_back(row);
      lane.may_be.push_back({row < kRows ? versions_[row] : 0});
    }
    std::memcpy(lane.pinned, lane.rows.data(), lane.rows.size() * 8);
    EDO_EXPECT_OK(backend_->CopyToDevice(lane.device, lane.pinned, count * 8, lane.stream));
    EDO_EXPECT_OK(backend_->Zero(lane.device + Lane::kCounts, sizeof(QueryCounts), lane.stream));
    GatherQuery query;
    query.rows = reinterpret_cast<const uint64_t*>(lane.device + Lane::kIds);
    query.count = static_cast<uint32_t>(count);
    query.out = {lane.device + Lane::kValues, FloatType::kF32, kDim};
    query.misses = reinterpret_cast<uint32_t*>(lane.device + Lane::kMisses);
    query.marks = reinterpret_cast<RowMark*>(lane.device + Lane::kMarks);
    query.counts = reinterpret_cast<QueryCounts*>(lane.device + Lane::kCounts);
    EDO_EXPECT_OK(cache_->Gather(*table_, query, lane.stream));
    EDO_EXPECT_OK(backend_->CopyToHost(lane.pinned + Lane::kValues, lane.device + Lane::kValues,
                                       Lane::kCodes - Lane::kValues, lane.stream));
  }

  // Waits for the read, checks it, and offers what it missed.
  void Finish(Lane& lane) {
    lane.busy = false;
    EDO_EXPECT_OK(backend_->Synchronize(lane.stream));
    if (::testing::Test::HasFailure()) return;
    const auto* const values = reinterpret_cast<const float*>(lane.pinned + Lane::kValues);
    const auto* const marks = reinterpret_cast<const RowMark*>(lane.pinned + Lane::kMarks);
    QueryCounts counts;
    std::memcpy(&counts, lane.pinned + Lane::kCounts, sizeof counts);
    std::set<uint32_t> missed, listed;
    for (uint32_t i = 0; i < lane.rows.size(); ++i) {
      if (marks[i] == RowMark::kMissed) missed.insert(i);
      EXPECT_EQ(marks[i] == RowMark::kAbsent, lane.rows[i] >= kRows);
      if (marks[i] != RowMark::kFound) continue;
      ++hits_;
      bool known = false;
      for (const uint64_t version : lane.may_be[i]) {
        bool same = true;
        for (uint32_t c = 0; c < kDim; ++c) {
          const auto code = static_cast<int8_t>(CodeOf(lane.rows[i], version, c));
          same = same && values[i * kDim + c] == static_cast<float>(code);
        }
        known = known || same;
      }
      EXPECT_TRUE(known) << "row " << lane.rows[i] << " is none of its " << lane.may_be[i].size()
                         << " versions";
    }
    EXPECT_EQ(counts.misses, missed.size());
    for (uint32_t m = 0; m < counts.misses && m < kMostIds; ++m) {
      uint32_t at;
      std::memcpy(&at, lane.pinned + Lane::kMisses + m * 4, 4);
      listed.insert(at);
    }
    EXPECT_EQ(listed, missed);
    if (missed.empty()) return;
    // The rows as they are now, from "disk".
    std::vector<uint64_t> rows;
    std::byte* to = lane.pinned + Lane::kCodes;
    for (const uint32_t i : missed) {
      rows.push_back(lane.rows[i]);
      for (uint32_t c = 0; c < kDim; ++c) to[c] = CodeOf(rows.back(), versions_[rows.back()], c);
      const uint16_t one = kernels::F32ToBF16(1.0f);
      std::memcpy(to + kDim, &one, 2);
      to += kDim + 2;
    }
    EDO_EXPECT_OK(backend_->CopyToDevice(lane.device + Lane::kCodes, lane.pinned + Lane::kCodes,
                                         rows.size() * (kDim + 2), lane.stream));
    EDO_EXPECT_OK(cache_->FillFromDevice(*table_, rows, lane.device + Lane::kCodes, lane.stream));
    // No wait: the codes are written again only when the stream has done this (above).
  }

  // A look-ahead begins, learns of a batch, goes on by one, or ends; nothing waits for the device.
  void LookAhead() {
    if (!looks_ahead_) {
      EDO_EXPECT_OK(cache_->BeginLookAhead(*table_));
      looks_ahead_ = true;
    }
    switch (random_() % 8) {
      case 0:
        cache_->EndLookAhead(*table_);
        looks_ahead_ = false;
        break;
      case 1:
      case 2:
        EDO_EXPECT_OK(cache_->AdvanceBatch(*table_));
        break;
      default: {
        std::vector<uint64_t> rows;
        for (uint64_t i = 0; i < random_() % kMostIds; ++i) {
          rows.push_back(random_() % 3 == 0 ? random_() % (kRows + 5) : random_() % 60);
        }
        EDO_EXPECT_OK(cache_->AppendBatch(*table_, rows));
      }
    }
  }

  // New values for some rows. Reads in flight may see the old or the new.
  void Invalidate() {
    std::vector<uint64_t> rows;
    for (uint64_t i = 0; i < 1 + random_() % 6; ++i) rows.push_back(random_() % 60);
    for (const uint64_t row : rows) {
      ++versions_[row];
      for (Lane& lane : lanes_) {
        for (size_t i = 0; lane.busy && i < lane.rows.size(); ++i) {
          if (lane.rows[i] == row) lane.may_be[i].insert(versions_[row]);
        }
      }
    }
    EDO_EXPECT_OK(cache_->Invalidate(*table_, rows));
  }

  const std::shared_ptr<Backend> backend_;
  std::mt19937_64 random_;
  RowFormat format_;
  std::unique_ptr<RowCache> cache_;
  std::shared_ptr<const CachedTable> table_;
  Lane lanes_[kReads];
  std::vector<uint64_t> versions_;
  uint64_t hits_ = 0;
  bool looks_ahead_ = false;
};

TEST(RowCacheSimt, EveryRowReadIsAVersionThatItMayBe) {
  uint64_t hits = 0;
  for (const simt::Config& schedule :
       Schedules({simt::Policy::kRandom, simt::Policy::kStarve}, simt::IsCheckBuild() ? 10 : 20)) {
    SCOPED_TRACE(ReplayText(schedule));
    simt::Config config = schedule;
    config.max_switches = uint64_t{1} << 28;
    simt::Configure(config);
    {
      RowCacheSimt test(kernels::MakeSimtBackend(), config.seed);
      test.Run(simt::IsCheckBuild() ? 60 : 150);
      hits += test.hits();
    }
    EXPECT_EQ(simt::TakeReport().text, "");
    if (HasFailure()) return;
  }
  std::cout << hits << " rows read from the cache\n";
}

// A loop over three times what the cache holds, every batch known ten batches ahead: about a third
// stays, as many as there are slots. The streams' order is the schedule's.
TEST(RowCacheSimt, ALookAheadDecidesWhichRowsStay) {
  const auto hits_of_a_loop = [] {
    const auto backend = kernels::MakeSimtBackend();
    const RowFormat format = kernels::MakeRowFormat(RowCodec::kInt8, kDim);
    auto made = RowCache::Make(backend, {.bytes = kernels::ShapeOf(format).block_bytes()});
    EXPECT_TRUE(made.ok());
    RowCache& cache = **made;
    const auto table = *cache.AddTable(format, kRows);
    constexpr uint64_t kBatch = 8, kLoop = 12;  // batches of 12 * 8 rows, three times the slots
    const auto batch_of = [](uint64_t number) {
      std::vector<uint64_t> rows(kBatch);
      for (uint64_t i = 0; i < kBatch; ++i) rows[i] = number % kLoop * kBatch + i;
      return rows;
    };
    constexpr uint64_t kIds = kBatch * 8, kValues = kBatch * kDim * 4;
    auto* const device = static_cast<std::byte*>(*backend->Allocate(
        kIds + kValues + kBatch * 4 + sizeof(QueryCounts) + kBatch * (kDim + 2)));
    std::byte* const values = device + kIds;
    std::byte* const misses = values + kValues;
    std::byte* const counts = misses + kBatch * 4;
    std::byte* const codes = counts + sizeof(QueryCounts);
    const Stream stream = *backend->CreateStream();
    EDO_EXPECT_OK(cache.BeginLookAhead(*table));
    uint64_t hits = 0, appended = 0;
    for (uint64_t b = 0; b < 5 * kLoop; ++b) {
      for (; appended <= b + kLoop; ++appended) {
        EDO_EXPECT_OK(cache.AppendBatch(*table, batch_of(appended)));
      }
      EDO_EXPECT_OK(cache.AdvanceBatch(*table));
      const std::vector<uint64_t> rows = batch_of(b);
      EDO_EXPECT_OK(backend->CopyToDevice(device, rows.data(), kIds, stream));
      EDO_EXPECT_OK(backend->Zero(counts, sizeof(QueryCounts), stream));
      GatherQuery query;
      query.rows = reinterpret_cast<const uint64_t*>(device);
      query.count = kBatch;
      query.out = {values, FloatType::kF32, kDim};
      query.misses = reinterpret_cast<uint32_t*>(misses);
      query.counts = reinterpret_cast<QueryCounts*>(counts);
      EDO_EXPECT_OK(cache.Gather(*table, query, stream));
      QueryCounts found;
      std::vector<uint32_t> missed(kBatch);
      EDO_EXPECT_OK(backend->CopyToHost(&found, counts, sizeof found, stream));
      EDO_EXPECT_OK(backend->CopyToHost(missed.data(), misses, kBatch * 4, stream));
      EDO_EXPECT_OK(backend->Synchronize(stream));
      hits += kBatch - found.misses;
      std::vector<uint64_t> wanted;
      for (uint32_t m = 0; m < found.misses; ++m) wanted.push_back(rows[missed[m]]);
      if (wanted.empty()) continue;
      EDO_EXPECT_OK(backend->Zero(codes, kBatch * (kDim + 2), stream));
      EDO_EXPECT_OK(cache.FillFromDevice(*table, wanted, codes, stream));
      EDO_EXPECT_OK(backend->Synchronize(stream));
    }
    cache.EndLookAhead(*table);
    backend->Free(device, 0);
    backend->DestroyStream(stream);
    return hits;
  };
  for (simt::Config config : Schedules({simt::Policy::kRandom, simt::Policy::kStarve}, 2)) {
    SCOPED_TRACE(ReplayText(config));
    config.max_switches = uint64_t{1} << 28;
    simt::Configure(config);
    const uint64_t with = hits_of_a_loop();
    EXPECT_EQ(simt::TakeReport().text, "");
    // 32 slots of 96 rows, after the first round.
    EXPECT_GE(with, 4 * 96 / 4);
    EXPECT_LE(with, 4 * 96 / 3);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace edo::test
