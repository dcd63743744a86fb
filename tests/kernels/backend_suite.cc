#include "tests/kernels/backend_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "kernels/score.h"
#include "tests/kernels/row_model.h"
#include "tests/support/test_util.h"

namespace edo::test {
namespace {

using namespace kernels;  // NOLINT: a test of these

// ---- memory ------------------------------------------------------------------------------------

// An array in the backend's memory, with exactly these elements; it may begin `offset` bytes into
// its allocation.
template <class T>
class Array {
 public:
  Array(Backend& backend, const std::vector<T>& values, size_t offset = 0)
      : Array(backend, values.size(), offset) {
    EDO_EXPECT_OK(backend_.CopyToDevice(get(), values.data(), bytes(), {}));
    EDO_EXPECT_OK(backend_.Synchronize(Stream{}));
  }
  Array(Backend& backend, size_t count, size_t offset = 0)
      : backend_(backend), count_(count), offset_(offset) {
    auto memory = backend.Allocate(bytes() + offset);
    EXPECT_TRUE(memory.ok()) << memory.status().ToString();
    if (memory.ok()) memory_ = static_cast<std::byte*>(*memory);
  }
  ~Array() { backend_.Free(memory_, bytes() + offset_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return reinterpret_cast<T*>(memory_ + offset_); }
  size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    EDO_EXPECT_OK(backend_.CopyToHost(values.data(), get(), bytes(), {}));
    EDO_EXPECT_OK(backend_.Synchronize(Stream{}));
    return values;
  }

