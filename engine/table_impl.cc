#include "engine/table_impl.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/backends.h"
#include "engine/bag_check.h"
#include "engine/bulk_lookup.h"
#include "engine/device_lookup.h"
#include "engine/lookup.h"
#include "engine/pipeline.h"
#include "engine/row_gather.h"
#include "engine/table_scan.h"

namespace edo::engine {
namespace {

constexpr uintptr_t kStreamPerThread = 2;  // the handle that CUDA gives that name

}  // namespace

TableImpl::TableImpl(std::shared_ptr<StoreContext> context, storage::TableRecord record,
                     std::vector<Tier> tiers)
    : context_(std::move(context)),
      record_(std::move(record)),
      tiers_(std::move(tiers)),
      keys_(context_->rows.get(), record_),
      order_(context_->rows.get(), record_),
      gather_(context_.get(), tiers_, record_.info.rows) {}

Result<std::unique_ptr<TableImpl>> TableImpl::Make(std::shared_ptr<StoreContext> context,
                                                   std::shared_ptr<GenerationPin> pin,
                                                   storage::TableRecord record,
                                                   const ReadOptions& options, bool cached) {
  if (options.read_dims > record.info.dim) {
    return Status::InvalidArgument("table '" + record.info.name + "': read_dims " +
                                   std::to_string(options.read_dims) + " of rows of dim " +
                                   std::to_string(record.info.dim));
  }
  const std::span<const storage::TableRecord> records = storage::TiersOf(record);
  const auto refined = [](const storage::TableRecord& r) {
    return r.info.codec.kind == CodecKind::kL4Plus4;
  };
  if (options.base_only && std::none_of(records.begin(), records.end(), refined)) {
    return Status::InvalidArgument("table '" + record.info.name + "': rows in " +
                                   record.info.codec.ToString() +
                                   " have no refinement to be read without (L4+4 and P,L4+4 have)");
  }
  std::vector<std::shared_ptr<GenerationPin>> pins(pin->tiers().begin(), pin->tiers().end());
  pins.push_back(std::move(pin));  // it keeps the others; they are held where they are used
  std::vector<Tier> tiers;
  for (const storage::TableRecord& of_tier : records) {
    Tier tier;
    tier.record = std::make_shared<const storage::TableRecord>(of_tier);
    tier.pin = pins[tiers.size()];
    EDO_ASSIGN_OR_RETURN(OpenedGeneration opened,
                         tier.pin->Open(of_tier, {.read_dims = options.read_dims,
                                                  .base_only = options.base_only,
                                                  .cached = cached}));
    tier.codec = std::move(opened.codec);
    tier.places = std::move(opened.places);
    tiers.push_back(std::move(tier));
  }
  return std::unique_ptr<TableImpl>(
      new TableImpl(std::move(context), std::move(record), std::move(tiers)));
}

Status TableImpl::WrongKeyKind(std::string_view asked) const {
  return Status::InvalidArgument("table '" + info().name + "' has " +
                                 std::string(KeyKindName(info().key_kind)) + " keys, not " +
                                 std::string(asked));
}

storage::FindResult TableImpl::FindInts(std::span<const int64_t> ids,
                                        const storage::Deadline& deadline) const {
  if (info().key_kind == KeyKind::kInt64) return keys_.Find(ids, deadline);
  // Negative ids become large. (A signed type may be looked at as its unsigned twin.)
  return order_.RowsOf({reinterpret_cast<const uint64_t*>(ids.data()), ids.size()}, deadline);
}

Resolved TableImpl::FromDirectory(storage::FindResult found) {
  Resolved keys;
  keys.owned_rows = std::move(found.rows);
  keys.rows = keys.owned_rows;
  if (!found.failures.empty()) keys.unread = std::move(found.unread);
  keys.failures = std::move(found.failures);
  keys.pages_read = found.pages_read;
  return keys;
}

Result<Resolved> TableImpl::Resolve(std::span<const int64_t> ids,
                                    const LookupOptions& options) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  Resolved keys = FromDirectory(FindInts(ids, options.deadline));
  if (!options.padding_id) return keys;
  keys.padding.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != *options.padding_id) continue;
    keys.padding[i] = 1;
    keys.owned_rows[i] = kMissingRow;
    if (!keys.unread.empty()) keys.unread[i] = 0;
  }
  return keys;
}

