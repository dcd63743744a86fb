// How a generation is opened: GenerationPin in store_context.h.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/store_context.h"
#include "storage/learned_pages.h"

namespace edo::engine {

Result<OpenedGeneration> GenerationPin::Open(const storage::TableRecord& record,
                                             const OpenOptions& options) {
  const std::lock_guard lock(mutex_);
  const bool base = options.base_only && record.info.codec.kind == CodecKind::kL4Plus4;
  const bool is_base = opened_.codec != nullptr && opened_.codec->spec() != record.info.codec;
  if (opened_.codec == nullptr || base != is_base) {
    const OpenedGeneration before = std::exchange(opened_, {});
    const Status s = OpenOnce(record, options);
    if (!s.ok()) {
      opened_ = before;
      return s;
    }
    if (base && before.codec != nullptr) KeepHalves(before);
  }
  return opened_;
}

// Rows that the host's cache holds whole, into it as their halves.
void GenerationPin::KeepHalves(const OpenedGeneration& whole) const {
  constexpr uint64_t kAtOnce = 4096;
  // A walk over far more rows than can be resident costs more than it saves.
  constexpr uint64_t kMostRowsASlot = 256;
  gpucache::RowCache* const cache = context_->cache.get();
  if (cache == nullptr || whole.places.host == nullptr || opened_.places.host == nullptr) return;
  const uint64_t rows = whole.places.host->rows();
  if (rows > kMostRowsASlot * cache->slots_of(*whole.places.host)) return;
  const uint64_t row_bytes = whole.codec->row_bytes();
  std::vector<uint64_t> numbers;
  std::vector<std::byte> codes, kept;
  std::vector<uint32_t> misses;
  for (uint64_t first = 0; first < rows; first += kAtOnce) {
    numbers.resize(std::min(kAtOnce, rows - first));
    std::iota(numbers.begin(), numbers.end(), first);
    codes.resize(numbers.size() * row_bytes);
    cache->CopyRows(*whole.places.host, numbers, codes.data(), &misses);
    std::vector<uint64_t> resident;
    kept.clear();
    for (size_t i = 0, m = 0; i < numbers.size(); ++i) {
      if (m < misses.size() && misses[m] == i) {
        ++m;
        continue;
      }
      resident.push_back(numbers[i]);
      const auto row = codes.begin() + static_cast<ptrdiff_t>(i * row_bytes);
      kept.insert(kept.end(), row, row + static_cast<ptrdiff_t>(row_bytes));
    }
    if (!resident.empty()) cache->Fill(*opened_.places.host, resident, std::move(kept));
    kept = {};
  }
}

Status GenerationPin::OpenOnce(const storage::TableRecord& record, const OpenOptions& options) {
  const TableInfo& info = record.info;
  const std::string name = "table '" + info.name + "'";
  auto learned = storage::ReadLearned(*context_->rows, info.generation, record.learned_bytes);
  if (!learned.ok()) return learned.status().WithContext(name);
  auto codec = storage::Codec::Make(info.codec, info.dim, *learned);
  if (!codec.ok()) return codec.status().WithContext(name);
  opened_.codec = std::move(*codec);
  if (options.base_only && info.codec.kind == CodecKind::kL4Plus4) {
    opened_.codec = storage::Codec::BaseOf(*opened_.codec);
  }
  if (!options.cached) return Status::Ok();

  const kernels::RowFormat& format = opened_.codec->row_format();
  const uint32_t chosen =
      kernels::ChooseCellBytes(format.code_bytes, format.CodeBytesOf(options.read_dims));
  const bool cut = format.values_stand_alone() && chosen < format.code_bytes;
  const uint32_t cell = cut ? chosen : 0;  // else whole rows
  EDO_ASSIGN_OR_RETURN(opened_.places.host, Place(context_->cache.get(), format, info, cell));
  if (context_->device_cache == nullptr) return Status::Ok();
  EDO_ASSIGN_OR_RETURN(const kernels::RowFormat on_device, DeviceFormatLocked(*opened_.codec));
  EDO_ASSIGN_OR_RETURN(opened_.places.device,
                       Place(context_->device_cache.get(), on_device, info, cell));
  return Status::Ok();
}

Result<std::shared_ptr<const gpucache::CachedTable>> GenerationPin::Place(
    gpucache::RowCache* cache, const kernels::RowFormat& format, const TableInfo& info,
    uint32_t cell_bytes) const {
  if (cache == nullptr) return std::shared_ptr<const gpucache::CachedTable>();
  auto place = cache->AddTable(format, info.rows, cell_bytes);
  if (place.ok()) return place;
  const Status s = place.status().WithContext("table '" + info.name + "'");
  if (s.code() != StatusCode::kNoSpace) return s;
  context_->Log(LogLevel::kWarning, s.ToString() + "; it is read without the cache");
  return std::shared_ptr<const gpucache::CachedTable>();
}

Result<kernels::RowFormat> GenerationPin::DeviceFormat(const storage::Codec& codec) {
  const std::lock_guard lock(mutex_);
  return DeviceFormatLocked(codec);
}

Result<kernels::RowFormat> GenerationPin::DeviceFormatLocked(const storage::Codec& codec) {
  const std::shared_ptr<kernels::Backend> device = [&] {
    const std::lock_guard lock(context_->device_mutex);
    return context_->device;
  }();
  kernels::RowFormat format = codec.row_format();
  const std::span<const std::byte> learned = codec.learned();
  if (learned.empty() || device->synchronous()) return format;
  if (device_learned_ == nullptr) {
    EDO_ASSIGN_OR_RETURN(void* const memory, device->Allocate(learned.size()));
    std::shared_ptr<void> owned(
        memory, [device, bytes = learned.size()](void* p) { device->Free(p, bytes); });
    EDO_RETURN_IF_ERROR(device->CopyToDevice(memory, learned.data(), learned.size(), {}));
    EDO_RETURN_IF_ERROR(device->Synchronize(kernels::Stream{}));
    device_learned_ = std::move(owned);
  }
  format.learned = static_cast<const std::byte*>(device_learned_.get());
  return format;
}

}  // namespace edo::engine
