// What the tests of the row cache share: rows that can be made again from their number and version,
// a backend that watches (and refuses memory when told), readers that stay inside a read, and
// lookups checked against what the rows decode to by scalar formulas.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "gpucache/row_cache.h"
#include "tests/gpucache/invariants.h"
#include "tests/kernels/row_model.h"
#include "tests/support/test_util.h"

namespace edo::test {

// ---- rows --------------------------------------------------------------------------------------

inline uint64_t HashOf(uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

// Which rows: any bits a table may hold (kAnyBits: NaN and infinities too), or such that sums of
// many stay finite.
enum class Values { kAnyBits, kFinite };

// The row as on disk. Every value depends on row and version, so a torn row shows.
inline std::vector<std::byte> EncodedRow(const kernels::RowFormat& format, uint64_t row,
                                         uint64_t version, Values values = Values::kFinite) {
  return RandomRow(format, HashOf(row * 1000003 + version * 7919 + 17), values == Values::kFinite);
}

// The row decoded, as the bytes of `type`.
inline std::vector<std::byte> DecodedRow(const kernels::RowFormat& format,
                                         const std::vector<std::byte>& row, FloatType type) {
  std::vector<std::byte> out;
  for (const uint32_t bits : RowBits(format, row.data(), type)) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&bits);
    out.insert(out.end(), bytes, bytes + FloatTypeBytes(type));
  }
  return out;
}

// ---- a backend that watches --------------------------------------------------------------------

// Stays inside a ProbeGather of its thread until it is let go.
class ReadHold {
 public:
  void Enter() {
    entered_.count_down();
    let_go_.wait();
  }
  void WaitUntilInside() { entered_.wait(); }
  void LetGo() { let_go_.count_down(); }

 private:
  std::latch entered_{1};
  std::latch let_go_{1};
};

// The CPU backend; counts memory, refuses it on request, knows the blocks that reads were given
// (while `watch` is set: its lock would order threads that the cache does not), and holds reads.
class SpyBackend final : public kernels::Backend {
 public:
  std::atomic<bool> watch{true};
  std::function<bool(uint64_t)> refuse;          // an allocation of so many bytes
  static thread_local ReadHold* hold_before;     // of this thread's reads
  static thread_local ReadHold* hold_after;      // likewise, once the rows were read
  std::atomic<uint64_t> allocated{0};            // bytes
  std::atomic<uint64_t> most_allocated{0};       // at once, ever
  std::atomic<uint64_t> last_first_position{0};  // of the last read
  std::vector<kernels::BlockView> views() {
    const std::lock_guard lock(mutex_);
    std::vector<kernels::BlockView> all;
    for (const auto& [headers, view] : views_) all.push_back(view);
    return all;
  }

