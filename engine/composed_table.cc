#include "engine/composed_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/backends.h"
#include "engine/bag_check.h"
#include "engine/lookup.h"
#include "engine/part_hash.h"
#include "engine/pipeline.h"
#include "engine/tier.h"
#include "kernels/float_convert.h"

namespace edo::engine {
namespace {

constexpr uint64_t kPieceValues = uint64_t{1} << 20;  // composed at a time, f32
constexpr uint64_t kMostKeys = uint64_t{1} << 16;     // likewise
constexpr uint64_t kScanRows = 4096;
constexpr uintptr_t kStreamPerThread = 2;  // the handle that CUDA gives that name

// Stores f32 values as the caller wants them.
void Store(const float* values, uint64_t count, FloatType type, std::byte* out) {
  if (type == FloatType::kF32) {
    std::memcpy(out, values, count * 4);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint16_t bits =
        type == FloatType::kF16 ? kernels::F32ToF16(values[i]) : kernels::F32ToBF16(values[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

// The rows of an output, `values` of each.
struct Output {
  std::byte* out;
  FloatType type;
  uint64_t stride;  // values
  uint64_t values;

  Output(const LookupOptions& options, uint32_t values_a_row, void* to)
      : out(static_cast<std::byte*>(to)),
        type(options.out_type),
        stride(options.out_stride == 0 ? values_a_row : options.out_stride),
        values(values_a_row) {}
  std::byte* Row(uint64_t i) const { return out + i * stride * FloatTypeBytes(type); }
  void Write(uint64_t i, const float* row) const { Store(row, values, type, Row(i)); }
  void Zero(uint64_t i) const { std::memset(Row(i), 0, values * FloatTypeBytes(type)); }
};

void Combine(ComposedOp op, float weight, const float* from, uint64_t count, bool first,
             float* to) {
  if (first || op == ComposedOp::kConcat) {
    for (uint64_t i = 0; i < count; ++i) to[i] = weight == 1 ? from[i] : weight * from[i];
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const float value = weight == 1 ? from[i] : weight * from[i];
    to[i] = op == ComposedOp::kSum ? to[i] + value : to[i] * value;
  }
}

// Has all been done; Finish only tells.
class DoneLookup final : public DeviceLookup {
 public:
  DoneLookup(Status status, LookupReport report, std::shared_ptr<DeviceBuffers> buffers,
             std::unique_ptr<DeviceBuffers::Buffer> buffer)
      : status_(std::move(status)),
        report_(std::move(report)),
        buffers_(std::move(buffers)),
        buffer_(std::move(buffer)) {}
  ~DoneLookup() override {
    if (buffer_ == nullptr) return;
    (void)buffers_->backend().Synchronize(buffer_->done);
    buffers_->Give(std::move(buffer_));
  }
  Result<bool> IsReady() override { return true; }
  Status Finish(LookupReport* report) override {
    if (report != nullptr) *report = std::move(report_);
    return status_;
  }

 private:
  const Status status_;
  LookupReport report_;
  const std::shared_ptr<DeviceBuffers> buffers_;
  std::unique_ptr<DeviceBuffers::Buffer> buffer_;  // null: nothing was copied
};

class ComposedScan final : public TableScan {
 public:
  ComposedScan(const ComposedTable& table, const ScanOptions& options)
      : table_(table),
        options_(options),
        next_(std::min(options.first_row, table.info().rows)),
        end_(next_ + std::min(options.row_count, table.info().rows - next_)) {}

  Result<bool> Next(ScanBatch* batch) override {
    *batch = {};
    if (next_ == end_) return false;
    const uint64_t dim = table_.info().dim;
    const uint64_t count =
        std::min(end_ - next_, std::clamp<uint64_t>(kPieceValues / dim, 1, kScanRows));
    batch->first_row = next_;
    batch->row_count = count;
    if (options_.values) {
      ComposedTable::Keys keys;
      for (uint64_t i = 0; i < count; ++i) keys.ids.push_back(next_ + i);
      keys.states.assign(count, RowState::kFound);
      values_.resize(count * dim);
      std::vector<ReadFailure> failures;
      uint64_t chunks = 0;
      EDO_RETURN_IF_ERROR(table_.Compose(&keys, {}, false, values_.data(), &failures, &chunks));
      if (!failures.empty()) return WorstOf(failures);
      batch->values = values_;
    }
    next_ += count;
    return true;
  }

 private:
  const ComposedTable& table_;
  const ScanOptions options_;
  uint64_t next_;
  const uint64_t end_;
  std::vector<float> values_;
};

}  // namespace

Status CheckPart(const ComposedPart& part, const storage::TableRecord& of_part, uint64_t rows) {
  const TableInfo& info = of_part.info;
  const std::string name = "part '" + ComposedPartText(part) + "': table '" + part.table + "' ";
  if (of_part.composition) {
    return Status::InvalidArgument(name + "is a composed table; parts hold rows themselves");
  }
  if (info.key_kind != KeyKind::kDense) {
    return Status::InvalidArgument(name + "has " + std::string(KeyKindName(info.key_kind)) +
                                   " keys; a part is a dense table");
  }
  const uint64_t needed = RowsNeeded(part, rows);
  if (info.rows >= needed) return Status::Ok();
  return Status::InvalidArgument(name + "has " + std::to_string(info.rows) + " rows; " +
                                 std::to_string(needed) + " are needed");
}

Result<uint32_t> ComposedDim(ComposedOp op, std::span<const TableInfo* const> parts) {
  uint64_t dim = 0;
  for (const TableInfo* const part : parts) {
    if (op == ComposedOp::kConcat) {
      dim += part->dim;
      continue;
    }
    dim = parts[0]->dim;
    if (part->dim == dim) continue;
    return Status::InvalidArgument("table '" + part->name + "' has dim " +
                                   std::to_string(part->dim) + ", table '" + parts[0]->name +
                                   "' dim " + std::to_string(dim) + "; a " +
                                   std::string(ComposedOpName(op)) + " needs parts of one dim");
  }
  if (dim <= kMaxDim) return static_cast<uint32_t>(dim);
  return Status::InvalidArgument("parts of dim " + std::to_string(dim) + " together; at most " +
                                 std::to_string(kMaxDim) + " fit a table");
}

Status RefuseComposed(const Table& table, std::string_view call) {
  if (table.info().composition.empty()) return Status::Ok();
  return Status::InvalidArgument("table '" + table.info().name + "' is composed, as " +
                                 table.info().composition + "; " + std::string(call) +
                                 " takes a table that holds rows itself: its parts");
}

ComposedTable::ComposedTable(std::shared_ptr<StoreContext> context, storage::TableRecord record,
                             std::vector<std::shared_ptr<const Table>> parts)
    : context_(std::move(context)), record_(std::move(record)), parts_(std::move(parts)) {}

Status ComposedTable::NoRowNumbers() const {
  return Status::Unsupported("table '" + info().name +
                             "' holds every 64-bit id and has no row numbers; ask by id");
}
Status ComposedTable::NoTokens() const {
  return Status::InvalidArgument("table '" + info().name + "' has " +
                                 std::string(KeyKindName(info().key_kind)) + " keys, not tokens");
}

ComposedTable::Keys ComposedTable::KeysOfIds(std::span<const int64_t> ids,
                                             const LookupOptions& options) const {
  Keys keys;
  keys.ids.assign(ids.begin(), ids.end());  // negative ids become large
  keys.states.assign(ids.size(), RowState::kFound);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!info().every_id && keys.ids[i] >= info().rows) keys.states[i] = RowState::kMissing;
    if (options.padding_id && ids[i] == *options.padding_id) keys.states[i] = RowState::kPadding;
  }
  return keys;
}

Result<ComposedTable::Keys> ComposedTable::KeysOfRows(std::span<const uint64_t> rows) const {
  if (info().every_id) return NoRowNumbers();
  Keys keys;
  keys.ids.assign(rows.begin(), rows.end());
  for (const uint64_t row : rows) {
    keys.states.push_back(row < info().rows ? RowState::kFound : RowState::kMissing);
  }
  return keys;
}

Status ComposedTable::CheckKeys(const KeyBatch& keys) const {
  const int kinds = !keys.rows.empty() + !keys.ids.empty() + !keys.tokens.empty();
  if (kinds > 1) {
    return Status::InvalidArgument("table '" + info().name +
                                   "': a batch holds keys of more than one kind");
  }
  if (!keys.tokens.empty()) return NoTokens();
  return !keys.rows.empty() && info().every_id ? NoRowNumbers() : Status::Ok();
}

Result<ComposedTable::Keys> ComposedTable::KeysOf(const KeyBatch& batch,
                                                  const LookupOptions& options) const {
  EDO_RETURN_IF_ERROR(CheckKeys(batch));
  if (!batch.rows.empty()) return KeysOfRows(batch.rows);
  return KeysOfIds(batch.ids, options);
}

Status ComposedTable::Compose(Keys* keys, const LookupOptions& options, bool by_disk, float* values,
                              std::vector<ReadFailure>* failures, uint64_t* chunks) const {
  const uint32_t width = ValuesOf(options, info());
  const storage::Composition& composition = *record_.composition;
  std::vector<uint64_t> ids;
  std::vector<size_t> places;
  for (size_t i = 0; i < keys->ids.size(); ++i) {
    if (keys->states[i] != RowState::kFound) continue;
    ids.push_back(keys->ids[i]);
    places.push_back(i);
  }
  if (ids.empty()) return Status::Ok();
  std::vector<int64_t> rows(ids.size());
  std::vector<float> of_part;
  uint32_t column = 0;  // of a concat: where the part begins
  for (size_t p = 0; p < parts_.size(); ++p) {
    const bool concat = composition.op == ComposedOp::kConcat;
    const uint32_t dims = concat ? std::min(parts_[p]->info().dim, width - column) : width;
    if (dims == 0) break;  // the first `dims` values end before it
    const ComposedPart& part = composition.parts[p];
    PartRows(part, ids, rows.data());
    LookupOptions lookup;
    lookup.on_missing = OnMissing::kMark;
    lookup.dims = dims;
    lookup.deadline = options.deadline;
    const auto take = [&](uint64_t first, std::span<const RowState> states, const float* from) {
      for (size_t i = 0; i < states.size(); ++i) {
        RowState& state = keys->states[places[first + i]];
        if (states[i] != RowState::kFound) state = RowState::kUnread;
        if (state != RowState::kFound) continue;
        Combine(composition.op, part.weight, from + i * dims, dims, p == 0,
                values + places[first + i] * width + column);
      }
    };
    std::vector<ReadFailure> failed;
    Status status;
    if (by_disk) {
      BulkReport report;
      BulkOptions bulk;
      bulk.lookup = lookup;
      bool given = false;
      const KeySource once = [&](KeyBatch* batch) -> Result<bool> {
        if (given) return false;
        given = true;
        batch->ids = rows;
        return true;
      };
      status = parts_[p]->BulkLookup(
          once, bulk,
          [&](const BulkRows& got) {
            take(got.first, got.states, got.values.data());
            return Status::Ok();
          },
          &report);
      *chunks += report.chunks;
      failed = std::move(report.failures);
    } else {
      of_part.resize(ids.size() * dims);
      LookupReport report;
      status = parts_[p]->Lookup(std::span<const int64_t>(rows), lookup, of_part.data(), &report);
      if (status.ok() || !report.failures.empty()) take(0, report.states, of_part.data());
      failed = std::move(report.failures);
    }
    if (!status.ok() && failed.empty()) return status.WithContext("table '" + info().name + "'");
    for (ReadFailure& failure : failed) {
      failures->push_back({failure.status.WithContext("table '" + info().name + "'"), 0, 0});
    }
    column += concat ? dims : 0;
  }
  return Status::Ok();
}

Status ComposedTable::Conclude(Keys keys, std::vector<ReadFailure> failures,
                               const LookupOptions& options, LookupReport* report) const {
  uint64_t counts[4] = {};
  for (const RowState state : keys.states) ++counts[static_cast<size_t>(state)];
  const uint64_t missing = counts[static_cast<size_t>(RowState::kMissing)];
  const uint64_t unread = counts[static_cast<size_t>(RowState::kUnread)];
  context_->counters.keys_missing.fetch_add(missing, std::memory_order_relaxed);
  Status status;
  const std::string count = std::to_string(keys.states.size());
  if (!failures.empty()) {
    const Status& s = WorstOf(failures);
    status = Status(s.code(), std::string(s.message()) + " [" + std::to_string(unread) + " of " +
                                  count + " rows of this lookup are unread]");
  } else if (missing > 0 && options.on_missing == OnMissing::kError) {
    const auto first = std::find(keys.states.begin(), keys.states.end(), RowState::kMissing);
    status = Status::NotFound("table '" + info().name + "' does not hold key number " +
                              std::to_string(first - keys.states.begin()) + " of this lookup (" +
                              std::to_string(missing) + " of " + count + " keys are missing)");
  }
  if (report == nullptr) return status;
  report->found = counts[static_cast<size_t>(RowState::kFound)];
  report->missing = missing;
  report->unread = unread;
  report->states = std::move(keys.states);
  report->failures = std::move(failures);
  return status;
}

Status ComposedTable::LookupKeys(Keys keys, const LookupOptions& options, void* out,
                                 LookupReport* report) const {
  if (report != nullptr) *report = {};
  EDO_RETURN_IF_ERROR(CheckOutput(options));
  const size_t count = keys.ids.size();
  if (out == nullptr && count > 0) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  const uint32_t width = ValuesOf(options, info());
  const Output output(options, width, out);
  const uint64_t most = std::clamp<uint64_t>(kPieceValues / width, 1, kMostKeys);
  std::vector<float> values(std::min<uint64_t>(most, count) * width);
  std::vector<ReadFailure> failures;
  uint64_t chunks = 0;
  for (size_t begin = 0; begin < count; begin += most) {
    const size_t end = std::min<size_t>(count, begin + most);
    Keys piece;
    piece.ids.assign(keys.ids.begin() + static_cast<ptrdiff_t>(begin),
                     keys.ids.begin() + static_cast<ptrdiff_t>(end));
    piece.states.assign(keys.states.begin() + static_cast<ptrdiff_t>(begin),
                        keys.states.begin() + static_cast<ptrdiff_t>(end));
    EDO_RETURN_IF_ERROR(Compose(&piece, options, false, values.data(), &failures, &chunks));
    for (size_t i = begin; i < end; ++i) {
      const RowState state = piece.states[i - begin];
      if (state == RowState::kFound) output.Write(i, values.data() + (i - begin) * width);
      if (state == RowState::kPadding ||
          (state == RowState::kMissing && options.on_missing == OnMissing::kZero)) {
        output.Zero(i);
      }
      keys.states[i] = state;
    }
  }
  return Conclude(std::move(keys), std::move(failures), options, report);
}

Status ComposedTable::LookupRows(std::span<const uint64_t> row_numbers,
                                 const LookupOptions& options, void* out,
                                 LookupReport* report) const {
  EDO_ASSIGN_OR_RETURN(Keys keys, KeysOfRows(row_numbers));
  return LookupKeys(std::move(keys), options, out, report);
}
Status ComposedTable::Lookup(std::span<const int64_t> ids, const LookupOptions& options, void* out,
                             LookupReport* report) const {
  return LookupKeys(KeysOfIds(ids, options), options, out, report);
}
Status ComposedTable::Lookup(std::span<const int32_t> ids, const LookupOptions& options, void* out,
                             LookupReport* report) const {
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  return Lookup(std::span<const int64_t>(wide), options, out, report);
}
Status ComposedTable::Lookup(std::span<const std::string_view> /*tokens*/, const LookupOptions&,
                             void*, LookupReport*) const {
  return NoTokens();
}

// ---- bags

Status ComposedTable::PoolKeys(Keys keys, const Bags& bags, const LookupOptions& options, void* out,
                               LookupReport* report) const {
  if (report != nullptr) *report = {};
  EDO_RETURN_IF_ERROR(CheckOutput(options));
  const size_t count = keys.ids.size();
  EDO_RETURN_IF_ERROR(CheckBags(bags, count, info()));
  if (out == nullptr && !bags.offsets.empty()) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  const uint32_t width = ValuesOf(options, info());
  const Output output(options, width, out);
  const uint64_t most = std::clamp<uint64_t>(kPieceValues / width, 1, kMostKeys);
  std::vector<float> values(std::min<uint64_t>(most, count) * width);
  std::vector<float> sum(width);
  std::vector<ReadFailure> failures;
  uint64_t chunks = 0;
  Keys piece;
  size_t piece_begin = 0, piece_end = 0;  // keys whose rows `values` holds
  for (size_t b = 0; b < bags.offsets.size(); ++b) {
    const uint64_t end = b + 1 < bags.offsets.size() ? bags.offsets[b + 1] : count;
    std::fill(sum.begin(), sum.end(), 0.0f);
    uint64_t present = 0;
    bool whole = true;
    for (uint64_t i = bags.offsets[b]; i < end; ++i) {
      if (i == piece_end) {
        piece_begin = i;
        piece_end = std::min<size_t>(count, i + most);
        const auto from = static_cast<ptrdiff_t>(piece_begin),
                   to = static_cast<ptrdiff_t>(piece_end);
        piece.ids.assign(keys.ids.begin() + from, keys.ids.begin() + to);
        piece.states.assign(keys.states.begin() + from, keys.states.begin() + to);
        EDO_RETURN_IF_ERROR(Compose(&piece, options, false, values.data(), &failures, &chunks));
        std::copy(piece.states.begin(), piece.states.end(), keys.states.begin() + from);
      }
      const RowState state = keys.states[i];
      whole &= state != RowState::kUnread &&
               (state != RowState::kMissing || options.on_missing != OnMissing::kError);
      if (state != RowState::kFound) continue;
      ++present;
      const float* const row = values.data() + (i - piece_begin) * width;
      const bool weighted = !bags.weights.empty();
      for (uint32_t c = 0; c < width; ++c) {
        sum[c] = sum[c] + (weighted ? bags.weights[i] * row[c] : row[c]);
      }
    }
    if (bags.mode == PoolMode::kMean && present > 0) {
      for (float& value : sum) value /= static_cast<float>(present);
    }
    if (whole) output.Write(b, sum.data());
  }
  return Conclude(std::move(keys), std::move(failures), options, report);
}

Status ComposedTable::LookupBagRows(std::span<const uint64_t> row_numbers, const Bags& bags,
                                    const LookupOptions& options, void* out,
                                    LookupReport* report) const {
  EDO_ASSIGN_OR_RETURN(Keys keys, KeysOfRows(row_numbers));
  return PoolKeys(std::move(keys), bags, options, out, report);
}
Status ComposedTable::LookupBags(std::span<const int64_t> ids, const Bags& bags,
                                 const LookupOptions& options, void* out,
                                 LookupReport* report) const {
  return PoolKeys(KeysOfIds(ids, options), bags, options, out, report);
}
Status ComposedTable::LookupBags(std::span<const int32_t> ids, const Bags& bags,
                                 const LookupOptions& options, void* out,
                                 LookupReport* report) const {
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  return LookupBags(std::span<const int64_t>(wide), bags, options, out, report);
}
Status ComposedTable::LookupBags(std::span<const std::string_view> /*tokens*/, const Bags&,
                                 const LookupOptions&, void*, LookupReport*) const {
  return NoTokens();
}

// ---- ahead of need

Result<std::unique_ptr<PrefetchTicket>> ComposedTable::PrefetchKeys(
    const Keys& keys, const PrefetchOptions& options) const {
  if (options.to_device) EDO_RETURN_IF_ERROR(DeviceOf(*context_).status());
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < keys.ids.size(); ++i) {
    if (keys.states[i] == RowState::kFound) ids.push_back(keys.ids[i]);
  }
  uint64_t bytes = 0;
  for (const auto& part : parts_) {
    bytes += ids.size() * (LargestRowBytes(part->info()) + kTicketBytesAKey);
  }
  // All its parts' tickets live as long as it does.
  if (bytes > context_->options.prefetch_bytes) {
    return Status::InvalidArgument("table '" + info().name + "': a prefetch of " +
                                   std::to_string(ids.size()) + " keys may hold " +
                                   std::to_string(bytes) + " bytes; prefetch_bytes is " +
                                   std::to_string(context_->options.prefetch_bytes));
  }
  PrefetchOptions of_part = options;
  of_part.to_device = false;  // rows are composed on the host
  std::vector<std::unique_ptr<PrefetchTicket>> tickets;
  {
    // Tickets of two composed ones must not wait for each other: the parts of one come together.
    const std::lock_guard lock(context_->composed_tickets);
    std::vector<int64_t> rows(ids.size());
    for (size_t p = 0; p < parts_.size(); ++p) {
      PartRows(record_.composition->parts[p], ids, rows.data());
      EDO_ASSIGN_OR_RETURN(auto ticket,
                           parts_[p]->Prefetch(std::span<const int64_t>(rows), of_part));
      tickets.push_back(std::move(ticket));
    }
  }
  return JoinTickets(std::move(tickets), keys.ids.size(), keys.ids.size() - ids.size());
}

Result<std::unique_ptr<PrefetchTicket>> ComposedTable::PrefetchRows(
    std::span<const uint64_t> row_numbers, const PrefetchOptions& options) const {
  EDO_ASSIGN_OR_RETURN(const Keys keys, KeysOfRows(row_numbers));
  return PrefetchKeys(keys, options);
}
Result<std::unique_ptr<PrefetchTicket>> ComposedTable::Prefetch(
    std::span<const int64_t> ids, const PrefetchOptions& options) const {
  return PrefetchKeys(KeysOfIds(ids, {}), options);
}
Result<std::unique_ptr<PrefetchTicket>> ComposedTable::Prefetch(
    std::span<const std::string_view> /*tokens*/, const PrefetchOptions&) const {
  return NoTokens();
}
Result<std::unique_ptr<Pipeline>> ComposedTable::MakePipeline(
    KeySource source, const PipelineOptions& options) const {
  return StartPipeline(this, std::move(source), options);
}
Status ComposedTable::BulkLookup(const KeySource& source, const BulkOptions& options,
                                 const BulkSink& sink, BulkReport* report) const {
  return RunComposedBulk(*this, source, options, sink, report);
}

// ---- on device

Result<std::unique_ptr<DeviceLookup>> ComposedTable::OnDevice(uint64_t rows, const Bags* bags,
                                                              const LookupOptions& options,
                                                              void* out, void* stream,
                                                              const HostLookup& fn) const {
  EDO_RETURN_IF_ERROR(CheckOutput(options));
  if (out == nullptr && rows > 0) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  if (reinterpret_cast<uintptr_t>(stream) == kStreamPerThread) {
    return Status::InvalidArgument("table '" + info().name +
                                   "': cudaStreamPerThread names another stream in each thread; "
                                   "give a stream of your own");
  }
  EDO_ASSIGN_OR_RETURN(auto buffers, DeviceBuffersOf(*context_));
  kernels::Backend& backend = buffers->backend();
  const auto told = [](const Status& s) {  // by Finish; other errors are the call's
    return s.ok() || s.code() == StatusCode::kNotFound || s.code() == StatusCode::kCorruption ||
           s.code() == StatusCode::kIoError || s.code() == StatusCode::kDeadlineExceeded;
  };
  LookupReport report;
  if (backend.synchronous()) {
    const Status status = fn(options, out, &report);
    if (!told(status)) return status;
    return std::unique_ptr<DeviceLookup>(
        std::make_unique<DoneLookup>(status, std::move(report), nullptr, nullptr));
  }
  const Output output(options, ValuesOf(options, info()), out);
  const uint64_t row_bytes = output.values * FloatTypeBytes(output.type);
  EDO_ASSIGN_OR_RETURN(auto buffer, buffers->Take(rows * row_bytes, 0));
  LookupOptions packed = options;
  packed.out_stride = 0;
  const Status status = fn(packed, buffer->pinned, &report);
  if (!told(status)) {
    buffers->Give(std::move(buffer));
    return status;
  }
  const auto written = [&](uint64_t i) {
    const RowState state = report.states[i];
    if (state == RowState::kUnread) return false;
    if (bags != nullptr)
      return state != RowState::kMissing || options.on_missing != OnMissing::kError;
    return state != RowState::kMissing || options.on_missing == OnMissing::kZero;
  };
  const kernels::Stream to{stream};
  const uint64_t stride_bytes = output.stride * FloatTypeBytes(output.type);
  std::byte* const pinned = buffer->pinned;
  Status copied;
  const auto copy = [&](uint64_t begin, uint64_t end) {
    if (begin == end || !copied.ok()) return;
    copied = backend.CopyToDevice(output.Row(begin), pinned + begin * row_bytes,
                                  (end - begin) * row_bytes, to);
  };
  uint64_t run = 0;  // rows [run, r) are written and lie side by side on the device
  for (uint64_t r = 0; r < rows; ++r) {
    bool is_written = true;
    if (bags == nullptr) {
      is_written = written(r);
    } else {
      const uint64_t end = r + 1 < rows ? bags->offsets[r + 1] : report.states.size();
      for (uint64_t i = bags->offsets[r]; i < end; ++i) is_written &= written(i);
    }
    if (!is_written) {
      copy(run, r);
      run = r + 1;
    } else if (stride_bytes != row_bytes) {
      copy(run, r);
      run = r;
    }
  }
  copy(run, rows);
  if (copied.ok()) copied = backend.Record(buffer->done, to);
  auto done = std::make_unique<DoneLookup>(status, std::move(report), buffers, std::move(buffer));
  if (!copied.ok()) {
    (void)backend.Synchronize(to);
    return copied;
  }
  return std::unique_ptr<DeviceLookup>(std::move(done));
}

namespace {

// An array that lies on the device, on the host.
template <typename T>
Result<std::vector<T>> Down(const StoreContext& context, const T* from, uint64_t count,
                            void* stream) {
  std::vector<T> host(count);
  if (count == 0) return host;
  EDO_ASSIGN_OR_RETURN(const auto device, DeviceOf(context));
  const kernels::Stream on{stream};
  EDO_RETURN_IF_ERROR(device->CopyToHost(host.data(), from, count * sizeof(T), on));
  EDO_RETURN_IF_ERROR(device->Synchronize(on));
  return host;
}

}  // namespace

Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupRowsOnDevice(
    const int64_t* row_numbers, uint64_t count, const LookupOptions& options, void* out,
    void* stream) const {
  if (info().every_id) return NoRowNumbers();
  if (row_numbers == nullptr && count > 0) {
    return Status::InvalidArgument("table '" + info().name + "': `row_numbers` is null");
  }
  EDO_ASSIGN_OR_RETURN(
      const auto rows,
      Down(*context_, reinterpret_cast<const uint64_t*>(row_numbers), count, stream));
  return LookupHostRowsOnDevice(rows, options, out, stream);
}
Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupHostRowsOnDevice(
    std::span<const uint64_t> rows, const LookupOptions& options, void* out, void* stream) const {
  return OnDevice(rows.size(), nullptr, options, out, stream,
                  [&](const LookupOptions& host, void* to, LookupReport* report) {
                    return LookupRows(rows, host, to, report);
                  });
}
Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupOnDevice(std::span<const int64_t> ids,
                                                                    const LookupOptions& options,
                                                                    void* out, void* stream) const {
  return OnDevice(ids.size(), nullptr, options, out, stream,
                  [&](const LookupOptions& host, void* to, LookupReport* report) {
                    return Lookup(ids, host, to, report);
                  });
}
Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupOnDevice(
    std::span<const std::string_view> /*tokens*/, const LookupOptions&, void*, void*) const {
  return NoTokens();
}
Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupBagRowsOnDevice(
    const int64_t* row_numbers, uint64_t count, const DeviceBags& bags,
    const LookupOptions& options, void* out, void* stream) const {
  if (info().every_id) return NoRowNumbers();
  if ((row_numbers == nullptr && count > 0) || (bags.offsets == nullptr && bags.count > 0)) {
    return Status::InvalidArgument("table '" + info().name +
                                   "': `row_numbers` or the offsets are null");
  }
  EDO_ASSIGN_OR_RETURN(
      const auto rows,
      Down(*context_, reinterpret_cast<const uint64_t*>(row_numbers), count, stream));
  EDO_ASSIGN_OR_RETURN(const auto offsets, Down(*context_, bags.offsets, bags.count, stream));
  EDO_ASSIGN_OR_RETURN(const auto weights,
                       Down(*context_, bags.weights, bags.weights == nullptr ? 0 : count, stream));
  const Bags host_bags{offsets, weights, bags.mode};
  return OnDevice(bags.count, &host_bags, options, out, stream,
                  [&](const LookupOptions& host, void* to, LookupReport* report) {
                    return LookupBagRows(rows, host_bags, host, to, report);
                  });
}
Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupBagsOnDevice(
    std::span<const int64_t> ids, const Bags& bags, const LookupOptions& options, void* out,
    void* stream) const {
  return OnDevice(bags.offsets.size(), &bags, options, out, stream,
                  [&](const LookupOptions& host, void* to, LookupReport* report) {
                    return LookupBags(ids, bags, host, to, report);
                  });
}
Result<std::unique_ptr<DeviceLookup>> ComposedTable::LookupBagsOnDevice(
    std::span<const std::string_view> /*tokens*/, const Bags&, const LookupOptions&, void*,
    void*) const {
  return NoTokens();
}

// ---- keys

Result<std::vector<uint64_t>> ComposedTable::FindRows(std::span<const int64_t> ids) const {
  if (info().every_id) return NoRowNumbers();
  std::vector<uint64_t> rows;
  for (const int64_t id : ids) {
    const auto row = static_cast<uint64_t>(id);
    rows.push_back(row < info().rows ? row : kMissingRow);
  }
  return rows;
}
Result<std::vector<uint64_t>> ComposedTable::FindRows(
    std::span<const std::string_view> /*tokens*/) const {
  return NoTokens();
}
Result<bool> ComposedTable::Contains(int64_t id) const {
  return info().every_id || static_cast<uint64_t>(id) < info().rows;
}
Result<bool> ComposedTable::Contains(std::string_view /*token*/) const { return NoTokens(); }

Result<std::vector<int64_t>> ComposedTable::IntKeysOf(std::span<const uint64_t> row_numbers) const {
  if (info().every_id) return NoRowNumbers();
  for (const uint64_t row : row_numbers) {
    if (row >= info().rows) {
      return Status::InvalidArgument("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(info().rows) + " rows");
    }
  }
  return std::vector<int64_t>(row_numbers.begin(), row_numbers.end());
}
Result<std::vector<std::string>> ComposedTable::TextKeysOf(std::span<const uint64_t>) const {
  return NoTokens();
}
Result<std::unique_ptr<TableScan>> ComposedTable::Scan(const ScanOptions& options) const {
  if (info().every_id) return NoRowNumbers();
  return std::unique_ptr<TableScan>(std::make_unique<ComposedScan>(*this, options));
}

}  // namespace edo::engine