 private:
  Backend& backend_;
  const size_t count_;
  const size_t offset_;
  std::byte* memory_ = nullptr;
};

class TestStream {
 public:
  explicit TestStream(Backend& backend) : backend_(backend) {
    auto stream = backend.CreateStream();
    EXPECT_TRUE(stream.ok()) << stream.status().ToString();
    if (stream.ok()) stream_ = *stream;
  }
  ~TestStream() { backend_.DestroyStream(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator Stream() const { return stream_; }  // NOLINT
  void Finish() const { EDO_EXPECT_OK(backend_.Synchronize(stream_)); }

 private:
  Backend& backend_;
  Stream stream_;
};

bool Failed() { return ::testing::Test::HasFailure(); }

// ---- rows --------------------------------------------------------------------------------------

uint64_t Hash(uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

// Encoded rows by number and version: bits at random, or values that sum without overflow.
struct Rows {
  ModelFormat model;
  bool finite = false;

  const RowFormat& format() const { return model.format; }
  std::vector<std::byte> Encoded(uint64_t row, uint64_t version) const {
    return RandomRow(format(), Hash(row * 1000003 + version * 7919 + format().full_dim), finite);
  }
  // Of how many rows the model is quick to say what they are: a rotation takes dim products a
  // value.
  uint64_t Most(uint64_t wanted) const {
    if (format().codec != RowCodec::kRotatedPQ) return wanted;
    const uint64_t products = uint64_t{format().full_dim} * format().group_columns();
    return std::min(wanted, std::max<uint64_t>(2, 300000 / products));
  }
};

// What a codec has learned, in the backend's memory.
class Learned {
 public:
  Learned(Backend& backend, const ModelFormat& model)
      : bytes_(backend, *model.learned, model.offset) {}
  // The format as the backend's kernels take it.
  RowFormat For(RowFormat format) const {
    if (format.learned != nullptr) format.learned = bytes_.get();
    return format;
  }

 private:
  const Array<std::byte> bytes_;
};

// ---- outputs -----------------------------------------------------------------------------------

constexpr std::byte kUntouched{0xAB};

// Output rows with a gap behind each, as bytes; Expect writes what must be there.
class Output {
 public:
  Output(Backend& backend, FloatType type, uint32_t rows, uint32_t dim, uint32_t gap,
         uint32_t offset_values)
      : type_(type),
        dim_(dim),
        stride_(dim + gap),
        // The gap behind the last row is not ours: what is written there is out of bounds.
        expected_(rows == 0 ? 0 : (size_t{rows} * stride_ - gap) * FloatTypeBytes(type),
                  kUntouched),
        device_(backend, expected_, offset_values * FloatTypeBytes(type)) {}

  OutputRows rows() const { return {device_.get(), type_, stride_}; }
  void Expect(uint64_t row, uint32_t i, uint32_t bits) {
    const uint32_t width = FloatTypeBytes(type_);
    std::memcpy(expected_.data() + (row * stride_ + i) * width, &bits, width);
  }
  void ExpectRow(uint64_t row, const RowFormat& format, const std::vector<std::byte>& encoded) {
    const std::vector<uint32_t> bits = RowBits(format, encoded.data(), type_);
    for (uint32_t i = 0; i < dim_; ++i) Expect(row, i, bits[i]);
  }
  void ExpectZeros(uint64_t row) {
    for (uint32_t i = 0; i < dim_; ++i) Expect(row, i, 0);
  }
  void Check(const char* what) const {
    const std::vector<std::byte> found = device_.Read();
    if (found == expected_) return;
    const auto at = std::mismatch(found.begin(), found.end(), expected_.begin());
    const auto place = static_cast<size_t>(at.first - found.begin()) / FloatTypeBytes(type_);
    ADD_FAILURE() << what << ": row " << place / stride_ << " value " << place % stride_ << " of "
                  << dim_ << " differs: byte " << static_cast<int>(*at.first) << ", expected "
                  << static_cast<int>(*at.second);
  }

 private:
  const FloatType type_;
  const uint32_t dim_;
  const uint64_t stride_;
  std::vector<std::byte> expected_;
  Array<std::byte> device_;
};

// ---- the model ---------------------------------------------------------------------------------

struct ModelSlot {
  bool occupied = false;
  uint64_t position = 0;
  uint64_t version = 0;
  uint16_t score = 0;
  uint32_t pins = 0;
  uint32_t next_use = kNoUse;
};

// When a row is used next, and what time it is.
struct Foreseen {
  uint32_t next_use = kNoUse;
  uint32_t now = 0;
};

struct Chosen {
  uint32_t slot = kNoSlot;
  uint64_t evicted = kNoPosition;
};

class Model {
 public:
  Model(uint64_t blocks, uint32_t group_shift)
      : blocks_(blocks), group_shift_(group_shift), slots_(blocks * kSlots) {}

  uint64_t BlockOf(uint64_t position) const {
    return PlaceOf(position, blocks_, group_shift_).block;
  }
  ModelSlot* Find(uint64_t position) {
    if (blocks_ == 0) return nullptr;
    const uint64_t block = BlockOf(position);
    for (uint32_t s = 0; s < kSlots; ++s) {
      ModelSlot& slot = slots_[block * kSlots + s];
      if (slot.occupied && slot.position == position) return &slot;
    }
    return nullptr;
  }
  // The rule of ChooseSlots (backend.h), as one pass over the slots in order.
  Chosen Choose(uint64_t position, uint32_t frequency, uint32_t clock, const Foreseen& foreseen) {
    if (Find(position) != nullptr) return {};
    const auto first = static_cast<uint32_t>(BlockOf(position) * kSlots);
    // Uses in the order in which they come; those that are unknown or have passed come never.
    constexpr int64_t kNever = INT64_MAX;
    const auto comes = [&](uint32_t next_use) {
      const int64_t ahead = static_cast<int32_t>(next_use - foreseen.now);
      return next_use == kNoUse || ahead <= 0 ? kNever : ahead;
    };
    // Whether slot `a` goes before slot `b`.
    const auto goes_first = [&](const ModelSlot& a, const ModelSlot& b) {
      const int64_t use_a = comes(a.next_use), use_b = comes(b.next_use);
      if (use_a != use_b) return use_a > use_b;
      return use_a == kNever && AgedValue(a.score, clock) < AgedValue(b.score, clock);
    };
    std::optional<uint32_t> victim;
    for (uint32_t s = first; s < first + kSlots; ++s) {
      ModelSlot& slot = slots_[s];
      if (slot.pins != 0) continue;
      if (!slot.occupied) {
        victim = s;
        break;
      }
      if (!victim || goes_first(slot, slots_[*victim])) victim = s;
      slot.score = Normalised(slot.score, clock);
    }
    if (!victim) return {};
    ModelSlot& slot = slots_[*victim];
    const int64_t use = comes(foreseen.next_use);
    if (slot.occupied && use >= comes(slot.next_use) &&
        !(use == kNever && comes(slot.next_use) == kNever &&
          MayReplace(CandidateValue(frequency), AgedValue(slot.score, clock)))) {
      return {};
    }
    Chosen chosen{*victim, slot.occupied ? slot.position : kNoPosition};
    slot.occupied = false;
    slot.pins = 1;
    return chosen;
  }
  void Publish(uint32_t slot, uint64_t position, uint64_t version, uint32_t frequency,
               uint32_t clock, uint32_t next_use) {
    slots_[slot] = {true, position, version, AdmittedScore(frequency, clock), 0, next_use};
  }
  template <class Call>
  void ForEach(Call call) {
    for (ModelSlot& slot : slots_) {
      if (slot.occupied) call(slot);
    }
  }
  static void Clear(ModelSlot& slot) {
    slot.occupied = false;
    slot.pins = 0;
  }
  const std::vector<ModelSlot>& slots() const { return slots_; }

 private:
  const uint64_t blocks_;
  const uint32_t group_shift_;
  std::vector<ModelSlot> slots_;
};

// ---- a cache on a backend, with its model
// --------------------------------------------------------

class Cache {
 public:
  Cache(Backend& backend, const Rows& rows, uint32_t cell_bytes, uint64_t blocks,
        uint32_t group_shift, uint64_t first_position, uint64_t table_rows,
        uint32_t unknown_one_in = 0)
      : backend_(backend),
        stream_(backend),
        rows_(rows),
        learned_(backend, rows.model),
        first_position_(first_position),
        table_rows_(table_rows),
        view_(MakeView(rows, cell_bytes, blocks, group_shift)),
        headers_(backend, blocks * view_.shape.header_bytes),
        payload_(backend, blocks * view_.shape.payload_bytes()),
        pins_(backend, blocks * kSlots),
        next_use_(backend, unknown_one_in == 0 ? 0 : blocks * kSlots),
        unknown_one_in_(unknown_one_in),
        model_(blocks, group_shift) {
    view_.headers = headers_.get();
    view_.payload = payload_.get();
    view_.pins = pins_.get();
    if (unknown_one_in != 0) view_.next_use = next_use_.get();
  }
  // What time it is by the clock of next uses.
  void set_now(uint32_t now) { now_ = now; }

  const BlockView& view() const { return view_; }
  Model& model() { return model_; }
  Stream stream() const { return stream_; }
  void Finish() const { stream_.Finish(); }
  uint64_t table_rows() const { return table_rows_; }

  std::vector<std::byte> Encoded(const ModelSlot& slot) const {
    return rows_.Encoded(slot.position - first_position_, slot.version);
  }

  // Fills rows (none twice). `between` runs after the choice and again after the writing.
  template <class Between>
  void Fill(std::vector<uint64_t> rows, uint64_t version, uint32_t clock, std::mt19937_64& random,
            Between between) {
    const auto count = static_cast<uint32_t>(rows.size());
    std::sort(rows.begin(), rows.end(), [&](uint64_t a, uint64_t b) {
      const uint64_t block_a = model_.BlockOf(first_position_ + a);
      const uint64_t block_b = model_.BlockOf(first_position_ + b);
      return block_a != block_b ? block_a < block_b : a < b;
    });
    std::vector<uint64_t> positions;
    std::vector<uint16_t> frequencies;
    std::vector<uint32_t> segments;
    std::vector<uint32_t> sources(count);
    std::iota(sources.begin(), sources.end(), 0u);
    std::shuffle(sources.begin(), sources.end(), random);
    for (uint32_t i = 0; i < count; ++i) {
      positions.push_back(first_position_ + rows[i]);
      frequencies.push_back(static_cast<uint16_t>(random() % 10));
      if (i == 0 || model_.BlockOf(positions[i]) != model_.BlockOf(positions[i - 1])) {
        segments.push_back(i);
      }
    }
    segments.push_back(count);
    // Now and then a fill that knows nothing, among others that do.
    const bool foreseen = unknown_one_in_ != 0 && random() % 8 != 0;
    const std::vector<uint32_t> uses = RandomUses(foreseen ? count : 0, random);
    const bool in_order = random() % 4 == 0;
    if (in_order) std::iota(sources.begin(), sources.end(), 0u);

    const uint32_t row_bytes = rows_.format().row_bytes();
    const uint64_t row_stride = row_bytes + random() % 3;
    // The last row ends the array.
    std::vector<std::byte> encoded(count == 0 ? 0 : (count - 1) * row_stride + row_bytes);
    for (uint32_t i = 0; i < count; ++i) {
      const std::vector<std::byte> row = rows_.Encoded(rows[i], version);
      std::copy(row.begin(), row.end(),
                encoded.begin() + static_cast<int64_t>(sources[i] * row_stride));
    }
    const Array<uint64_t> device_positions(backend_, positions);
    const Array<uint16_t> device_frequencies(backend_, frequencies);
    const Array<uint32_t> device_segments(backend_, segments);
    const Array<uint32_t> device_sources(backend_, sources);
    const Array<uint32_t> device_uses(backend_, uses);
    const Array<uint32_t> slots(backend_, count);
    const Array<uint64_t> evicted(backend_, count);
    const Array<std::byte> device_rows(backend_, encoded, random() % 2 == 0 ? 0 : random() % 16);
    FillArgs args;
    args.blocks = view_;
    args.format = learned_.For(rows_.format());
    args.positions = device_positions.get();
    args.frequencies = device_frequencies.get();
    args.segments = device_segments.get();
    args.segment_count = static_cast<uint32_t>(segments.size() - 1);
    args.count = count;
    args.clock = clock;
    args.next_use = foreseen ? device_uses.get() : nullptr;
    args.now = now_;
    args.slots = slots.get();
    args.evicted = random() % 4 == 0 ? nullptr : evicted.get();
    args.rows = device_rows.get();
    args.row_stride = row_stride;
    args.sources = in_order ? nullptr : device_sources.get();

    EDO_EXPECT_OK(backend_.ChooseSlots(args, stream_));
    Finish();
    const std::vector<uint32_t> chosen = slots.Read();
    const std::vector<uint64_t> went = evicted.Read();
    for (uint32_t i = 0; i < count && !Failed(); ++i) {
      const Chosen expected =
          model_.Choose(positions[i], frequencies[i], clock, {foreseen ? uses[i] : kNoUse, now_});
      EXPECT_EQ(chosen[i], expected.slot) << "slot of row " << i << " of a fill";
      if (args.evicted != nullptr) {
        EXPECT_EQ(went[i], expected.evicted) << "evicted for row " << i << " of a fill";
      }
    }
    if (Failed()) return;
    between();
    EDO_EXPECT_OK(backend_.WriteSlots(args, stream_));
    between();
    EDO_EXPECT_OK(backend_.PublishSlots(args, stream_));
    Finish();
    for (uint32_t i = 0; i < count; ++i) {
      if (chosen[i] != kNoSlot) {
        model_.Publish(chosen[i], positions[i], version, frequencies[i], clock,
                       foreseen ? uses[i] : kNoUse);
      }
    }
  }
  void Fill(const std::vector<uint64_t>& rows, uint64_t version, uint32_t clock,
            std::mt19937_64& random) {
    Fill(rows, version, clock, random, [] {});
  }

  struct GatherOptions {
    FloatType out = FloatType::kF32;
    uint32_t gap = 0;
    uint32_t offset = 0;
    bool zero_absent = true;
    bool with_marks = true;
    uint32_t counted_before = 0;  // misses and absent rows that the counts hold already
    // The cache's rows as a tier of a larger table; `rows` are numbers of that table then.
    uint64_t first_row = 0;
    uint64_t rows_behind = 0;
  };
  void Gather(const std::vector<uint64_t>& rows, uint32_t clock, const GatherOptions& options) {
    const auto count = static_cast<uint32_t>(rows.size());
    const Array<uint64_t> device_rows(backend_, rows);
    const RowFormat format = SometimesLeading(count);
    Output out(backend_, options.out, count, format.dim, options.gap, options.offset);
    const Array<uint32_t> misses(backend_, count + options.counted_before);
    const Array<RowMark> marks(backend_, std::vector<RowMark>(count, static_cast<RowMark>(9)));
    const uint32_t before = options.counted_before;
    const Array<QueryCounts> counts(backend_, std::vector<QueryCounts>{{before, before, 0, 0}});
    ProbeGatherArgs args;
    args.blocks = view_;
    args.format = learned_.For(format);
    const uint64_t all_rows = options.first_row + table_rows_ + options.rows_behind;
    args.query = {device_rows.get(), count, first_position_, all_rows};
    if (all_rows != table_rows_) {
      args.query.first_row = options.first_row;
      args.query.tier_rows = table_rows_;
    }
    args.out = out.rows();
    args.zero_absent = options.zero_absent;
    args.clock = clock;
    args.misses = misses.get();
    args.marks = options.with_marks ? marks.get() : nullptr;
    args.counts = counts.get();
    EDO_EXPECT_OK(backend_.ProbeGather(args, stream_));
    Finish();

    std::vector<uint32_t> expected_misses;
    std::vector<RowMark> expected_marks;
    uint32_t absent = 0, elsewhere = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const bool beyond = rows[i] >= all_rows;
      const uint64_t row = rows[i] - options.first_row;
      if (beyond && options.first_row == 0) {
        ++absent;
        expected_marks.push_back(RowMark::kAbsent);
        if (options.zero_absent) out.ExpectZeros(i);
      } else if (beyond || row >= table_rows_) {
        ++elsewhere;
        expected_marks.push_back(static_cast<RowMark>(9));
      } else if (ModelSlot* const slot = model_.Find(first_position_ + row)) {
        expected_marks.push_back(RowMark::kFound);
        out.ExpectRow(i, format, Encoded(*slot));
        slot->score = Touch(slot->score, clock);
      } else {
        expected_marks.push_back(RowMark::kMissed);
        expected_misses.push_back(i);
      }
    }
    out.Check("ProbeGather");
    if (options.with_marks) {
      EXPECT_EQ(marks.Read(), expected_marks);
    }
    const QueryCounts found = counts.Read()[0];
    EXPECT_EQ(found.misses, before + expected_misses.size());
    EXPECT_EQ(found.absent, before + absent);
    EXPECT_EQ(found.bags, 0u);
    EXPECT_EQ(found.elsewhere, elsewhere);
    std::vector<uint32_t> listed = misses.Read();
    listed.resize(std::min<size_t>(listed.size(), found.misses));
    listed.erase(listed.begin(), listed.begin() + before);
    if (backend_.synchronous()) {
      EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
    }
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, expected_misses);
  }

  struct PoolOptions {
    FloatType out = FloatType::kF32;
    uint32_t gap = 0;
    uint32_t offset = 0;
    PoolMode mode = PoolMode::kSum;
    bool weighted = false;
    bool with_marks = true;
  };
  void Pool(const std::vector<uint64_t>& rows, const std::vector<uint64_t>& offsets, uint32_t clock,
            const PoolOptions& options, std::mt19937_64& random) {
    const auto count = static_cast<uint32_t>(rows.size());
    const auto bags = static_cast<uint32_t>(offsets.size() - 1);
    const RowFormat format = SometimesLeading(count);
    const uint32_t dim = format.dim;
    std::vector<float> weights(count);
    for (float& w : weights) w = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256;
    const Array<uint64_t> device_rows(backend_, rows);
    const Array<uint64_t> device_offsets(backend_, offsets);
    const Array<float> device_weights(backend_, weights);
    Output out(backend_, options.out, bags, dim, options.gap, options.offset);
    const Array<uint32_t> incomplete(backend_, bags);
    const Array<RowMark> marks(backend_, std::vector<RowMark>(count, static_cast<RowMark>(9)));
    const Array<QueryCounts> counts(backend_, 1);
    ProbePoolArgs args;
    args.blocks = view_;
    args.format = learned_.For(format);
    args.query = {device_rows.get(), count, first_position_, table_rows_};
    args.bags = {device_offsets.get(), bags, options.weighted ? device_weights.get() : nullptr,
                 options.mode};
    args.out = out.rows();
    args.clock = clock;
    args.incomplete = incomplete.get();
    args.marks = options.with_marks ? marks.get() : nullptr;
    args.counts = counts.get();
    EDO_EXPECT_OK(backend_.ProbePool(args, stream_));
    Finish();

    std::vector<RowMark> expected_marks;
    std::vector<uint32_t> expected_incomplete;
    uint32_t absent = 0, misses = 0;
    for (uint32_t b = 0; b < bags; ++b) {
      uint32_t missed = 0, away = 0, present = 0;
      std::vector<float> sum(dim, 0.0f);
      for (uint64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
        if (rows[i] >= table_rows_) {
          ++away;
          expected_marks.push_back(RowMark::kAbsent);
          continue;
        }
        ModelSlot* const slot = model_.Find(first_position_ + rows[i]);
        expected_marks.push_back(slot != nullptr ? RowMark::kFound : RowMark::kMissed);
        if (slot == nullptr) {
          ++missed;
          continue;
        }
        slot->score = Touch(slot->score, clock);
        ++present;
        AddRow(Encoded(*slot), options.weighted ? &weights[i] : nullptr, &sum);
      }
      absent += away;
      if (missed > 0) {
        misses += static_cast<uint32_t>(offsets[b + 1] - offsets[b]) - away;
        expected_incomplete.push_back(b);
        continue;
      }
      ExpectSum(b, sum, present, options.mode, options.out, &out);
    }
    out.Check("ProbePool");
    if (options.with_marks) {
      EXPECT_EQ(marks.Read(), expected_marks);
    }
    const QueryCounts found = counts.Read()[0];
    EXPECT_EQ(found.misses, misses);
    EXPECT_EQ(found.absent, absent);
    EXPECT_EQ(found.bags, expected_incomplete.size());
    std::vector<uint32_t> listed = incomplete.Read();
    listed.resize(std::min<size_t>(listed.size(), found.bags));
    if (backend_.synchronous()) {
      EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
    }
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, expected_incomplete);
    if (!Failed()) PoolDecoded(rows, offsets, weights, options, random);
  }