Result<Resolved> TableImpl::Resolve(std::span<const std::string_view> tokens,
                                    const LookupOptions& options) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  return FromDirectory(keys_.Find(tokens, options.deadline));
}

Status TableImpl::Conclude(Resolved* keys, GatherOutcome outcome,
                           std::span<const kernels::RowMark> marks, const LookupOptions& options,
                           LookupReport* report) const {
  const size_t count = keys->rows.size();
  const auto ones = [](const std::vector<uint8_t>& flags) {
    return static_cast<uint64_t>(std::count(flags.begin(), flags.end(), uint8_t{1}));
  };
  const uint64_t padding = ones(keys->padding);
  const uint64_t lost_keys = ones(keys->unread);
  const uint64_t missing = outcome.absent - padding - lost_keys;
  const uint64_t unread = outcome.unread + lost_keys;
  const uint64_t found = count - outcome.absent - outcome.unread;
  std::vector<ReadFailure> failures = std::move(keys->failures);
  failures.insert(failures.end(), std::make_move_iterator(outcome.failures.begin()),
                  std::make_move_iterator(outcome.failures.end()));

  StoreCounters& counters = context_->counters;
  counters.lookups.fetch_add(1, std::memory_order_relaxed);
  counters.rows_found.fetch_add(found, std::memory_order_relaxed);
  counters.keys_missing.fetch_add(missing, std::memory_order_relaxed);
  counters.rows_unread.fetch_add(unread, std::memory_order_relaxed);
  counters.chunks_read.fetch_add(outcome.chunks, std::memory_order_relaxed);
  counters.key_pages_read.fetch_add(keys->pages_read, std::memory_order_relaxed);

  Status status;
  if (!failures.empty()) {
    const Status& s = WorstOf(failures);
    status = Status(s.code(), std::string(s.message()) + " [" + std::to_string(unread) + " of " +
                                  std::to_string(count) + " rows of this lookup are unread]");
  } else if (missing > 0 && options.on_missing == OnMissing::kError) {
    size_t first = 0;
    while (keys->rows[first] < info().rows || (padding > 0 && keys->padding[first])) ++first;
    status =
        Status::NotFound("table '" + info().name + "' does not hold key number " +
                         std::to_string(first) + " of this lookup (" + std::to_string(missing) +
                         " of " + std::to_string(count) + " keys are missing)");
  }
  if (report == nullptr) return status;
  report->found = found;
  report->missing = missing;
  report->unread = unread;
  report->failures = std::move(failures);
  report->states.resize(count);
  for (size_t i = 0; i < count; ++i) {
    RowState& state = report->states[i];
    switch (marks[i]) {
      case kernels::RowMark::kFound:
        state = RowState::kFound;
        break;
      case kernels::RowMark::kAbsent:
        state = RowState::kMissing;
        break;
      case kernels::RowMark::kMissed:
      case kernels::RowMark::kElsewhere:  // no tier marks a row so
        state = RowState::kUnread;
        break;
    }
    if (padding > 0 && keys->padding[i]) state = RowState::kPadding;
    if (lost_keys > 0 && keys->unread[i]) state = RowState::kUnread;
  }
  return status;
}

GatherOutcome TableImpl::GatherResolved(const Resolved& keys, const LookupOptions& options,
                                        const storage::DecodeTarget& target,
                                        kernels::RowMark* marks) const {
  // The place of a key whose directory page is lost stays as it was: it may be held.
  const bool zero = options.on_missing == OnMissing::kZero;
  RowGather::Options gather;
  gather.zero_absent = zero && keys.unread.empty();
  gather.deadline = options.deadline;
  GatherOutcome outcome = gather_.Gather(keys.rows, target, gather, marks);
  if (!gather.zero_absent && outcome.absent > 0) {
    const uint64_t value_bytes = FloatTypeBytes(options.out_type);
    for (size_t i = 0; i < keys.rows.size(); ++i) {
      if (keys.rows[i] < info().rows || (!keys.unread.empty() && keys.unread[i])) continue;
      if (!zero && (keys.padding.empty() || !keys.padding[i])) continue;
      std::memset(static_cast<std::byte*>(target.out) + i * target.stride * value_bytes, 0,
                  target.values * value_bytes);
    }
  }
  return outcome;
}