  std::string_view name() const override { return "spy"; }
  std::string device() const override { return inner_->device(); }
  bool synchronous() const override { return true; }
  Result<void*> Allocate(uint64_t bytes) override {
    if (refuse && refuse(bytes)) return Status::NoSpace("refused " + std::to_string(bytes));
    const uint64_t now = allocated.fetch_add(bytes) + bytes;
    if (now > most_allocated) most_allocated = now;
    return inner_->Allocate(bytes);
  }
  void Free(void* memory, uint64_t bytes) override {
    if (memory == nullptr) return;
    allocated -= bytes;
    const std::lock_guard lock(mutex_);
    views_.erase(static_cast<std::byte*>(memory));
    inner_->Free(memory, bytes);
  }
  Result<void*> AllocatePinned(uint64_t bytes) override { return inner_->AllocatePinned(bytes); }
  void FreePinned(void* memory, uint64_t bytes) override { inner_->FreePinned(memory, bytes); }
  uint64_t FreeBytes() const override { return inner_->FreeBytes(); }
  Result<kernels::Stream> CreateStream() override { return inner_->CreateStream(); }
  void DestroyStream(kernels::Stream stream) override { inner_->DestroyStream(stream); }
  Result<kernels::Event> CreateEvent() override { return inner_->CreateEvent(); }
  void DestroyEvent(kernels::Event event) override { inner_->DestroyEvent(event); }
  Status Record(kernels::Event event, kernels::Stream stream) override {
    return inner_->Record(event, stream);
  }
  Status WaitFor(kernels::Stream stream, kernels::Event event) override {
    return inner_->WaitFor(stream, event);
  }
  Result<bool> IsDone(kernels::Event event) override { return inner_->IsDone(event); }
  Status Synchronize(kernels::Event event) override { return inner_->Synchronize(event); }
  Status Synchronize(kernels::Stream stream) override { return inner_->Synchronize(stream); }
  Status CopyToDevice(void* to, const void* from, uint64_t bytes, kernels::Stream s) override {
    return inner_->CopyToDevice(to, from, bytes, s);
  }
  Status CopyToHost(void* to, const void* from, uint64_t bytes, kernels::Stream s) override {
    return inner_->CopyToHost(to, from, bytes, s);
  }
  Status Zero(void* device, uint64_t bytes, kernels::Stream s) override {
    return inner_->Zero(device, bytes, s);
  }
  Status ProbeGather(const kernels::ProbeGatherArgs& args, kernels::Stream s) override {
    Watch(args.blocks, args.query.first_position);
    if (hold_before != nullptr) hold_before->Enter();
    const Status status = inner_->ProbeGather(args, s);
    if (hold_after != nullptr) hold_after->Enter();
    return status;
  }
  Status ProbePool(const kernels::ProbePoolArgs& args, kernels::Stream s) override {
    Watch(args.blocks, args.query.first_position);
    return inner_->ProbePool(args, s);
  }
  Status Pool(const kernels::PoolArgs& args, kernels::Stream s) override {
    return inner_->Pool(args, s);
  }
  Status Gather(const kernels::GatherArgs& args, kernels::Stream s) override {
    return inner_->Gather(args, s);
  }
  Status ChooseSlots(const kernels::FillArgs& args, kernels::Stream s) override {
    return inner_->ChooseSlots(args, s);
  }
  Status WriteSlots(const kernels::FillArgs& args, kernels::Stream s) override {
    return inner_->WriteSlots(args, s);
  }
  Status PublishSlots(const kernels::FillArgs& args, kernels::Stream s) override {
    return inner_->PublishSlots(args, s);
  }
  Status InvalidateRange(const kernels::BlockView& blocks, uint64_t first, uint64_t last,
                         kernels::Stream s) override {
    return inner_->InvalidateRange(blocks, first, last, s);
  }
  Status Invalidate(const kernels::BlockView& blocks, const uint64_t* positions, uint32_t count,
                    kernels::Stream s) override {
    return inner_->Invalidate(blocks, positions, count, s);
  }
  Status Pin(const kernels::BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
             uint8_t* done, kernels::Stream s) override {
    return inner_->Pin(blocks, positions, count, delta, done, s);
  }
  Status Foresee(const kernels::BlockView& blocks, const uint64_t* positions,
                 const uint32_t* next_use, uint32_t count, kernels::Stream s) override {
    return inner_->Foresee(blocks, positions, next_use, count, s);
  }
  Status AgeScores(const kernels::BlockView& blocks, uint32_t clock, kernels::Stream s) override {
    return inner_->AgeScores(blocks, clock, s);
  }

 private:
  void Watch(const kernels::BlockView& view, uint64_t first_position) {
    if (!watch.load(std::memory_order_relaxed)) return;
    last_first_position = first_position;
    if (view.blocks == 0) return;
    const std::lock_guard lock(mutex_);
    views_[view.headers] = view;
  }