  void Invalidate(const std::vector<uint64_t>& rows) {
    std::vector<uint64_t> positions;
    for (const uint64_t row : rows) positions.push_back(first_position_ + row);
    const Array<uint64_t> device(backend_, positions);
    EDO_EXPECT_OK(
        backend_.Invalidate(view_, device.get(), static_cast<uint32_t>(rows.size()), stream_));
    Finish();
    for (const uint64_t position : positions) {
      if (ModelSlot* const slot = model_.Find(position)) Model::Clear(*slot);
    }
  }
  void InvalidateRange(uint64_t first, uint64_t last) {
    EDO_EXPECT_OK(
        backend_.InvalidateRange(view_, first_position_ + first, first_position_ + last, stream_));
    Finish();
    model_.ForEach([&](ModelSlot& slot) {
      const uint64_t row = slot.position - first_position_;
      if (row >= first && row < last) Model::Clear(slot);
    });
  }
  // How many of each row's pins were done; with a row named twice only their number is fixed.
  void Pin(const std::vector<uint64_t>& rows, int delta) {
    std::vector<uint64_t> positions;
    for (const uint64_t row : rows) positions.push_back(first_position_ + row);
    const Array<uint64_t> device(backend_, positions);
    const Array<uint8_t> done(backend_, std::vector<uint8_t>(rows.size(), 7));
    EDO_EXPECT_OK(backend_.Pin(view_, device.get(), static_cast<uint32_t>(rows.size()), delta,
                               done.get(), stream_));
    Finish();
    std::multiset<uint64_t> expected, found;
    const std::vector<uint8_t> marks = done.Read();
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(marks[i], 1);
      if (marks[i] == 1) found.insert(rows[i]);
      ModelSlot* const slot = model_.Find(positions[i]);
      if (slot == nullptr || (delta > 0 ? slot->pins == 255 : slot->pins == 0)) continue;
      slot->pins = static_cast<uint32_t>(static_cast<int>(slot->pins) + delta);
      expected.insert(rows[i]);
    }
    EXPECT_EQ(found, expected);
  }
  // Rows, none twice.
  void Foresee(const std::vector<uint64_t>& rows, std::mt19937_64& random) {
    std::vector<uint64_t> positions;
    for (const uint64_t row : rows) positions.push_back(first_position_ + row);
    const std::vector<uint32_t> uses = RandomUses(rows.size(), random);
    const Array<uint64_t> device(backend_, positions);
    const Array<uint32_t> device_uses(backend_, uses);
    EDO_EXPECT_OK(backend_.Foresee(view_, device.get(), device_uses.get(),
                                   static_cast<uint32_t>(rows.size()), stream_));
    Finish();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (ModelSlot* const slot = model_.Find(positions[i])) slot->next_use = uses[i];
    }
  }
  void Age(uint32_t clock) {
    EDO_EXPECT_OK(backend_.AgeScores(view_, clock, stream_));
    Finish();
    model_.ForEach([&](ModelSlot& slot) { slot.score = Normalised(slot.score, clock); });
  }

