// Threads that look up, pool, fill, publish new versions, pin, look ahead, and register and drop
// tables, all in one cache, for EDO_STRESS_S seconds (default 3). Run under the thread sanitizer
// too.
//
// What is right. A row has a version, and every value depends on it. To publish a version a thread
// bumps the row's number on "disk", invalidates the row, then bumps the number that is current.
// Whoever brings a row reads the disk's number and offers the row under a lock that publication
// excludes, as an engine does that never offers a row of a generation that is gone. So a lookup
// may see any version from the one that was current when it began to the one that was on disk when
// it ended, whole, and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <fstream>
#include <shared_mutex>

#include "tests/gpucache/cache_harness.h"

namespace edo::gpucache {
namespace {

using kernels::RowCodec;
using test::TestTable;

constexpr uint64_t kStripes = 16;  // of a table's rows: row % kStripes
constexpr size_t kBatch = 48;

// A table whose rows change.
struct ChangingTable {
  explicit ChangingTable(TestTable t) : table(std::move(t)), numbers(table.rows) {}
  struct Numbers {
    std::atomic<uint32_t> disk{1};
    std::atomic<uint32_t> current{1};
  };
  TestTable table;
  std::vector<Numbers> numbers;
  std::array<std::shared_mutex, kStripes> stripes;
};

// Bytes of this process in memory; 0 where that is not known.
uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

constexpr bool kSanitized =
#ifdef EDO_SANITIZED
    true;
#else
    false;
#endif

class Stress {
 public:
  Stress(uint64_t seed, uint64_t bytes)
      : spy_(std::make_shared<test::SpyBackend>()), bytes_(bytes), seed_(seed) {
    spy_->watch = false;  // its lock would order threads that the cache does not
    auto cache = RowCache::Make(spy_, {.bytes = bytes, .pending_bytes = 300000});
    EXPECT_TRUE(cache.ok());
    cache_ = std::move(*cache);
    const auto add = [&](RowCodec codec, uint32_t dim, uint64_t rows, uint32_t cell_bytes = 0) {
      tables_.push_back(std::make_unique<ChangingTable>(
          test::AddTestTable(*cache_, codec, dim, rows, cell_bytes)));
    };
    add(RowCodec::kF32, 8, 2000);
    add(RowCodec::kInt8, 100, 3000);
    add(RowCodec::kF16, 33, 2000);
    add(RowCodec::kBF16, 64, 1000, 32);
    add(RowCodec::kF32, 2048, 200);
    add(RowCodec::kPL4, 100, 1000, 16);
    add(RowCodec::kPQ, 64, 1000);
  }

  void Run(std::chrono::milliseconds time) {
    std::vector<std::thread> threads;
    const auto start = [&](auto work) {
      threads.emplace_back([this, work, id = threads.size()] {
        std::mt19937_64 random(seed_ * 1000 + id);
        while (!stop_) {
          work(random);
          if (::testing::Test::HasFailure()) stop_ = true;
        }
      });
    };
    for (int i = 0; i < 4; ++i) start([this](auto& random) { LookAndFill(random); });
    start([this](auto& random) { PoolBags(random); });
    start([this](auto& random) { Publish(random); });
    start([this](auto& random) { PinSome(random); });
    start([this](auto& random) { ComeAndGo(random); });
    for (int i = 0; i < 2; ++i) start([this](auto& random) { LookFarAhead(random); });
    const auto began = std::chrono::steady_clock::now();
    uint64_t early = 0;
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const auto passed = std::chrono::steady_clock::now() - began;
      if (early == 0 && passed > time / 3) early = ResidentBytes();
      if (passed >= time) stop_ = true;
      EXPECT_LE(cache_->counters().bytes, bytes_);
    }
    for (std::thread& thread : threads) thread.join();
    const uint64_t late = ResidentBytes();
    const RowCacheCounters c = cache_->counters();
    std::cout << "lookups of rows " << asked_ << ", bags " << bags_ << ", versions " << published_
              << ", tables " << registered_ << " (" << refused_ << " refused), batches foreseen "
              << foreseen_ << "\nhits " << c.hits << ", misses " << c.misses << ", fills "
              << c.fills << ", evictions " << c.evictions << ", rejected " << c.rejected
              << ", skipped " << c.skipped << ", deferred " << c.deferred << "\nRSS "
              << early / 1024 << " KiB at a third, " << late / 1024 << " KiB at the end\n";
    if (::testing::Test::HasFailure()) return;
    if (!kSanitized && early > 0) {
      EXPECT_LT(late, early + (uint64_t{6} << 20)) << "memory grows";
    }
    EXPECT_EQ(c.hits, hits_);
    EXPECT_EQ(c.misses, misses_);
  }