  const std::shared_ptr<kernels::Backend> inner_ = kernels::MakeCpuBackend();
  std::mutex mutex_;
  std::map<std::byte*, kernels::BlockView> views_;
};
inline thread_local ReadHold* SpyBackend::hold_before = nullptr;
inline thread_local ReadHold* SpyBackend::hold_after = nullptr;

// ---- a table in a cache ------------------------------------------------------------------------

constexpr std::byte kUntouchedByte{0xab};

// What a Gather said.
struct Looked {
  std::vector<kernels::RowMark> marks;
  std::vector<uint32_t> misses;
  kernels::QueryCounts counts;
  std::vector<std::byte> out;  // rows packed
  bool found(size_t i) const { return marks[i] == kernels::RowMark::kFound; }
};

struct TestTable {
  kernels::RowFormat format;
  uint64_t rows = 0;
  std::shared_ptr<const gpucache::CachedTable> handle;
  Values values = Values::kFinite;
  std::shared_ptr<const std::vector<std::byte>> learned = nullptr;  // of the format

  std::vector<std::byte> Encoded(uint64_t row, uint64_t version = 0) const {
    return EncodedRow(format, row, version, values);
  }
};

inline TestTable AddTestTable(gpucache::RowCache& cache, kernels::RowCodec codec, uint32_t dim,
                              uint64_t rows, uint32_t cell_bytes = 0) {
  const ModelFormat model = MakeModelFormat(codec, dim, dim);
  TestTable table{model.format, rows, nullptr, Values::kFinite, model.learned};
  auto handle = cache.AddTable(table.format, rows, cell_bytes);
  EXPECT_TRUE(handle.ok()) << handle.status().ToString();
  if (handle.ok()) table.handle = *handle;
  return table;
}

inline Looked Look(gpucache::RowCache& cache, const TestTable& table,
                   std::span<const uint64_t> rows, FloatType type = FloatType::kF32) {
  Looked looked;
  looked.marks.resize(rows.size(), kernels::RowMark::kMissed);
  looked.misses.resize(rows.size());
  looked.out.assign(rows.size() * table.format.dim * FloatTypeBytes(type), kUntouchedByte);
  gpucache::GatherQuery query;
  query.rows = rows.data();
  query.count = static_cast<uint32_t>(rows.size());
  query.out = {looked.out.data(), type, table.format.dim};
  query.misses = looked.misses.data();
  query.marks = looked.marks.data();
  query.counts = &looked.counts;
  EDO_EXPECT_OK(cache.Gather(*table.handle, query));
  looked.misses.resize(looked.counts.misses);
  return looked;
}
inline Looked Look(gpucache::RowCache& cache, const TestTable& table,
                   const std::vector<uint64_t>& rows, FloatType type = FloatType::kF32) {
  return Look(cache, table, std::span<const uint64_t>(rows), type);
}

// A lookup whose every answer is checked: rows found are those of `version` bit for bit, absent
// ones zeros, missed ones untouched and listed in order. Returns how many were found.
inline uint32_t LookAndCheck(gpucache::RowCache& cache, const TestTable& table,
                             const std::vector<uint64_t>& rows, uint64_t version = 0,
                             FloatType type = FloatType::kF32) {
  const Looked looked = Look(cache, table, rows, type);
  const size_t bytes = size_t{table.format.dim} * FloatTypeBytes(type);
  std::vector<uint32_t> misses;
  uint32_t found = 0;
  uint32_t absent = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::byte> out(looked.out.begin() + static_cast<ptrdiff_t>(i * bytes),
                                     looked.out.begin() + static_cast<ptrdiff_t>((i + 1) * bytes));
    switch (looked.marks[i]) {
      case kernels::RowMark::kFound:
        ++found;
        EXPECT_LT(rows[i], table.rows);
        EXPECT_EQ(out, DecodedRow(table.format, table.Encoded(rows[i], version), type))
            << "row " << rows[i];
        break;
      case kernels::RowMark::kAbsent:
        ++absent;
        EXPECT_GE(rows[i], table.rows);
        EXPECT_EQ(out, std::vector<std::byte>(bytes, std::byte{0}));
        break;
      case kernels::RowMark::kMissed:
        EXPECT_LT(rows[i], table.rows);
        EXPECT_EQ(out, std::vector<std::byte>(bytes, kUntouchedByte));
        misses.push_back(static_cast<uint32_t>(i));
        break;
      case kernels::RowMark::kElsewhere:
        ADD_FAILURE() << "row " << rows[i] << " of a table that is one tier";
    }
    if (::testing::Test::HasFailure()) return found;
  }
  EXPECT_EQ(looked.misses, misses);
  EXPECT_EQ(looked.counts.absent, absent);
  return found;
}