  // The memory, which must hold what the model says. `scores`: the scores too.
  CacheBytes CheckState(bool scores = true) {
    CacheBytes bytes{headers_.Read(), payload_.Read(), pins_.Read(), next_use_.Read()};
    BlockView host = view_;
    host.headers = bytes.headers.data();
    host.payload = bytes.payload.data();
    for (size_t s = 0; s < model_.slots().size() && !Failed(); ++s) {
      const ModelSlot& slot = model_.slots()[s];
      const uint64_t block = s / kSlots;
      const auto in_block = static_cast<uint32_t>(s % kSlots);
      EXPECT_EQ(bytes.pins[s], slot.pins) << "pins of slot " << s;
      const uint16_t tag = host.LowTags(block)[in_block];
      EXPECT_EQ((tag & kOccupied) != 0, slot.occupied) << "slot " << s;
      if (!slot.occupied) {
        EXPECT_EQ(tag, 0) << "tag of empty slot " << s;
        continue;
      }
      const std::byte* const entry = host.Entry(block, in_block);
      uint32_t high_tag;
      uint16_t score;
      std::memcpy(&high_tag, entry + kEntryHighTag, 4);
      std::memcpy(&score, entry + kEntryScore, 2);
      EXPECT_EQ(PositionOf(tag, high_tag, view_.group_shift), slot.position) << "slot " << s;
      if (scores) {
        EXPECT_EQ(score, slot.score) << "score of slot " << s;
      }
      if (view_.next_use != nullptr) {
        EXPECT_EQ(bytes.next_use[s], slot.next_use) << "next use of slot " << s;
      }
      const std::vector<std::byte> row = Encoded(slot);
      for (uint32_t at = 0; at < view_.shape.slot_bytes(); ++at) {
        const std::byte expected = at < rows_.format().code_bytes ? row[at] : std::byte{0};
        if (host.Payload(block)[host.CodeOffset(in_block, at)] != expected) {
          ADD_FAILURE() << "code byte " << at << " of slot " << s;
          break;
        }
      }
      EXPECT_TRUE(std::equal(row.begin() + rows_.format().side_at(), row.end(),
                             reinterpret_cast<const std::byte*>(entry + kEntrySide)))
          << "side data of slot " << s;
    }
    return bytes;
  }