  // At rest: every row is missed or has its last version, and the blocks keep their invariants.
  void CheckAtRest() {
    EDO_EXPECT_OK(cache_->Flush());
    spy_->watch = true;
    uint64_t resident = 0;
    for (const auto& changing : tables_) {
      const TestTable& table = changing->table;
      for (uint64_t row = 0; row < table.rows; ++row) {
        resident += LookAndCheck(*cache_, table, {row}, changing->numbers[row].current);
        if (::testing::Test::HasFailure()) return;
      }
    }
    uint64_t occupied = 0;
    for (const kernels::BlockView& view : spy_->views()) {
      test::CheckInvariants(view);
      occupied += test::ResidentRows(view).size();
    }
    EXPECT_EQ(resident, occupied) << "rows of tables that are gone are still there";
    std::cout << resident << " rows resident at the end\n";
    tables_.clear();
    EXPECT_EQ(cache_->counters().bytes, 0u);
    EXPECT_EQ(spy_->allocated, 0u);
  }

 private:
  using Random = std::mt19937_64;

  ChangingTable& AnyTable(Random& random) { return *tables_[random() % tables_.size()]; }
  // Rows of one stripe, the low ones more often.
  static std::vector<uint64_t> SomeRows(const TestTable& table, uint64_t stripe, Random& random) {
    std::vector<uint64_t> rows(random() % kBatch);
    const uint64_t most = table.rows / kStripes;
    for (uint64_t& row : rows) row = random() % (1 + random() % most) * kStripes + stripe;
    return rows;
  }
  // Which of the versions from `first` to `last` the bytes are; 0: none.
  static uint32_t VersionOf(const TestTable& table, uint64_t row, uint32_t first, uint32_t last,
                            const std::byte* out) {
    for (uint32_t version = first; version <= last; ++version) {
      const std::vector<std::byte> expected =
          test::DecodedRow(table.format, table.Encoded(row, version), FloatType::kF32);
      if (std::memcmp(expected.data(), out, expected.size()) == 0) return version;
    }
    return 0;
  }

  void LookAndFill(Random& random) {
    ChangingTable& changing = AnyTable(random);
    const TestTable& table = changing.table;
    const uint64_t stripe = random() % kStripes;
    const std::vector<uint64_t> rows = SomeRows(table, stripe, random);
    std::vector<uint32_t> first;
    for (const uint64_t row : rows) first.push_back(changing.numbers[row].current);
    const test::Looked looked = Look(*cache_, table, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!looked.found(i)) continue;
      const uint32_t last = changing.numbers[rows[i]].disk;
      const std::byte* const out = looked.out.data() + i * table.format.dim * 4;
      ASSERT_NE(VersionOf(table, rows[i], first[i], last, out), 0u)
          << "row " << rows[i] << " dim " << table.format.dim << ": not of version " << first[i]
          << " to " << last << "; it is " << VersionOf(table, rows[i], 1, last + 1, out)
          << " (0: torn)";
    }
    asked_ += rows.size();
    hits_ += rows.size() - looked.misses.size();
    misses_ += looked.misses.size();
    std::vector<uint64_t> missed;
    std::vector<std::byte> codes;
    const std::shared_lock lock(changing.stripes[stripe]);
    for (const uint32_t i : looked.misses) {
      const std::vector<std::byte> row = table.Encoded(rows[i], changing.numbers[rows[i]].disk);
      missed.push_back(rows[i]);
      codes.insert(codes.end(), row.begin(), row.end());
    }
    cache_->Fill(*table.handle, missed, std::move(codes));
  }