Status TableImpl::LookupResolved(Resolved keys, const LookupOptions& options, void* out,
                                 LookupReport* report) const {
  if (report != nullptr) *report = {};
  EDO_RETURN_IF_ERROR(CheckOutput(options));
  if (out == nullptr && !keys.rows.empty()) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  const storage::DecodeTarget target = TargetOf(options, info(), out);
  std::vector<kernels::RowMark> marks(report ? keys.rows.size() : 0);
  GatherOutcome outcome = GatherResolved(keys, options, target, report ? marks.data() : nullptr);
  return Conclude(&keys, std::move(outcome), marks, options, report);
}

Status TableImpl::LookupRows(std::span<const uint64_t> row_numbers, const LookupOptions& options,
                             void* out, LookupReport* report) const {
  Resolved keys;
  keys.rows = row_numbers;
  return LookupResolved(std::move(keys), options, out, report);
}

Status TableImpl::Lookup(std::span<const int64_t> ids, const LookupOptions& options, void* out,
                         LookupReport* report) const {
  EDO_ASSIGN_OR_RETURN(Resolved keys, Resolve(ids, options));
  return LookupResolved(std::move(keys), options, out, report);
}

Status TableImpl::Lookup(std::span<const int32_t> ids, const LookupOptions& options, void* out,
                         LookupReport* report) const {
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  return Lookup(std::span<const int64_t>(wide), options, out, report);
}

Status TableImpl::Lookup(std::span<const std::string_view> tokens, const LookupOptions& options,
                         void* out, LookupReport* report) const {
  EDO_ASSIGN_OR_RETURN(Resolved keys, Resolve(tokens, options));
  return LookupResolved(std::move(keys), options, out, report);
}

// ---- bags
// ----------------------------------------------------------------------------------------

RowGather::BagOptions TableImpl::PoolOptions(const Resolved& keys,
                                             const LookupOptions& options) const {
  RowGather::BagOptions pool;
  pool.whole_bags_only = options.on_missing == OnMissing::kError;
  pool.deadline = options.deadline;
  pool.padding = keys.padding.empty() ? nullptr : keys.padding.data();
  pool.lost = keys.unread.empty() ? nullptr : keys.unread.data();
  return pool;
}

Status TableImpl::PoolResolved(Resolved keys, const Bags& bags, const LookupOptions& options,
                               void* out, LookupReport* report) const {
  if (report != nullptr) *report = {};
  EDO_RETURN_IF_ERROR(CheckOutput(options));
  EDO_RETURN_IF_ERROR(CheckBags(bags, keys.rows.size(), info()));
  if (out == nullptr && !bags.offsets.empty()) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  const storage::DecodeTarget target = TargetOf(options, info(), out);
  std::vector<uint64_t> offsets(bags.offsets.begin(), bags.offsets.end());
  offsets.push_back(keys.rows.size());
  if (bags.offsets.empty()) offsets.assign(1, 0);
  std::vector<kernels::RowMark> marks(report ? keys.rows.size() : 0);
  RowGather::BagOptions pool = PoolOptions(keys, options);
  pool.mode = static_cast<kernels::PoolMode>(bags.mode);
  pool.weights = bags.weights.empty() ? nullptr : bags.weights.data();
  GatherOutcome outcome =
      gather_.Pool(keys.rows, offsets, target, pool, marks.empty() ? nullptr : marks.data());
  return Conclude(&keys, std::move(outcome), marks, options, report);
}

Status TableImpl::LookupBagRows(std::span<const uint64_t> row_numbers, const Bags& bags,
                                const LookupOptions& options, void* out,
                                LookupReport* report) const {
  Resolved keys;
  keys.rows = row_numbers;
  return PoolResolved(std::move(keys), bags, options, out, report);
}

