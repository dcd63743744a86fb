#include "engine/device_lookup.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace edo::engine {
namespace {

using kernels::QueryCounts;
using kernels::RowMark;
using kernels::Stream;
using Buffer = DeviceBuffers::Buffer;

constexpr uint64_t kMostKeys = uint64_t{1} << 31;      // of one lookup: counts are 32 bits
constexpr uint64_t kStagedBytes = uint64_t{16} << 20;  // encoded rows copied up together
constexpr uint64_t kPooledBytes = uint64_t{64} << 20;  // decoded rows of bags, on the device
constexpr uint64_t kPooledRows = uint64_t{1} << 16;

// Cuts arrays out of one buffer, the same places on the device and in pinned memory.
class Carver {
 public:
  template <typename T>
  uint64_t Add(uint64_t count) {
    const uint64_t at = bytes_;
    bytes_ += (count * sizeof(T) + 15) / 16 * 16;
    return at;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

class DeviceLookupImpl final : public DeviceLookup {
 public:
  DeviceLookupImpl(const TableImpl* table, std::shared_ptr<DeviceBuffers> buffers,
                   DeviceQuery query)
      : table_(table),
        buffers_(std::move(buffers)),
        backend_(buffers_->backend()),
        query_(std::move(query)),
        stream_{query_.stream} {}

  // Also work of a call that failed half-way may still use the buffers.
  ~DeviceLookupImpl() override { GiveBack(0); }

  Status Start();
  Result<bool> IsReady() override {
    if (host_outcome_) return true;
    return backend_.IsDone(main_->ready);
  }
  Status Finish(LookupReport* report) override;

 private:
  const TableInfo& info() const { return table_->info(); }
  bool pooled() const { return query_.device_bags || query_.host_bags; }
  uint64_t bag_count() const {
    if (query_.device_bags) return query_.device_bags->count;
    return query_.host_bags ? query_.host_bags->offsets.size() : 0;
  }
  uint32_t values() const { return ValuesOf(query_.options, info()); }
  const std::vector<Tier>& tiers() const { return table_->tiers(); }
  // For kernels on the device.
  kernels::RowFormat FormatOf(const Tier& tier) const {
    return Leading(device_formats_[static_cast<size_t>(&tier - tiers().data())], values());
  }
  // Whether the device's cache holds rows of the table.
  bool cached() const {
    return std::any_of(tiers().begin(), tiers().end(),
                       [](const Tier& tier) { return tier.places.device != nullptr; });
  }
  uint64_t stride() const {
    return query_.options.out_stride == 0 ? values() : query_.options.out_stride;
  }
  uint64_t value_bytes() const { return FloatTypeBytes(query_.options.out_type); }
  kernels::OutputRows Out() const { return {query_.out, query_.options.out_type, stride()}; }
  template <typename T>
  T* Device(const Buffer* buffer, uint64_t at) const {
    return reinterpret_cast<T*>(buffer->device + at);
  }
  template <typename T>
  T* Pinned(const Buffer* buffer, uint64_t at) const {
    return reinterpret_cast<T*>(buffer->pinned + at);
  }
  Result<Buffer*> Hold(uint64_t bytes, uint64_t device_only = 0) {
    EDO_ASSIGN_OR_RETURN(auto buffer, buffers_->Take(bytes, device_only));
    held_.push_back(std::move(buffer));
    return held_.back().get();
  }
  // Gives back all buffers but the first `kept`, when the device is done with them.
  void GiveBack(size_t kept) {
    while (held_.size() > kept) {
      (void)backend_.Record(held_.back()->done, stream_);
      (void)backend_.Synchronize(held_.back()->done);
      buffers_->Give(std::move(held_.back()));
      held_.pop_back();
    }
  }
  // Adds a probe's outcome to the device cache's counters; a synchronous cache has counted it.
  void CountProbe(uint64_t hits, uint64_t misses) {
    if (!cached() || backend_.synchronous()) return;
    table_->context().device_cache->AddCounts(hits, misses);
  }
  // Whether some bags may not be written although all their rows are cached: those that lack a key
  // (with kError) or whose key could not be resolved. Only the host can tell which.
  // The cache pools rows of one format only, so bags of several tiers are left to Finish as well.
  bool HostDecides() const {
    return query_.options.on_missing == OnMissing::kError || !query_.keys.unread.empty() ||
           tiers().size() > 1;
  }
  // A list that a kernel has compacted at `at` of `buffer`, in ascending order.
  Result<std::vector<uint32_t>> FetchList(const Buffer* buffer, uint64_t at, uint64_t count) {
    EDO_ASSIGN_OR_RETURN(const uint32_t* const list,
                         Fetch<uint32_t>(buffer, at, Device<uint32_t>(buffer, at), count));
    std::vector<uint32_t> sorted(list, list + count);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  // Copies `count` elements at `at` of `buffer` down and waits for them.
  template <typename T>
  Result<const T*> Fetch(const Buffer* buffer, uint64_t at, const T* from, uint64_t count) {
    EDO_RETURN_IF_ERROR(
        backend_.CopyToHost(Pinned<T>(buffer, at), from, count * sizeof(T), stream_));
    EDO_RETURN_IF_ERROR(backend_.Record(buffer->done, stream_));
    EDO_RETURN_IF_ERROR(backend_.Synchronize(buffer->done));
    return static_cast<const T*>(Pinned<T>(buffer, at));
  }
  template <typename T>
  Status Upload(const Buffer* buffer, uint64_t at, const T* from, uint64_t count) {
    if (count == 0) return Status::Ok();
    std::memcpy(Pinned<T>(buffer, at), from, count * sizeof(T));
    return backend_.CopyToDevice(Device<T>(buffer, at), Pinned<T>(buffer, at), count * sizeof(T),
                                 stream_);
  }

  Status LookUpOnHost();
  Status EnqueueProbe();
  Status Probe(const uint64_t* device_rows, uint32_t count, const kernels::OutputRows& out,
               bool zero_absent, uint32_t* misses, QueryCounts* counts);
  Status CheckOffsets(std::span<const uint64_t> offsets, uint64_t keys) const;
  Status ZeroPadding();
  Status FetchRows();
  Status ReadMisses(std::span<const uint64_t> rows, std::span<const uint32_t> places,
                    const kernels::OutputRows& out, RowMark* marks, GatherOutcome* outcome);
  Status ReadMissesOf(const Tier& tier, std::span<const uint64_t> rows,
                      std::span<const uint32_t> places, const kernels::OutputRows& out,
                      RowMark* marks, GatherOutcome* outcome);
  Status FinishRows(GatherOutcome* outcome, std::vector<RowMark>* marks);
  Status FinishBags(GatherOutcome* outcome, std::vector<RowMark>* marks);
  Status PoolGroup(std::span<const uint64_t> offsets, std::span<const uint32_t> bags,
                   std::vector<RowMark>* marks, GatherOutcome* outcome);
  Status PoolOnHost(std::span<const uint64_t> offsets, uint32_t bag, std::vector<RowMark>* marks,
                    GatherOutcome* outcome);

  const TableImpl* const table_;
  std::vector<kernels::RowFormat> device_formats_;  // of the tiers
  const std::shared_ptr<DeviceBuffers> buffers_;
  kernels::Backend& backend_;
  DeviceQuery query_;
  const Stream stream_;
  std::vector<std::unique_ptr<Buffer>> held_;
  Buffer* main_ = nullptr;
  const uint64_t* rows_ = nullptr;  // on the device
  kernels::Bags bags_;              // on the device
  std::vector<float> host_weights_;
  // A device that is the CPU, without a cache of its own: the host's lookup has done it all.
  std::optional<GatherOutcome> host_outcome_;
  std::vector<RowMark> host_marks_;
  uint64_t counts_at_ = 0, list_at_ = 0, rows_at_ = 0, offsets_at_ = 0, weights_at_ = 0;
};

Status DeviceLookupImpl::Start() {
  const uint64_t count = query_.count;
  if (count >= kMostKeys) {
    return Status::InvalidArgument("table '" + info().name + "': a lookup on device of " +
                                   std::to_string(count) + " keys; at most " +
                                   std::to_string(kMostKeys - 1));
  }
  const uint64_t bag_count = this->bag_count();
  if (bag_count >= kMostKeys) return Status::InvalidArgument("too many bags");
  if (backend_.synchronous() && !cached()) return LookUpOnHost();
  for (const Tier& tier : tiers()) {
    EDO_ASSIGN_OR_RETURN(const kernels::RowFormat format, tier.pin->DeviceFormat(*tier.codec));
    device_formats_.push_back(format);
  }
  const bool has_weights = query_.host_bags && !query_.host_bags->weights.empty();
  Carver carver;
  counts_at_ = carver.Add<QueryCounts>(1);
  list_at_ = carver.Add<uint32_t>(pooled() ? bag_count : count);
  rows_at_ = carver.Add<uint64_t>(count);
  offsets_at_ = carver.Add<uint64_t>(pooled() ? bag_count + 1 : 0);
  weights_at_ = carver.Add<float>(
      has_weights || (query_.device_bags && query_.device_bags->weights) ? count : 0);
  EDO_ASSIGN_OR_RETURN(main_, Hold(carver.bytes()));

  rows_ = query_.device_rows;
  if (rows_ == nullptr) {
    EDO_RETURN_IF_ERROR(Upload(main_, rows_at_, query_.keys.rows.data(), count));
    rows_ = Device<uint64_t>(main_, rows_at_);
  }
  if (query_.host_bags) {
    const Bags& bags = *query_.host_bags;
    auto* const offsets = Pinned<uint64_t>(main_, offsets_at_);
    std::copy(bags.offsets.begin(), bags.offsets.end(), offsets);
    offsets[bag_count] = count;
    EDO_RETURN_IF_ERROR(backend_.CopyToDevice(Device<uint64_t>(main_, offsets_at_), offsets,
                                              (bag_count + 1) * 8, stream_));
    bags_.offsets = Device<uint64_t>(main_, offsets_at_);
    if (has_weights) {
      EDO_RETURN_IF_ERROR(Upload(main_, weights_at_, bags.weights.data(), count));
      bags_.weights = Device<float>(main_, weights_at_);
      host_weights_.assign(bags.weights.begin(), bags.weights.end());
    }
    bags_.mode = static_cast<kernels::PoolMode>(bags.mode);
  } else if (query_.device_bags) {
    bags_.offsets = query_.device_bags->offsets;
    bags_.weights = query_.device_bags->weights;
    bags_.mode = static_cast<kernels::PoolMode>(query_.device_bags->mode);
  }
  bags_.count = static_cast<uint32_t>(bag_count);
  auto* const counts = Device<QueryCounts>(main_, counts_at_);
  EDO_RETURN_IF_ERROR(backend_.Zero(counts, sizeof(QueryCounts), stream_));
  EDO_RETURN_IF_ERROR(EnqueueProbe());
  EDO_RETURN_IF_ERROR(backend_.CopyToHost(Pinned<QueryCounts>(main_, counts_at_), counts,
                                          sizeof(QueryCounts), stream_));
  return backend_.Record(main_->ready, stream_);
}

// Device memory is host memory, and the host's cache is the only one: as Table::Lookup does it.
Status DeviceLookupImpl::LookUpOnHost() {
  Resolved& keys = query_.keys;
  if (query_.device_rows != nullptr) keys.rows = {query_.device_rows, query_.count};
  host_marks_.resize(query_.count);
  const storage::DecodeTarget target = TargetOf(query_.options, info(), query_.out);
  if (!pooled()) {
    host_outcome_ = table_->GatherResolved(keys, query_.options, target, host_marks_.data());
    return Status::Ok();
  }
  std::vector<uint64_t> offsets;
  RowGather::BagOptions options = table_->PoolOptions(keys, query_.options);
  if (query_.host_bags) {
    const Bags& bags = *query_.host_bags;
    offsets.assign(bags.offsets.begin(), bags.offsets.end());
    offsets.push_back(query_.count);
    if (!bags.weights.empty()) options.weights = bags.weights.data();
    options.mode = static_cast<kernels::PoolMode>(bags.mode);
  } else {
    const DeviceBags& bags = *query_.device_bags;
    if (bags.count > 0) offsets.assign(bags.offsets, bags.offsets + bags.count + 1);
    EDO_RETURN_IF_ERROR(CheckOffsets(offsets, query_.count));
    options.weights = bags.weights;
    options.mode = static_cast<kernels::PoolMode>(bags.mode);
  }
  if (bag_count() == 0) offsets.assign(1, 0);
  host_outcome_ = table_->gather().Pool(keys.rows, offsets, target, options, host_marks_.data());
  return Status::Ok();
}

// (bags + 1) offsets, the last at most the number of keys.
Status DeviceLookupImpl::CheckOffsets(std::span<const uint64_t> offsets, uint64_t keys) const {
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    if (offsets[b] <= offsets[b + 1] && offsets[b + 1] <= keys) continue;
    return Status::InvalidArgument(
        "table '" + info().name + "': offsets " + std::to_string(b) + " and " +
        std::to_string(b + 1) + " of the bags are " + std::to_string(offsets[b]) + " and " +
        std::to_string(offsets[b + 1]) + " for " + std::to_string(keys) + " keys");
  }
  return Status::Ok();
}

Status DeviceLookupImpl::EnqueueProbe() {
  const auto count = static_cast<uint32_t>(query_.count);
  auto* const list = Device<uint32_t>(main_, list_at_);
  auto* const counts = Device<QueryCounts>(main_, counts_at_);
  const bool zero = query_.options.on_missing == OnMissing::kZero && query_.keys.unread.empty();
  if (!pooled()) {
    EDO_RETURN_IF_ERROR(Probe(rows_, count, Out(), zero, list, counts));
    return zero ? Status::Ok() : ZeroPadding();
  }
  if (HostDecides()) return Status::Ok();
  const Tier& tier = tiers().front();
  if (tier.places.device == nullptr) {
    kernels::ProbePoolArgs args;
    args.format = FormatOf(tier);
    args.query = {rows_, count, 0, info().rows};
    args.bags = bags_;
    args.out = Out();
    args.incomplete = list;
    args.counts = counts;
    return bags_.count == 0 ? Status::Ok() : backend_.ProbePool(args, stream_);
  }
  gpucache::PoolQuery query;
  query.rows = rows_;
  query.count = count;
  query.bags = bags_;
  query.out = Out();
  query.values = values();
  query.incomplete = list;
  query.counts = counts;
  return table_->context().device_cache->Pool(*tier.places.device, query, stream_);
}

// The cache's probe, tier by tier; without a cache, of blocks that hold nothing.
Status DeviceLookupImpl::Probe(const uint64_t* device_rows, uint32_t count,
                               const kernels::OutputRows& out, bool zero_absent, uint32_t* misses,
                               QueryCounts* counts) {
  if (count == 0) return Status::Ok();
  for (const Tier& tier : tiers()) {
    if (tier.places.device != nullptr) {
      EDO_RETURN_IF_ERROR(table_->context().device_cache->Gather(
          *tier.places.device,
          {device_rows, count, out, values(), zero_absent, misses, nullptr, counts,
           tier.first_row(), info().rows},
          stream_));
      continue;
    }
    kernels::ProbeGatherArgs args;
    args.format = FormatOf(tier);
    args.query = {device_rows, count, 0, info().rows, tier.first_row(), tier.rows()};
    args.out = out;
    args.zero_absent = zero_absent;
    args.misses = misses;
    args.counts = counts;
    EDO_RETURN_IF_ERROR(backend_.ProbeGather(args, stream_));
  }
  return Status::Ok();
}

// Places that become zeros although absent rows' places are left as they were: padding, and with
// kZero everything absent but the keys that could not be resolved.
Status DeviceLookupImpl::ZeroPadding() {
  const Resolved& keys = query_.keys;
  const bool zero = query_.options.on_missing == OnMissing::kZero;
  std::vector<uint32_t> places;
  for (size_t i = 0; i < keys.rows.size(); ++i) {
    if (keys.rows[i] < info().rows || (!keys.unread.empty() && keys.unread[i])) continue;
    if (!zero && (keys.padding.empty() || !keys.padding[i])) continue;
    places.push_back(static_cast<uint32_t>(i));
  }
  if (places.empty()) return Status::Ok();
  // One row of zeros, gathered to all of them.
  Carver carver;
  const uint64_t places_at = carver.Add<uint32_t>(places.size());
  const uint64_t row_at = carver.Add<float>(values());
  EDO_ASSIGN_OR_RETURN(Buffer* const buffer, Hold(carver.bytes()));
  EDO_RETURN_IF_ERROR(Upload(buffer, places_at, places.data(), places.size()));
  EDO_RETURN_IF_ERROR(backend_.Zero(buffer->device + row_at, values() * 4, stream_));
  kernels::GatherArgs args;
  args.rows = buffer->device + row_at;
  args.row_stride = 0;
  args.format = kernels::MakeRowFormat(kernels::RowCodec::kF32, values());
  args.out_rows = Device<uint32_t>(buffer, places_at);
  args.count = static_cast<uint32_t>(places.size());
  args.out = Out();
  return backend_.Gather(args, stream_);
}

// Row numbers given on the device, to the host.
Status DeviceLookupImpl::FetchRows() {
  if (query_.device_rows == nullptr || query_.count == 0 || query_.keys.rows.data() != nullptr) {
    return Status::Ok();
  }
  EDO_ASSIGN_OR_RETURN(const uint64_t* const rows,
                       Fetch(main_, rows_at_, query_.device_rows, query_.count));
  query_.keys.owned_rows.assign(rows, rows + query_.count);
  query_.keys.rows = query_.keys.owned_rows;
  return Status::Ok();
}

// Reads rows[place] for every place, decodes each to row `place` of `out` on the device, offers
// them to the device's cache. marks[place] (or null) = kFound where it was read.
Status DeviceLookupImpl::ReadMisses(std::span<const uint64_t> rows,
                                    std::span<const uint32_t> places,
                                    const kernels::OutputRows& out, RowMark* marks,
                                    GatherOutcome* outcome) {
  if (tiers().size() == 1) {
    return ReadMissesOf(tiers().front(), rows, places, out, marks, outcome);
  }
  std::vector<uint32_t> of_tier;
  for (const Tier& tier : tiers()) {
    of_tier.clear();
    for (const uint32_t place : places) {
      if (rows[place] - tier.first_row() < tier.rows()) of_tier.push_back(place);
    }
    if (of_tier.empty()) continue;
    EDO_RETURN_IF_ERROR(ReadMissesOf(tier, rows, of_tier, out, marks, outcome));
  }
  return Status::Ok();
}

Status DeviceLookupImpl::ReadMissesOf(const Tier& tier, std::span<const uint64_t> rows,
                                      std::span<const uint32_t> places,
                                      const kernels::OutputRows& out, RowMark* marks,
                                      GatherOutcome* outcome) {
  const uint64_t row_bytes = tier.row_bytes();
  const uint64_t window = std::max<uint64_t>(1, kStagedBytes / row_bytes);
  Carver carver;
  const uint64_t most = std::min<uint64_t>(window, places.size());
  const uint64_t codes_at = carver.Add<std::byte>(most * row_bytes);
  const uint64_t places_at = carver.Add<uint32_t>(most);
  EDO_ASSIGN_OR_RETURN(Buffer* const staged, Hold(carver.bytes()));
  std::vector<uint64_t> wanted;
  std::vector<uint8_t> unread;
  for (uint64_t first = 0; first < places.size(); first += window) {
    const uint64_t count = std::min<uint64_t>(window, places.size() - first);
    if (first > 0) {  // the buffer is free again when the last window's work is done
      EDO_RETURN_IF_ERROR(backend_.Record(staged->done, stream_));
      EDO_RETURN_IF_ERROR(backend_.Synchronize(staged->done));
    }
    wanted.resize(count);
    unread.resize(count);
    for (uint64_t i = 0; i < count; ++i) wanted[i] = rows[places[first + i]];
    auto* const codes = Pinned<std::byte>(staged, codes_at);
    auto* const to = Pinned<uint32_t>(staged, places_at);
    outcome->Add(table_->gather().ReadEncodedCached(tier, wanted, query_.options.deadline, codes,
                                                    unread.data()));
    // Rows that could not be read are taken out.
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (unread[i]) continue;
      const uint32_t place = places[first + i];
      if (marks != nullptr) marks[place] = RowMark::kFound;
      if (kept != i) {
        std::memcpy(codes + kept * row_bytes, codes + i * row_bytes, row_bytes);
        wanted[kept] = wanted[i];
      }
      to[kept++] = place;
    }
    if (kept == 0) continue;
    wanted.resize(kept);
    kernels::GatherArgs args;
    args.rows = Device<std::byte>(staged, codes_at);
    args.row_stride = row_bytes;
    args.format = FormatOf(tier);
    args.out_rows = Device<uint32_t>(staged, places_at);
    args.count = static_cast<uint32_t>(kept);
    args.out = out;
    EDO_RETURN_IF_ERROR(
        backend_.CopyToDevice(staged->device + codes_at, codes, kept * row_bytes, stream_));
    EDO_RETURN_IF_ERROR(backend_.CopyToDevice(staged->device + places_at, to, kept * 4, stream_));
    EDO_RETURN_IF_ERROR(backend_.Gather(args, stream_));
    if (tier.places.device == nullptr) continue;
    gpucache::RowCache& cache = *table_->context().device_cache;
    for (uint64_t& row : wanted) row -= tier.first_row();
    if (backend_.synchronous()) {
      cache.Fill(*tier.places.device, wanted,
                 std::vector<std::byte>(codes, codes + kept * row_bytes));
    } else {
      // The rows are where they were asked for; the cache alone goes without them.
      const Status filled = cache.FillFromDevice(*tier.places.device, wanted, args.rows, stream_);
      if (!filled.ok()) {
        table_->context().Log(LogLevel::kWarning,
                              "the device's cache is not filled: " + filled.ToString());
      }
    }
  }
  return Status::Ok();
}

Status DeviceLookupImpl::FinishRows(GatherOutcome* outcome, std::vector<RowMark>* marks) {
  const QueryCounts counts = *Pinned<QueryCounts>(main_, counts_at_);
  outcome->absent = counts.absent;
  CountProbe(query_.count - counts.misses - counts.absent, counts.misses);
  if (!marks->empty()) {
    for (size_t i = 0; i < marks->size(); ++i) {
      (*marks)[i] = query_.keys.rows[i] < info().rows ? RowMark::kFound : RowMark::kAbsent;
    }
  }
  if (counts.misses == 0) return Status::Ok();
  EDO_ASSIGN_OR_RETURN(const std::vector<uint32_t> places,
                       FetchList(main_, list_at_, counts.misses));
  if (!marks->empty()) {
    for (const uint32_t place : places) (*marks)[place] = RowMark::kMissed;
  }
  return ReadMisses(query_.keys.rows, places, Out(), marks->empty() ? nullptr : marks->data(),
                    outcome);
}

Status DeviceLookupImpl::FinishBags(GatherOutcome* outcome, std::vector<RowMark>* marks) {
  const bool host_decides = HostDecides();
  const QueryCounts counts = *Pinned<QueryCounts>(main_, counts_at_);
  if (!host_decides && counts.bags == 0 && marks->empty()) {
    outcome->absent = counts.absent;
    CountProbe(query_.count - counts.absent, 0);
    return Status::Ok();
  }
  EDO_RETURN_IF_ERROR(FetchRows());
  const std::span<const uint64_t> rows = query_.keys.rows;
  std::vector<uint64_t> offsets(bags_.count + uint64_t{1});
  if (query_.host_bags) {
    std::copy(query_.host_bags->offsets.begin(), query_.host_bags->offsets.end(), offsets.begin());
    offsets[bags_.count] = query_.count;
  } else if (bags_.count > 0) {
    EDO_ASSIGN_OR_RETURN(const uint64_t* const fetched,
                         Fetch(main_, offsets_at_, bags_.offsets, bags_.count + uint64_t{1}));
    std::copy_n(fetched, offsets.size(), offsets.begin());
    EDO_RETURN_IF_ERROR(CheckOffsets(offsets, query_.count));
    if (bags_.weights != nullptr) {
      EDO_ASSIGN_OR_RETURN(const float* const weights,
                           Fetch(main_, weights_at_, bags_.weights, query_.count));
      host_weights_.assign(weights, weights + query_.count);
    }
  }
  marks->resize(query_.count);
  uint64_t absent = 0;
  for (size_t i = 0; i < query_.count; ++i) {
    const bool found = rows[i] < info().rows;
    absent += !found;
    (*marks)[i] = found ? RowMark::kFound : RowMark::kAbsent;
  }
  outcome->absent = absent;

  std::vector<uint32_t> bags;
  if (host_decides) {
    const Resolved& keys = query_.keys;
    for (uint32_t b = 0; b < bags_.count; ++b) {
      bool blocked = false;
      for (uint64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
        blocked |= !keys.unread.empty() && keys.unread[i];
        blocked |= query_.options.on_missing == OnMissing::kError && rows[i] >= info().rows &&
                   (keys.padding.empty() || !keys.padding[i]);
      }
      if (!blocked) bags.push_back(b);
    }
  } else if (counts.bags > 0) {
    EDO_ASSIGN_OR_RETURN(bags, FetchList(main_, list_at_, counts.bags));
    CountProbe(query_.count - counts.absent - counts.misses, 0);
  }
  // Bags in groups whose decoded rows fit the scratch memory; a bag that does not fit alone is
  // pooled by the host, to the same bits.
  const uint64_t most =
      std::clamp<uint64_t>(kPooledBytes / (uint64_t{values()} * 4), 64, kPooledRows);
  std::vector<uint32_t> group;
  uint64_t ids = 0;
  const auto flush = [&]() -> Status {
    if (group.empty()) return Status::Ok();
    GiveBack(1);  // of the groups before: one group's memory is all that a call holds
    EDO_RETURN_IF_ERROR(PoolGroup(offsets, group, marks, outcome));
    group.clear();
    ids = 0;
    return Status::Ok();
  };
  for (const uint32_t bag : bags) {
    const uint64_t size = offsets[bag + 1] - offsets[bag];
    if (size > most) {
      GiveBack(1);
      EDO_RETURN_IF_ERROR(PoolOnHost(offsets, bag, marks, outcome));
      continue;
    }
    if (ids + size > most) EDO_RETURN_IF_ERROR(flush());
    group.push_back(bag);
    ids += size;
  }
  return flush();
}

// Gathers the rows of a few bags into scratch memory on the device and pools them there.
Status DeviceLookupImpl::PoolGroup(std::span<const uint64_t> offsets,
                                   std::span<const uint32_t> bags, std::vector<RowMark>* marks,
                                   GatherOutcome* outcome) {
  const uint32_t dim = values();
  std::vector<uint64_t> rows, group_offsets{0};
  std::vector<float> weights;
  for (const uint32_t bag : bags) {
    const uint64_t begin = offsets[bag];
    const uint64_t end = offsets[bag + 1];
    for (uint64_t i = begin; i < end; ++i) {
      rows.push_back(query_.keys.rows[i]);
      if (!host_weights_.empty()) weights.push_back(host_weights_[i]);
    }
    group_offsets.push_back(rows.size());
  }
  const auto count = static_cast<uint32_t>(rows.size());
  Carver carver;
  const uint64_t counts_at = carver.Add<QueryCounts>(1);
  const uint64_t rows_at = carver.Add<uint64_t>(count);
  const uint64_t list_at = carver.Add<uint32_t>(count);
  const uint64_t marks_at = carver.Add<RowMark>(count);
  const uint64_t weights_at = carver.Add<float>(weights.size());
  const uint64_t offsets_at = carver.Add<uint64_t>(group_offsets.size());
  const uint64_t bags_at = carver.Add<uint32_t>(bags.size());
  const uint64_t values_at = carver.bytes();  // behind them, on the device only
  EDO_ASSIGN_OR_RETURN(Buffer* const buffer, Hold(carver.bytes(), uint64_t{count} * dim * 4));
  const kernels::OutputRows values{Device<float>(buffer, values_at), FloatType::kF32, dim};
  auto* const counts = Device<QueryCounts>(buffer, counts_at);

  std::vector<RowMark> found(count);
  for (uint32_t i = 0; i < count; ++i) {
    found[i] = rows[i] < info().rows ? RowMark::kFound : RowMark::kAbsent;
  }
  if (count > 0) {
    EDO_RETURN_IF_ERROR(Upload(buffer, rows_at, rows.data(), count));
    EDO_RETURN_IF_ERROR(backend_.Zero(counts, sizeof(QueryCounts), stream_));
    EDO_RETURN_IF_ERROR(Probe(Device<uint64_t>(buffer, rows_at), count, values, false,
                              Device<uint32_t>(buffer, list_at), counts));
    EDO_ASSIGN_OR_RETURN(const QueryCounts* const told,
                         Fetch<QueryCounts>(buffer, counts_at, counts, 1));
    const QueryCounts probe = *told;
    CountProbe(count - probe.misses - probe.absent, probe.misses);
    if (probe.misses > 0) {
      EDO_ASSIGN_OR_RETURN(const std::vector<uint32_t> places,
                           FetchList(buffer, list_at, probe.misses));
      for (const uint32_t place : places) found[place] = RowMark::kMissed;
      EDO_RETURN_IF_ERROR(ReadMisses(rows, places, values, found.data(), outcome));
    }
  }
  // Whole bags only: one with an unread row keeps its place.
  std::vector<uint32_t> kept_bags;
  for (size_t b = 0; b < bags.size(); ++b) {
    bool unread = false;
    for (uint64_t i = group_offsets[b]; i < group_offsets[b + 1]; ++i) {
      unread |= found[i] == RowMark::kMissed;
      (*marks)[offsets[bags[b]] + i - group_offsets[b]] = found[i];
    }
    if (!unread) kept_bags.push_back(static_cast<uint32_t>(b));
  }
  // Bags lie apart where one was taken out, so each run of neighbours is one call.
  EDO_RETURN_IF_ERROR(Upload(buffer, marks_at, found.data(), count));
  EDO_RETURN_IF_ERROR(Upload(buffer, offsets_at, group_offsets.data(), group_offsets.size()));
  EDO_RETURN_IF_ERROR(Upload(buffer, bags_at, bags.data(), bags.size()));
  if (!weights.empty()) {
    EDO_RETURN_IF_ERROR(Upload(buffer, weights_at, weights.data(), weights.size()));
  }
  for (size_t at = 0; at < kept_bags.size();) {
    size_t end = at + 1;
    while (end < kept_bags.size() && kept_bags[end] == kept_bags[end - 1] + 1) ++end;
    kernels::PoolArgs args;
    args.rows = Device<float>(buffer, values_at);
    args.marks = Device<RowMark>(buffer, marks_at);
    args.dim = dim;
    args.bags = {Device<uint64_t>(buffer, offsets_at) + kept_bags[at],
                 static_cast<uint32_t>(end - at),
                 weights.empty() ? nullptr : Device<float>(buffer, weights_at), bags_.mode};
    args.out_bags = Device<uint32_t>(buffer, bags_at) + kept_bags[at];
    args.out = Out();
    EDO_RETURN_IF_ERROR(backend_.Pool(args, stream_));
    at = end;
  }
  return Status::Ok();
}

Status DeviceLookupImpl::PoolOnHost(std::span<const uint64_t> offsets, uint32_t bag,
                                    std::vector<RowMark>* marks, GatherOutcome* outcome) {
  const uint64_t begin = offsets[bag];
  const uint64_t ids = offsets[bag + 1] - begin;
  const uint64_t bytes = values() * value_bytes();
  EDO_ASSIGN_OR_RETURN(Buffer* const buffer, Hold(bytes));
  const uint64_t one[2] = {0, ids};
  RowGather::BagOptions options;
  options.mode = bags_.mode;
  options.weights = host_weights_.empty() ? nullptr : host_weights_.data() + begin;
  options.deadline = query_.options.deadline;
  GatherOutcome part =
      table_->gather().Pool(query_.keys.rows.subspan(begin, ids), one,
                            {buffer->pinned, query_.options.out_type, values(), values()}, options,
                            marks->data() + begin);
  part.absent = 0;
  const bool whole = part.unread == 0;
  outcome->Add(std::move(part));
  if (!whole) return Status::Ok();
  return backend_.CopyToDevice(static_cast<std::byte*>(query_.out) + bag * stride() * value_bytes(),
                               buffer->pinned, bytes, stream_);
}

Status DeviceLookupImpl::Finish(LookupReport* report) {
  if (report != nullptr) *report = {};
  if (host_outcome_) {
    return table_->Conclude(&query_.keys, std::move(*host_outcome_), host_marks_, query_.options,
                            report);
  }
  EDO_RETURN_IF_ERROR(backend_.Synchronize(main_->ready));
  const QueryCounts counts = *Pinned<QueryCounts>(main_, counts_at_);
  const bool need_rows = report != nullptr || counts.misses > 0 ||
                         (query_.options.on_missing == OnMissing::kError && counts.absent > 0);
  if (need_rows) EDO_RETURN_IF_ERROR(FetchRows());
  std::vector<RowMark> marks(report != nullptr ? query_.count : 0);
  GatherOutcome outcome;
  EDO_RETURN_IF_ERROR(pooled() ? FinishBags(&outcome, &marks) : FinishRows(&outcome, &marks));
  if (query_.keys.rows.data() == nullptr) {
    query_.keys.rows = {static_cast<const uint64_t*>(nullptr), query_.count};
  }
  return table_->Conclude(&query_.keys, std::move(outcome), marks, query_.options, report);
}

}  // namespace

Result<std::unique_ptr<DeviceLookup>> StartDeviceLookup(const TableImpl* table,
                                                        std::shared_ptr<DeviceBuffers> buffers,
                                                        DeviceQuery query) {
  auto lookup = std::make_unique<DeviceLookupImpl>(table, std::move(buffers), std::move(query));
  EDO_RETURN_IF_ERROR(lookup->Start());
  return std::unique_ptr<DeviceLookup>(std::move(lookup));
}

}  // namespace edo::engine