// Offers rows. They may still lie aside when this returns.
inline void Offer(gpucache::RowCache& cache, const TestTable& table,
                  const std::vector<uint64_t>& rows, uint64_t version = 0) {
  std::vector<std::byte> codes;
  for (const uint64_t row : rows) {
    const std::vector<std::byte> one = table.Encoded(row, version);
    codes.insert(codes.end(), one.begin(), one.end());
  }
  cache.Fill(*table.handle, rows, std::move(codes));
}

// Looks rows up and offers what was missed, as the engine does. Returns how many were found.
inline uint32_t LookAndOffer(gpucache::RowCache& cache, const TestTable& table,
                             const std::vector<uint64_t>& rows) {
  const Looked looked = Look(cache, table, rows);
  std::vector<uint64_t> missed;
  for (const uint32_t i : looked.misses) missed.push_back(rows[i]);
  Offer(cache, table, missed);
  return static_cast<uint32_t>(rows.size() - missed.size()) - looked.counts.absent;
}

// A thread inside a read of `rows`: it has entered and not looked yet (kBeforeLooking), or has its
// rows and not left yet.
class HeldReader {
 public:
  enum Where { kBeforeLooking, kAfterLooking };
  HeldReader(gpucache::RowCache& cache, const TestTable& table, std::vector<uint64_t> rows,
             Where where = kBeforeLooking)
      : thread_([this, &cache, &table, rows = std::move(rows), where] {
          (where == kBeforeLooking ? SpyBackend::hold_before : SpyBackend::hold_after) = &hold_;
          looked_ = Look(cache, table, rows);
        }) {
    hold_.WaitUntilInside();
  }
  ~HeldReader() { (void)Leave(); }
  HeldReader(const HeldReader&) = delete;
  HeldReader& operator=(const HeldReader&) = delete;

  const Looked& Leave() {
    if (thread_.joinable()) {
      hold_.LetGo();
      thread_.join();
    }
    return looked_;
  }

 private:
  ReadHold hold_;
  Looked looked_;
  std::thread thread_;  // last: uses the others
};

struct TestCache {
  std::shared_ptr<SpyBackend> spy = std::make_shared<SpyBackend>();
  std::unique_ptr<gpucache::RowCache> cache;

  explicit TestCache(const gpucache::RowCacheOptions& options) {
    auto made = gpucache::RowCache::Make(spy, options);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    if (made.ok()) cache = std::move(*made);
  }
  gpucache::RowCache& operator*() const { return *cache; }
  gpucache::RowCache* operator->() const { return cache.get(); }
  void CheckBlocks() const {
    EDO_EXPECT_OK(cache->Flush());
    for (const kernels::BlockView& view : spy->views()) CheckInvariants(view);
  }
};

// Bytes of `blocks` blocks of a codec's rows.
inline uint64_t BlockBytes(kernels::RowCodec codec, uint32_t dim, uint64_t blocks) {
  return kernels::ShapeOf(MakeModelFormat(codec, dim, dim).format).block_bytes() * blocks;
}

inline std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> rows;
  for (uint64_t row = first; row < last; ++row) rows.push_back(row);
  return rows;
}

}  // namespace edo::test