Status TableImpl::LookupBags(std::span<const int64_t> ids, const Bags& bags,
                             const LookupOptions& options, void* out, LookupReport* report) const {
  EDO_ASSIGN_OR_RETURN(Resolved keys, Resolve(ids, options));
  return PoolResolved(std::move(keys), bags, options, out, report);
}

Status TableImpl::LookupBags(std::span<const int32_t> ids, const Bags& bags,
                             const LookupOptions& options, void* out, LookupReport* report) const {
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  return LookupBags(std::span<const int64_t>(wide), bags, options, out, report);
}

Status TableImpl::LookupBags(std::span<const std::string_view> tokens, const Bags& bags,
                             const LookupOptions& options, void* out, LookupReport* report) const {
  EDO_ASSIGN_OR_RETURN(Resolved keys, Resolve(tokens, options));
  return PoolResolved(std::move(keys), bags, options, out, report);
}

// ---- ahead of need
// -------------------------------------------------------------------------------

Result<std::unique_ptr<PrefetchTicket>> TableImpl::PrefetchRows(
    std::span<const uint64_t> row_numbers, const PrefetchOptions& options) const {
  KeyBatch keys;
  keys.rows.assign(row_numbers.begin(), row_numbers.end());
  return context_->prefetcher->Start(this, std::move(keys), options);
}

Result<std::unique_ptr<PrefetchTicket>> TableImpl::Prefetch(std::span<const int64_t> ids,
                                                            const PrefetchOptions& options) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  KeyBatch keys;
  keys.ids.assign(ids.begin(), ids.end());
  return context_->prefetcher->Start(this, std::move(keys), options);
}

Result<std::unique_ptr<PrefetchTicket>> TableImpl::Prefetch(
    std::span<const std::string_view> tokens, const PrefetchOptions& options) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  KeyBatch keys;
  keys.tokens.assign(tokens.begin(), tokens.end());
  return context_->prefetcher->Start(this, std::move(keys), options);
}