 private:
  // Now and then only the first values of each row are asked for.
  RowFormat SometimesLeading(uint32_t count) const {
    return count % 4 == 3 ? Leading(rows_.format(), rows_.format().dim / 2 + 1) : rows_.format();
  }
  static BlockView MakeView(const Rows& rows, uint32_t cell_bytes, uint64_t blocks,
                            uint32_t group_shift) {
    BlockView view;
    view.shape = ShapeOf(rows.format(), cell_bytes);
    view.blocks = blocks;
    view.group_shift = group_shift;
    return view;
  }
  // Uses near and far, many of them equal, some in the past, some unknown.
  std::vector<uint32_t> RandomUses(size_t count, std::mt19937_64& random) const {
    std::vector<uint32_t> uses(count, kNoUse);
    for (uint32_t& use : uses) {
      if (random() % unknown_one_in_ == 0) {
        if (random() % 2 == 0) use = now_ - static_cast<uint32_t>(random() % 5);
        continue;
      }
      const uint64_t range = std::vector<uint64_t>{3, 20, 1000, 0x7fffffff}[random() % 4];
      use = now_ + 1 + static_cast<uint32_t>(random() % range);
    }
    return uses;
  }
  void AddRow(const std::vector<std::byte>& row, const float* weight,
              std::vector<float>* sum) const {
    const auto dim = static_cast<uint32_t>(sum->size());
    const std::vector<float> values = RowValues(Leading(rows_.format(), dim), row.data());
    for (uint32_t c = 0; c < dim; ++c) {
      float value = values[c];
      if (weight != nullptr) {
        const float product = *weight * value;
        value = product;
      }
      (*sum)[c] = (*sum)[c] + value;
    }
  }
  static void ExpectSum(uint64_t row, const std::vector<float>& sum, uint32_t present,
                        PoolMode mode, FloatType type, Output* out) {
    for (uint32_t c = 0; c < sum.size(); ++c) {
      const bool divide = mode == PoolMode::kMean && present > 0;
      const float value = divide ? sum[c] / static_cast<float>(present) : sum[c];
      out->Expect(row, c, OutputBits(value, type));
    }
  }

  // The kernel Pool over the same rows, decoded; misses count as rows that are there.
  void PoolDecoded(const std::vector<uint64_t>& rows, const std::vector<uint64_t>& offsets,
                   const std::vector<float>& weights, const PoolOptions& options,
                   std::mt19937_64& random) {
    const auto bags = static_cast<uint32_t>(offsets.size() - 1);
    const uint32_t dim = rows_.format().dim;
    std::vector<float> decoded(rows.size() * dim);
    std::vector<RowMark> marks(rows.size(), RowMark::kFound);
    std::vector<uint32_t> to(bags);
    std::iota(to.begin(), to.end(), 0u);
    std::shuffle(to.begin(), to.end(), random);
    const bool moved = random() % 2 == 0;
    const bool marked = random() % 2 == 0;
    Output out(backend_, options.out, bags, dim, options.gap, options.offset);
    for (uint32_t b = 0; b < bags; ++b) {
      std::vector<float> sum(dim, 0.0f);
      uint32_t present = 0;
      for (uint64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
        const std::vector<std::byte> row = rows_.Encoded(rows[i], 0);
        const std::vector<float> values = RowValues(rows_.format(), row.data());
        std::copy(values.begin(), values.end(), decoded.begin() + static_cast<int64_t>(i * dim));
        if (marked && rows[i] >= table_rows_) {
          marks[i] = RowMark::kAbsent;
          continue;
        }
        ++present;
        AddRow(row, options.weighted ? &weights[i] : nullptr, &sum);
      }
      ExpectSum(moved ? to[b] : b, sum, present, options.mode, options.out, &out);
    }
    const Array<float> device_rows(backend_, decoded);
    const Array<RowMark> device_marks(backend_, marks);
    const Array<uint64_t> device_offsets(backend_, offsets);
    const Array<float> device_weights(backend_, weights);
    const Array<uint32_t> device_to(backend_, to);
    PoolArgs args;
    args.rows = device_rows.get();
    args.marks = marked ? device_marks.get() : nullptr;
    args.dim = dim;
    args.bags = {device_offsets.get(), bags, options.weighted ? device_weights.get() : nullptr,
                 options.mode};
    args.out_bags = moved ? device_to.get() : nullptr;
    args.out = out.rows();
    EDO_EXPECT_OK(backend_.Pool(args, stream_));
    Finish();
    out.Check("Pool");
  }

  Backend& backend_;
  const TestStream stream_;
  const Rows rows_;
  const Learned learned_;
  const uint64_t first_position_;
  const uint64_t table_rows_;
  BlockView view_;
  const Array<std::byte> headers_;
  const Array<std::byte> payload_;
  const Array<uint8_t> pins_;
  const Array<uint32_t> next_use_;
  const uint32_t unknown_one_in_;
  uint32_t now_ = 0;
  Model model_;
};