  // Bags of the same row once or three times: the sum says which version, and that it was one.
  void PoolBags(Random& random) {
    ChangingTable& changing = AnyTable(random);
    const TestTable& table = changing.table;
    const std::vector<uint64_t> bags = SomeRows(table, random() % kStripes, random);
    std::vector<uint64_t> ids;
    std::vector<uint64_t> offsets{0};
    std::vector<uint32_t> first;
    for (size_t b = 0; b < bags.size(); ++b) {
      ids.insert(ids.end(), b % 2 == 0 ? 1 : 3, bags[b]);
      offsets.push_back(ids.size());
      first.push_back(changing.numbers[bags[b]].current);
    }
    const uint32_t dim = table.format.dim;
    std::vector<float> out(bags.size() * dim, -1.0f);
    std::vector<uint32_t> incomplete(bags.size());
    kernels::QueryCounts counts;
    PoolQuery query;
    query.rows = ids.data();
    query.count = static_cast<uint32_t>(ids.size());
    query.bags = {offsets.data(), static_cast<uint32_t>(bags.size())};
    query.out = {out.data(), FloatType::kF32, dim};
    query.incomplete = incomplete.data();
    query.counts = &counts;
    EDO_ASSERT_OK(cache_->Pool(*table.handle, query));
    incomplete.resize(counts.bags);
    hits_ += ids.size() - counts.misses;
    for (size_t b = 0; b < bags.size(); ++b) {
      if (std::count(incomplete.begin(), incomplete.end(), static_cast<uint32_t>(b)) > 0) continue;
      bool known = false;
      const uint32_t last = changing.numbers[bags[b]].disk;
      for (uint32_t version = first[b]; version <= last && !known; ++version) {
        const std::vector<std::byte> row = table.Encoded(bags[b], version);
        known = true;
        const std::vector<float> values = test::RowValues(table.format, row.data());
        for (uint32_t c = 0; c < dim && known; ++c) {
          const float value = values[c];
          const float sum = b % 2 == 0 ? 0.0f + value : ((0.0f + value) + value) + value;
          known = sum == out[b * dim + c];
        }
      }
      ASSERT_TRUE(known) << "bag of row " << bags[b] << " dim " << dim
                         << " is not the sum of one version, " << first[b] << " to " << last;
      ++bags_;
    }
  }

  void Publish(Random& random) {
    ChangingTable& changing = AnyTable(random);
    const uint64_t stripe = random() % kStripes;
    std::vector<uint64_t> rows = SomeRows(changing.table, stripe, random);
    rows.resize(std::min<size_t>(rows.size(), 8));
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const std::unique_lock lock(changing.stripes[stripe]);
    for (const uint64_t row : rows) ++changing.numbers[row].disk;
    EDO_ASSERT_OK(cache_->Invalidate(*changing.table.handle, rows));
    for (const uint64_t row : rows) ++changing.numbers[row].current;
    published_ += rows.size();
  }

  void PinSome(Random& random) {
    const TestTable& table = AnyTable(random).table;
    const std::vector<uint64_t> rows = SomeRows(table, random() % kStripes, random);
    std::vector<uint8_t> pinned;
    EDO_ASSERT_OK(cache_->Pin(*table.handle, rows, &pinned));
    std::vector<uint64_t> held;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (pinned[i] != 0) held.push_back(rows[i]);
    }
    std::this_thread::yield();
    EDO_ASSERT_OK(cache_->Unpin(*table.handle, held));
    if (random() % 8 == 0) EDO_ASSERT_OK(cache_->Flush());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  // A loop that knows its next batches; now and then it breaks off. Two of one table: one is
  // refused.
  void LookFarAhead(Random& random) {
    const TestTable& table = AnyTable(random).table;
    const Status begun = cache_->BeginLookAhead(*table.handle);
    if (!begun.ok()) {
      ASSERT_EQ(begun.code(), StatusCode::kBusy);
      std::this_thread::yield();
      return;
    }
    std::deque<std::vector<uint64_t>> ahead;
    const uint64_t batches = random() % 40;
    const size_t window = 1 + random() % 20;
    for (uint64_t b = 0; b < batches && !stop_; ++b) {
      while (ahead.size() < window) {
        ahead.push_back(SomeRows(table, random() % kStripes, random));
        EDO_ASSERT_OK(cache_->AppendBatch(*table.handle, ahead.back()));
      }
      EDO_ASSERT_OK(cache_->AdvanceBatch(*table.handle));
      const test::Looked looked = Look(*cache_, table, ahead.front());
      hits_ += ahead.front().size() - looked.misses.size();
      misses_ += looked.misses.size();
      ahead.pop_front();
      ++foreseen_;
    }
    cache_->EndLookAhead(*table.handle);
  }