Status TableImpl::CheckKeys(const KeyBatch& keys) const {
  const int kinds = !keys.rows.empty() + !keys.ids.empty() + !keys.tokens.empty();
  if (kinds > 1) {
    return Status::InvalidArgument("table '" + info().name +
                                   "': a batch holds keys of more than one kind");
  }
  if (!keys.ids.empty() && info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  if (!keys.tokens.empty() && info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  return Status::Ok();
}

Result<std::unique_ptr<Pipeline>> TableImpl::MakePipeline(KeySource source,
                                                          const PipelineOptions& options) const {
  return StartPipeline(this, std::move(source), options);
}

Status TableImpl::BulkLookup(const KeySource& source, const BulkOptions& options,
                             const BulkSink& sink, BulkReport* report) const {
  return RunBulkLookup(*this, source, options, sink, report);
}

// ---- on device
// -----------------------------------------------------------------------------------

Result<std::unique_ptr<DeviceLookup>> TableImpl::OnDevice(DeviceQuery query) const {
  EDO_RETURN_IF_ERROR(CheckOutput(query.options));
  uint64_t outputs = query.count;
  if (query.host_bags) {
    EDO_RETURN_IF_ERROR(CheckBags(*query.host_bags, query.count, info()));
    outputs = query.host_bags->offsets.size();
  }
  if (query.device_bags) {
    outputs = query.device_bags->count;
    if (query.device_bags->weights != nullptr && query.device_bags->mode != PoolMode::kSum) {
      return Status::InvalidArgument("table '" + info().name +
                                     "': weights go with sums only, not with means");
    }
  }
  if (query.out == nullptr && outputs > 0) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  if (reinterpret_cast<uintptr_t>(query.stream) == kStreamPerThread) {
    return Status::InvalidArgument("table '" + info().name +
                                   "': cudaStreamPerThread names another stream in each thread; "
                                   "give a stream of your own");
  }
  EDO_ASSIGN_OR_RETURN(auto buffers, DeviceBuffersOf(*context_));
  return StartDeviceLookup(this, std::move(buffers), std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupRowsOnDevice(const int64_t* row_numbers,
                                                                    uint64_t count,
                                                                    const LookupOptions& options,
                                                                    void* out, void* stream) const {
  if (row_numbers == nullptr && count > 0) {
    return Status::InvalidArgument("table '" + info().name + "': `row_numbers` is null");
  }
  DeviceQuery query{.count = count, .options = options, .out = out, .stream = stream};
  query.device_rows = reinterpret_cast<const uint64_t*>(row_numbers);  // negative ones: too large
  return OnDevice(std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupHostRowsOnDevice(
    std::span<const uint64_t> rows, const LookupOptions& options, void* out, void* stream) const {
  DeviceQuery query{.count = rows.size(), .options = options, .out = out, .stream = stream};
  query.keys.owned_rows.assign(rows.begin(), rows.end());
  query.keys.rows = query.keys.owned_rows;
  return OnDevice(std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupOnDevice(std::span<const int64_t> ids,
                                                                const LookupOptions& options,
                                                                void* out, void* stream) const {
  DeviceQuery query{.count = ids.size(), .options = options, .out = out, .stream = stream};
  EDO_ASSIGN_OR_RETURN(query.keys, Resolve(ids, options));
  return OnDevice(std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupOnDevice(
    std::span<const std::string_view> tokens, const LookupOptions& options, void* out,
    void* stream) const {
  DeviceQuery query{.count = tokens.size(), .options = options, .out = out, .stream = stream};
  EDO_ASSIGN_OR_RETURN(query.keys, Resolve(tokens, options));
  return OnDevice(std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupBagRowsOnDevice(
    const int64_t* row_numbers, uint64_t count, const DeviceBags& bags,
    const LookupOptions& options, void* out, void* stream) const {
  if ((row_numbers == nullptr && count > 0) || (bags.offsets == nullptr && bags.count > 0)) {
    return Status::InvalidArgument("table '" + info().name +
                                   "': `row_numbers` or the offsets are null");
  }
  DeviceQuery query{.count = count, .options = options, .out = out, .stream = stream};
  query.device_rows = reinterpret_cast<const uint64_t*>(row_numbers);
  query.device_bags = bags;
  return OnDevice(std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupBagsOnDevice(std::span<const int64_t> ids,
                                                                    const Bags& bags,
                                                                    const LookupOptions& options,
                                                                    void* out, void* stream) const {
  DeviceQuery query{.count = ids.size(), .options = options, .out = out, .stream = stream};
  EDO_ASSIGN_OR_RETURN(query.keys, Resolve(ids, options));
  query.host_bags = bags;
  return OnDevice(std::move(query));
}

Result<std::unique_ptr<DeviceLookup>> TableImpl::LookupBagsOnDevice(
    std::span<const std::string_view> tokens, const Bags& bags, const LookupOptions& options,
    void* out, void* stream) const {
  DeviceQuery query{.count = tokens.size(), .options = options, .out = out, .stream = stream};
  EDO_ASSIGN_OR_RETURN(query.keys, Resolve(tokens, options));
  query.host_bags = bags;
  return OnDevice(std::move(query));
}

Result<std::vector<uint64_t>> TableImpl::FindRows(std::span<const int64_t> ids) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  storage::FindResult found = FindInts(ids, std::nullopt);
  if (!found.failures.empty()) return found.failures[0].status;
  return std::move(found.rows);
}

Result<std::vector<uint64_t>> TableImpl::FindRows(std::span<const std::string_view> tokens) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  storage::FindResult found = keys_.Find(tokens, std::nullopt);
  if (!found.failures.empty()) return found.failures[0].status;
  return std::move(found.rows);
}

Result<bool> TableImpl::Contains(int64_t id) const {
  EDO_ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, FindRows(std::span(&id, 1)));
  return rows[0] != kMissingRow;
}

Result<bool> TableImpl::Contains(std::string_view token) const {
  EDO_ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, FindRows(std::span(&token, 1)));
  return rows[0] != kMissingRow;
}

Result<std::vector<int64_t>> TableImpl::IntKeysOf(std::span<const uint64_t> row_numbers) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  for (const uint64_t row : row_numbers) {
    if (row >= info().rows) {
      return Status::InvalidArgument("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(info().rows) + " rows");
    }
  }
  std::vector<int64_t> keys;
  if (info().key_kind == KeyKind::kDense) {
    std::vector<uint64_t> places;
    EDO_RETURN_IF_ERROR(order_.PlacesOf(row_numbers, &places));
    keys.assign(places.begin(), places.end());
  } else {
    EDO_RETURN_IF_ERROR(keys_.IntKeysOf(row_numbers, &keys));
  }
  return keys;
}

Result<std::vector<std::string>> TableImpl::TextKeysOf(
    std::span<const uint64_t> row_numbers) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  for (const uint64_t row : row_numbers) {
    if (row >= info().rows) {
      return Status::InvalidArgument("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(info().rows) + " rows");
    }
  }
  std::vector<std::string> keys;
  EDO_RETURN_IF_ERROR(keys_.TextKeysOf(row_numbers, &keys));
  return keys;
}

Result<std::unique_ptr<TableScan>> TableImpl::Scan(const ScanOptions& options) const {
  return MakeTableScan(*this, options);
}

Status TableImpl::ScanCodes(const CodesFunction& fn) const {
  for (const Tier& tier : tiers_) {
    EDO_RETURN_IF_ERROR(ScanCodesOf(tier, tier.first_row(), tier.rows(), fn));
  }
  return Status::Ok();
}

Status TableImpl::ScanCodesOf(const Tier& tier, uint64_t first_row, uint64_t rows,
                              const CodesFunction& fn) const {
  if (rows == 0) return Status::Ok();
  const TableInfo& of_tier = tier.record->info;
  const uint64_t first = first_row - tier.first_row(), end = first + rows;
  const auto cursor = context_->rows->ScanPages(
      storage::PageKind::kChunk, of_tier.generation, first / of_tier.chunk_rows,
      (end + of_tier.chunk_rows - 1) / of_tier.chunk_rows);
  for (;;) {
    uint64_t number = 0;
    storage::PageView page;
    Result<bool> more = cursor->Next(&number, &page);
    if (!more.ok()) return more.status().WithContext("table '" + info().name + "'");
    if (!*more) return Status::Ok();
    const Status s = CheckChunk(*tier.record, number, page);
    if (!s.ok()) return s.WithContext(ChunkName(*tier.record, number));
    const uint64_t chunk = number * of_tier.chunk_rows;
    const uint64_t begin = std::max(first, chunk);
    const uint64_t count = std::min<uint64_t>(end, chunk + page.count) - begin;
    EDO_RETURN_IF_ERROR(
        fn(tier, tier.first_row() + begin, count,
           page.payload.substr((begin - chunk) * of_tier.row_bytes, count * of_tier.row_bytes)));
  }
}

Status TableImpl::ReadCodes(std::span<const uint64_t> rows, std::byte* codes) const {
  std::vector<uint8_t> unread(rows.size());
  const GatherOutcome outcome =
      gather_.ReadEncoded(tiers_.front(), rows, std::nullopt, codes, unread.data());
  return outcome.failures.empty() ? Status::Ok() : outcome.failures[0].status;
}

Status TableImpl::ReadValues(std::span<const uint64_t> rows, float* values) const {
  std::vector<uint64_t> of_tier, places;
  std::vector<std::byte> codes;
  std::vector<const std::byte*> each;
  for (const Tier& tier : tiers_) {
    of_tier.clear();
    places.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] - tier.first_row() >= tier.rows()) continue;
      of_tier.push_back(rows[i]);
      places.push_back(i);
    }
    codes.resize(of_tier.size() * tier.row_bytes());
    std::vector<uint8_t> unread(of_tier.size());
    const GatherOutcome outcome =
        gather_.ReadEncoded(tier, of_tier, std::nullopt, codes.data(), unread.data());
    if (!outcome.failures.empty()) return outcome.failures[0].status;
    each.resize(of_tier.size());
    for (size_t i = 0; i < each.size(); ++i) each[i] = codes.data() + i * tier.row_bytes();
    tier.codec->DecodeGather(each.data(), places.data(), each.size(),
                             {values, FloatType::kF32, info().dim, info().dim});
  }
  return Status::Ok();
}

}  // namespace edo::engine