// `count` different numbers below `end`.
std::vector<uint64_t> Different(uint64_t count, uint64_t end, std::mt19937_64& random) {
  std::set<uint64_t> chosen;
  while (chosen.size() < std::min(count, end)) chosen.insert(random() % end);
  std::vector<uint64_t> rows(chosen.begin(), chosen.end());
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

FloatType RandomType(std::mt19937_64& random) { return kOutTypes[random() % kOutTypes.size()]; }

void CheckGatherOfArray(Backend& backend, const Rows& rows, FloatType type,
                        std::mt19937_64& random) {
  const auto held = static_cast<uint32_t>(1 + random() % 20);
  const auto count = static_cast<uint32_t>(rows.Most(random() % 3 == 0 ? held : random() % 40));
  const RowFormat format =
      random() % 4 == 0 ? Leading(rows.format(), rows.format().dim / 2 + 1) : rows.format();
  const Learned learned(backend, rows.model);
  const uint64_t row_bytes = format.row_bytes();
  const uint64_t row_stride = random() % 2 == 0 ? row_bytes : (row_bytes + 31) / 16 * 16;
  std::vector<std::byte> encoded((held - 1) * row_stride + row_bytes);
  std::vector<std::vector<std::byte>> each;
  for (uint32_t r = 0; r < held; ++r) {
    each.push_back(rows.Encoded(r, 5));
    std::copy(each[r].begin(), each[r].end(),
              encoded.begin() + static_cast<int64_t>(r * row_stride));
  }
  const bool with_sources = count > held || random() % 2 == 0;
  const bool with_places = random() % 2 == 0;
  std::vector<uint32_t> sources(count), places(count);
  for (uint32_t& s : sources) s = static_cast<uint32_t>(random() % held);
  std::iota(places.begin(), places.end(), 0u);
  std::shuffle(places.begin(), places.end(), random);
  const Array<std::byte> device(backend, encoded, random() % 2 == 0 ? 0 : random() % 16);
  const Array<uint32_t> device_sources(backend, sources);
  const Array<uint32_t> device_places(backend, places);
  Output out(backend, type, count, format.dim, static_cast<uint32_t>(random() % 3),
             static_cast<uint32_t>(random() % 2));
  for (uint32_t i = 0; i < count; ++i) {
    out.ExpectRow(with_places ? places[i] : i, format, each[with_sources ? sources[i] : i]);
  }
  GatherArgs args;
  args.rows = device.get();
  args.row_stride = row_stride;
  args.format = learned.For(format);
  args.sources = with_sources ? device_sources.get() : nullptr;
  args.out_rows = with_places ? device_places.get() : nullptr;
  args.count = count;
  args.out = out.rows();
  const TestStream stream(backend);
  EDO_EXPECT_OK(backend.Gather(args, stream));
  stream.Finish();
  out.Check("Gather");
}

std::string Describe(RowCodec codec, FloatType out, uint32_t dim, uint32_t cell_bytes,
                     uint64_t seed) {
  return "codec " + std::to_string(static_cast<int>(codec)) + " output " +
         std::to_string(static_cast<int>(out)) + " dim " + std::to_string(dim) + " cell bytes " +
         std::to_string(cell_bytes) + " seed " + std::to_string(seed);
}

// Each codec, type and dimension draws its own case.
uint64_t DrawOf(const Rows& rows, FloatType out, uint64_t seed) {
  const uint64_t what = static_cast<uint64_t>(rows.format().codec) * 3 + static_cast<uint64_t>(out);
  return Hash(seed + rows.format().dim + (what << 32));
}

void CheckDecodingOf(Backend& backend, const Rows& rows, FloatType out, uint32_t cell_bytes,
                     uint64_t seed) {
  std::mt19937_64 random(DrawOf(rows, out, seed * 31));
  constexpr uint64_t kTableRows = 60;
  Cache cache(backend, rows, cell_bytes, 2, static_cast<uint32_t>(seed % 4), 1 + seed % 1000,
              kTableRows);
  cache.Fill(Different(30, kTableRows, random), 0, 1, random);
  std::vector<uint64_t> query;
  const uint64_t count = rows.Most(1 + random() % (random() % 3 == 0 ? 150 : 45));
  for (uint64_t i = 0; i < count; ++i) {
    query.push_back(random() % 8 == 0 ? kTableRows + random() % 5 : random() % kTableRows);
  }
  if (Failed()) return;
  cache.Gather(query, 1,
               {.out = out,
                .gap = static_cast<uint32_t>(random() % 3),
                .offset = static_cast<uint32_t>(random() % 2),
                .zero_absent = random() % 2 == 0,
                .with_marks = random() % 4 != 0,
                .counted_before = static_cast<uint32_t>(random() % 2)});
  if (!Failed()) CheckGatherOfArray(backend, rows, out, random);
}

void CheckPoolingOf(Backend& backend, const Rows& rows, FloatType out, uint32_t cell_bytes,
                    uint64_t seed) {
  std::mt19937_64 random(DrawOf(rows, out, seed * 37));
  constexpr uint64_t kTableRows = 40;
  Cache cache(backend, rows, cell_bytes, 2, 1, 777, kTableRows);
  cache.Fill(Different(36, kTableRows, random), 0, 1, random);
  std::vector<uint64_t> resident;
  cache.model().ForEach([&](const ModelSlot& slot) { resident.push_back(slot.position - 777); });
  std::vector<uint64_t> ids;
  std::vector<uint64_t> offsets{0};
  const uint64_t bags = rows.Most(random() % 12);
  for (uint64_t b = 0; b < bags && !Failed(); ++b) {
    // Empty, of one, of a few, longer than a tile; half of them without a missing row.
    const uint64_t size = rows.Most(std::vector<uint64_t>{0, 1, 5, 9, 33, 70}[random() % 6]);
    const bool any = random() % 2 == 0;
    for (uint64_t i = 0; i < size; ++i) {
      ids.push_back(random() % 9 == 0 ? kTableRows + random() % 3
                    : any             ? random() % kTableRows
                                      : resident[random() % resident.size()]);
    }
    offsets.push_back(ids.size());
  }
  if (Failed()) return;
  const bool mean = random() % 2 == 0;
  cache.Pool(ids, offsets, 2,
             {.out = out,
              .gap = static_cast<uint32_t>(random() % 3),
              .offset = static_cast<uint32_t>(random() % 2),
              .mode = mean ? PoolMode::kMean : PoolMode::kSum,
              .weighted = !mean && random() % 2 == 0,
              .with_marks = random() % 4 != 0},
             random);
}

}  // namespace

// ---- the checks
// ----------------------------------------------------------------------------------