  // A table of its own comes, is filled and read, and goes: other classes are resized meanwhile,
  // and its positions become another table's.
  void ComeAndGo(Random& random) {
    constexpr RowCodec kCodecs[] = {RowCodec::kF32, RowCodec::kF16, RowCodec::kInt8};
    const bool of_a_known_shape = random() % 2 == 0;
    const uint32_t dim = of_a_known_shape ? 8 : 1 + static_cast<uint32_t>(random() % 300);
    const auto format =
        kernels::MakeRowFormat(of_a_known_shape ? RowCodec::kF32 : kCodecs[random() % 3], dim);
    const uint64_t rows = 1 + random() % (random() % 8 == 0 ? 20000 : 400);
    auto handle = cache_->AddTable(format, rows);
    if (!handle.ok()) {
      ASSERT_EQ(handle.status().code(), StatusCode::kNoSpace);
      ++refused_;
      return;
    }
    const TestTable table{format, rows, std::move(*handle)};
    const uint32_t version = 1 + static_cast<uint32_t>(++registered_ % 1000000);
    // Sometimes it is gone before its look-ahead ends.
    if (random() % 3 == 0) {
      EDO_ASSERT_OK(cache_->BeginLookAhead(*table.handle));
      std::vector<uint64_t> some(kBatch);
      for (uint64_t& row : some) row = random() % rows;
      for (int b = 0; b < 3; ++b) EDO_ASSERT_OK(cache_->AppendBatch(*table.handle, some));
      EDO_ASSERT_OK(cache_->AdvanceBatch(*table.handle));
    }
    for (int round = 0; round < 5; ++round) {
      std::vector<uint64_t> some(kBatch);
      for (uint64_t& row : some) row = random() % rows;
      const test::Looked looked = Look(*cache_, table, some);
      for (size_t i = 0; i < some.size(); ++i) {
        if (!looked.found(i)) continue;
        const std::byte* const out = looked.out.data() + i * dim * 4;
        ASSERT_EQ(VersionOf(table, some[i], version, version, out), version)
            << "a row of another table";
      }
      hits_ += some.size() - looked.misses.size();
      misses_ += looked.misses.size();
      Offer(*cache_, table, some, version);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const std::shared_ptr<test::SpyBackend> spy_;
  const uint64_t bytes_;
  const uint64_t seed_;
  std::unique_ptr<RowCache> cache_;
  std::vector<std::unique_ptr<ChangingTable>> tables_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> asked_{0}, hits_{0}, misses_{0}, bags_{0}, published_{0}, registered_{0},
      refused_{0}, foreseen_{0};
};

TEST(RowCacheStress, EveryRowIsOfOneVersionAndNotAnOldOne) {
  const char* const seconds = std::getenv("EDO_STRESS_S");
  const double time = seconds != nullptr ? std::strtod(seconds, nullptr) : 3.0;
  // Less than the tables would fill, so that sets are full and rows go.
  Stress stress(test::Seed(41), 1500000);
  stress.Run(std::chrono::milliseconds(static_cast<int64_t>(time * 1000)));
  if (!HasFailure()) stress.CheckAtRest();
}

}  // namespace
}  // namespace edo::gpucache
