// How a generation is opened: GenerationPin in store_context.h.
#include "engine/store_context.h"
#include "storage/learned_pages.h"

namespace edo::engine {

Result<OpenedGeneration> GenerationPin::Open(const storage::TableRecord& record, uint32_t read_dims,
                                             bool cached) {
  const std::lock_guard lock(mutex_);
  if (opened_.codec == nullptr) {
    const Status s = OpenOnce(record, read_dims, cached);
    if (!s.ok()) {
      opened_ = {};
      return s;
    }
  }
  return opened_;
}

Status GenerationPin::OpenOnce(const storage::TableRecord& record, uint32_t read_dims,
                               bool cached) {
  const TableInfo& info = record.info;
  const std::string name = "table '" + info.name + "'";
  auto learned = storage::ReadLearned(*context_->rows, info.generation, record.learned_bytes);
  if (!learned.ok()) return learned.status().WithContext(name);
  auto codec = storage::Codec::Make(info.codec, info.dim, *learned);
  if (!codec.ok()) return codec.status().WithContext(name);
  opened_.codec = std::move(*codec);
  if (!cached) return Status::Ok();

  const kernels::RowFormat& format = opened_.codec->row_format();
  const uint32_t chosen =
      kernels::ChooseCellBytes(format.code_bytes, format.CodeBytesOf(read_dims));
  const bool cut = format.values_stand_alone() && chosen < format.code_bytes;
  const uint32_t cell = cut ? chosen : 0;  // else whole rows
  EDO_ASSIGN_OR_RETURN(opened_.places.host, Place(context_->cache.get(), format, info, cell));
  if (context_->device_cache == nullptr) return Status::Ok();
  EDO_ASSIGN_OR_RETURN(const kernels::RowFormat on_device, DeviceFormatLocked());
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

Result<kernels::RowFormat> GenerationPin::DeviceFormat() {
  const std::lock_guard lock(mutex_);
  return DeviceFormatLocked();
}

Result<kernels::RowFormat> GenerationPin::DeviceFormatLocked() {
  const std::shared_ptr<kernels::Backend> device = [&] {
    const std::lock_guard lock(context_->device_mutex);
    return context_->device;
  }();
  kernels::RowFormat format = opened_.codec->row_format();
  const std::span<const std::byte> learned = opened_.codec->learned();
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