void CheckDecoding(Backend& backend, RowCodec codec, FloatType out, uint32_t dim,
                   uint32_t cell_bytes, uint64_t seed) {
  SCOPED_TRACE(Describe(codec, out, dim, cell_bytes, seed));
  CheckDecodingOf(backend, {MakeModelFormat(codec, dim, seed)}, out, cell_bytes, seed);
}

void CheckAllDecoding(Backend& backend, uint64_t seed) {
  for (const RowCodec codec : kCodecs) {
    for (const FloatType out : kOutTypes) {
      for (const uint32_t dim : kSuiteDims) {
        CheckDecoding(backend, codec, out, dim, 0, seed);
        CheckDecoding(backend, codec, out, dim, dim % 2 == 0 ? 32 : 16, seed + 1);
        if (Failed()) return;
      }
    }
  }
}

void CheckPooling(Backend& backend, RowCodec codec, FloatType out, uint32_t dim,
                  uint32_t cell_bytes, uint64_t seed) {
  SCOPED_TRACE(Describe(codec, out, dim, cell_bytes, seed));
  CheckPoolingOf(backend, {MakeModelFormat(codec, dim, seed), true}, out, cell_bytes, seed);
}

void CheckShapesOfParts(Backend& backend, uint64_t seed) {
  struct Shape {
    RowCodec codec;
    uint32_t dim, parts, bits;
  };
  constexpr Shape kShapes[] = {
      {RowCodec::kPQ, 100, 13, 8},         // the last part has 4 of 8 values
      {RowCodec::kPQ, 100, 13, 4},         //
      {RowCodec::kPQ, 99, 15, 4},          // 1 of 7
      {RowCodec::kPQ, 16, 16, 8},          // a code a value
      {RowCodec::kPQ, 17, 17, 4},          //
      {RowCodec::kPQ, 64, 1, 8},           // one code
      {RowCodec::kRotatedPQ, 96, 12, 8},   // one group
      {RowCodec::kRotatedPQ, 45, 9, 4},    //
      {RowCodec::kRotatedPQ, 520, 65, 8},  // two groups: 512 and 8
      {RowCodec::kRotatedPQ, 600, 86, 4},  // 511 and 89: fours of columns that lie in both
      {RowCodec::kRotatedPQ, 530, 1, 4},   // a part wider than a group may be
      {RowCodec::kRQ, 33, 5, 8},           // codes of more than a word
      {RowCodec::kRQ, 64, 9, 4},           //
      {RowCodec::kRQ, 8, 1, 8},            //
  };
  for (const Shape& shape : kShapes) {
    for (const FloatType out : kOutTypes) {
      SCOPED_TRACE(Describe(shape.codec, out, shape.dim, 0, seed) + " parts " +
                   std::to_string(shape.parts) + " bits " + std::to_string(shape.bits));
      ++seed;
      const Rows rows{MakeModelFormat(shape.codec, shape.dim, shape.parts, shape.bits, seed), true};
      CheckDecodingOf(backend, rows, out, 0, seed);
      if (!Failed()) CheckPoolingOf(backend, rows, out, 0, seed);
      if (Failed()) return;
    }
  }
}

ScenarioOptions RandomScenario(uint64_t seed) {
  std::mt19937_64 random(Hash(seed));
  ScenarioOptions options;
  options.codec = kCodecs[random() % kCodecs.size()];
  options.dim = std::vector<uint32_t>{1, 3, 20, 33, 64}[random() % 5];
  options.cell_bytes = std::vector<uint32_t>{0, 0, 16, 32}[random() % 4];
  options.group_shift = static_cast<uint32_t>(random() % 4);
  options.blocks = 1 + random() % 4;
  options.rows = 20 + random() % 200;
  options.steps = 10;
  options.most_ids = static_cast<uint32_t>(20 + random() % (random() % 3 == 0 ? 150 : 30));
  options.first_position = random() % 2 == 0 ? random() % 100000 : (uint64_t{1} << 45) - 1000;
  options.unknown_one_in = std::vector<uint32_t>{0, 2, 6, 100}[random() % 4];
  return options;
}

CacheBytes RunScenario(Backend& backend, const ScenarioOptions& options, uint64_t seed) {
  SCOPED_TRACE("scenario seed " + std::to_string(seed) + " " +
               Describe(options.codec, FloatType::kF32, options.dim, options.cell_bytes, seed) +
               " blocks " + std::to_string(options.blocks));
  std::mt19937_64 random(Hash(seed + 99));
  const Rows rows{MakeModelFormat(options.codec, options.dim, seed), true};
  Cache cache(backend, rows, options.cell_bytes, options.blocks, options.group_shift,
              options.first_position, options.rows, options.unknown_one_in);
  // Times shortly before the 32 bits begin again, or any.
  auto now = static_cast<uint32_t>(random() % 2 == 0 ? 0 - random() % 30 : random());
  auto clock = static_cast<uint32_t>(random() % 1000);
  const auto some = [&](uint64_t beyond) {
    return Different(random() % (options.most_ids + 1), options.rows + beyond, random);
  };
  // No row twice in one read: such a row may lose touches (backend.h).
  const auto gather = [&] {
    const uint64_t before = random() % 4 == 0 ? random() % 12 : 0;
    const uint64_t behind = random() % 4 == 0 ? random() % 12 : 0;
    cache.Gather(some(8 + before + behind), clock,
                 {.out = RandomType(random),
                  .gap = static_cast<uint32_t>(random() % 2),
                  .offset = static_cast<uint32_t>(random() % 2),
                  .zero_absent = random() % 8 != 0,
                  .first_row = before,
                  .rows_behind = behind});
  };
  uint64_t version = 0;
  for (uint32_t step = 0; step < options.steps && !Failed(); ++step) {
    clock += random() % 16 == 0 ? static_cast<uint32_t>(random() % 300)
                                : static_cast<uint32_t>(random() % 3);
    cache.set_now(now += static_cast<uint32_t>(random() % 4));
    switch (step < 2 ? 0 : random() % (options.unknown_one_in == 0 ? 10 : 12)) {
      case 0:
      case 1:
      case 2:
        cache.Fill(some(0), ++version, clock, random, [&] {
          if (random() % 2 == 0) gather();  // sees neither the old rows nor the new
        });
        break;
      case 3:
      case 4:
        gather();
        break;
      case 5: {
        const std::vector<uint64_t> ids = some(4);
        std::vector<uint64_t> offsets{0};
        while (offsets.back() < ids.size()) {
          offsets.push_back(std::min<uint64_t>(ids.size(), offsets.back() + random() % 9));
        }
        cache.Pool(ids, offsets, clock, {.out = RandomType(random)}, random);
        break;
      }
      case 6:
        cache.Invalidate(some(0));
        break;
      case 7: {
        const uint64_t first = random() % options.rows;
        cache.InvalidateRange(first, first + random() % 10);
        break;
      }
      case 8:
        cache.Pin(some(0), random() % 3 == 0 ? -1 : +1);
        break;
      case 9:
        cache.Age(clock);
        break;
      default:
        cache.Foresee(some(0), random);
    }
  }
  if (Failed()) return {};
  return cache.CheckState();
}

