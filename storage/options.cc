// Bodies of edo/options.h.
#include "edo/options.h"

namespace edo {

std::string_view KeyKindName(KeyKind kind) {
  switch (kind) {
    case KeyKind::kDense:
      return "dense";
    case KeyKind::kInt64:
      return "int64";
    case KeyKind::kText:
      return "text";
  }
  return "unknown";
}

std::string_view FloatTypeName(FloatType type) {
  switch (type) {
    case FloatType::kF32:
      return "f32";
    case FloatType::kF16:
      return "f16";
    case FloatType::kBF16:
      return "bf16";
  }
  return "unknown";
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kAuto:
      return "auto";
    case Compression::kNone:
      return "none";
    case Compression::kZstd:
      return "zstd";
  }
  return "unknown";
}

Status StoreOptions::Validate() const {
  if (key_cache_bytes > (uint64_t{1} << 40)) {
    return Status::InvalidArgument("key_cache_bytes " + std::to_string(key_cache_bytes) +
                                   " is more than 1 TiB");
  }
  for (const auto& [name, bytes] :
       {std::pair("cache_bytes", cache_bytes), std::pair("device_cache_bytes", device_cache_bytes),
        std::pair("prefetch_bytes", prefetch_bytes)}) {
    if (bytes > (uint64_t{1} << 44)) {
      return Status::InvalidArgument(std::string(name) + " " + std::to_string(bytes) +
                                     " is more than 16 TiB");
    }
  }
  if (read_threads > 64) {
    return Status::InvalidArgument("read_threads " + std::to_string(read_threads) +
                                   " is more than 64");
  }
  if (prefetch_threads == 0 || prefetch_threads > 64) {
    return Status::InvalidArgument("prefetch_threads " + std::to_string(prefetch_threads) +
                                   "; allowed are 1 to 64");
  }
  return Status::Ok();
}

}  // namespace edo