void CheckEdges(Backend& backend) {
  std::mt19937_64 random(5);
  const Rows rows{MakeModelFormat(RowCodec::kInt8, 24, 0)};
  {
    SCOPED_TRACE("a class without memory");
    Cache cache(backend, rows, 0, 0, 0, 0, 10);
    cache.Gather({3, 11, 3, 9}, 1, {});
    cache.Pool({3, 11, 12}, {0, 1, 1, 3}, 1, {}, random);
  }
  if (Failed()) return;
  {
    SCOPED_TRACE("rows whose low tags are the same");
    constexpr uint64_t kTableRows = 20000;
    Cache cache(backend, rows, 0, 1, 0, 0, kTableRows);
    std::map<uint16_t, std::vector<uint64_t>> by_tag;
    for (uint64_t row = 0; row < kTableRows; ++row) {
      by_tag[PlaceOf(row, 1, 0).low_tag].push_back(row);
    }
    const auto same = std::find_if(by_tag.begin(), by_tag.end(),
                                   [](const auto& tag) { return tag.second.size() >= 3; });
    ASSERT_NE(same, by_tag.end());
    const std::vector<uint64_t>& three = same->second;
    cache.Fill({three[1], 5, 6}, 1, 1, random);
    cache.Gather({three[0], three[1], three[2]}, 1, {});
    cache.Fill({three[0]}, 1, 1, random);
    cache.Gather({three[2], three[1], three[0]}, 1, {});
    cache.Invalidate({three[2], three[0]});
    cache.Gather({three[0], three[1], three[2]}, 1, {});
    if (Failed()) return;
    cache.CheckState();
  }
  if (Failed()) return;
  SCOPED_TRACE("the last row of the longest table, at the end of all positions");
  Cache cache(backend, rows, 0, 1, 3, (uint64_t{1} << 45) - kMaxRows, kMaxRows);
  const uint64_t last = kMaxRows - 1;
  cache.Fill({last, 0, last - 1}, 1, 1, random);
  if (Failed()) return;
  cache.Gather({}, 1, {});
  cache.Gather({last}, 1, {});
  cache.Gather(std::vector<uint64_t>(70, last), 1, {});
  cache.Gather({last + 1, ~uint64_t{0}, last, 5}, 1, {.zero_absent = false});
  cache.Pool({}, {0}, 1, {}, random);
  cache.Pool({}, {0, 0, 0}, 1, {.mode = PoolMode::kMean}, random);
  cache.Fill({}, 2, 1, random);
  cache.Invalidate({});
  cache.Pin({}, 1);
  cache.Pin({last, last, 7}, 1);
  cache.Pin(std::vector<uint64_t>(300, last), 1);  // stops at 255
  cache.Pin(std::vector<uint64_t>(2, last), -1);
  if (Failed()) return;
  // A block full of pinned rows takes nothing; unpinned by an invalidation, it does.
  cache.Fill(Different(29, 1000, random), 3, 1, random);
  std::vector<uint64_t> all;
  cache.model().ForEach([&](const ModelSlot& slot) {
    all.push_back(slot.position - ((uint64_t{1} << 45) - kMaxRows));
  });
  cache.Pin(all, 1);
  cache.Fill({5000, 5001}, 4, 1, random);
  cache.Invalidate({last, last});
  cache.Fill({5000, 5001}, 4, 1, random);
  if (!Failed()) cache.CheckState(false);
  cache.InvalidateRange(0, kMaxRows);
  if (!Failed()) cache.CheckState(false);
}

void CheckPlumbing(Backend& backend) {
  EXPECT_FALSE(backend.name().empty());
  EXPECT_FALSE(backend.device().empty());
  EXPECT_GT(backend.FreeBytes(), 0u);
  const auto huge = backend.Allocate(uint64_t{1} << 60);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.status().code(), StatusCode::kNoSpace);
  EXPECT_NE(huge.status().message().find("1152921504606846976"), std::string::npos)
      << huge.status().message();
  backend.Free(nullptr, 0);
  backend.FreePinned(nullptr, 0);
  for (const uint64_t bytes : {0, 1, 4096}) {
    const auto memory = backend.Allocate(bytes);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 256, 0u);
    std::vector<std::byte> seen(bytes, std::byte{1});
    EDO_EXPECT_OK(backend.CopyToHost(seen.data(), *memory, bytes, {}));
    EDO_EXPECT_OK(backend.Synchronize(Stream{}));
    EXPECT_EQ(seen, std::vector<std::byte>(bytes)) << "new memory holds zeros";
    backend.Free(*memory, bytes);
  }
  // A copy up on one stream, down on another that waits for it.
  const auto up = backend.CreateStream(), down = backend.CreateStream();
  const auto event = backend.CreateEvent();
  const auto pinned = backend.AllocatePinned(8);
  const auto memory = backend.Allocate(8);
  ASSERT_TRUE(up.ok() && down.ok() && event.ok() && pinned.ok() && memory.ok());
  uint64_t sent = 0x1234567890abcdef, got = 0;
  std::memcpy(*pinned, &sent, 8);
  EDO_EXPECT_OK(backend.CopyToDevice(*memory, *pinned, 8, *up));
  EDO_EXPECT_OK(backend.Record(*event, *up));
  EDO_EXPECT_OK(backend.WaitFor(*down, *event));
  EDO_EXPECT_OK(backend.CopyToHost(&got, *memory, 8, *down));
  EDO_EXPECT_OK(backend.Synchronize(*down));
  EXPECT_EQ(got, sent);
  EDO_EXPECT_OK(backend.Synchronize(*event));
  const auto done = backend.IsDone(*event);
  EXPECT_TRUE(done.ok() && *done);
  EDO_EXPECT_OK(backend.Zero(*memory, 4, *up));
  EDO_EXPECT_OK(backend.CopyToHost(&got, *memory, 8, *up));
  EDO_EXPECT_OK(backend.Synchronize(*up));
  EXPECT_EQ(got, sent >> 32 << 32);
  backend.Free(*memory, 8);
  backend.FreePinned(*pinned, 8);
  backend.DestroyEvent(*event);
  backend.DestroyStream(*up);
  backend.DestroyStream(*down);
}

}  // namespace edo::test
