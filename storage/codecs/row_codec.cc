// Body of RowCodec.
#include "storage/codecs/row_codec.h"

namespace edo::storage {
RowCodec::RowCodec(const CodecSpec& spec, uint32_t dim, std::span<const std::byte> learned)
    : Codec(spec, dim, learned) {
  FindDecoders();
}

RowCodec::RowCodec(const CodecSpec& spec, const kernels::RowFormat& format,
                   std::span<const std::byte> learned)
    : Codec(spec, format, learned) {
  FindDecoders();
}

void RowCodec::FindDecoders() {
  for (const FloatType type : {FloatType::kF32, FloatType::kF16, FloatType::kBF16}) {
    decoders_[static_cast<size_t>(type)] = kernels::RowDecoder(row_format().codec, type);
  }
}

void RowCodec::Decode(const std::byte* codes, size_t count, const DecodeTarget& target) const {
  const auto decode = decoders_[static_cast<size_t>(target.type)];
  const uint64_t row_bytes = this->row_bytes();
  const uint32_t side_at = row_format().side_at();
  const uint32_t values = target.values == 0 ? dim() : target.values;
  const uint64_t stride = target.stride == 0 ? values : target.stride;
  const uint64_t out_bytes = stride * FloatTypeBytes(target.type);
  auto* out = static_cast<std::byte*>(target.out);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const row = codes + i * row_bytes;
    decode(row_format(), row, row + side_at, 0, values, out + i * out_bytes);
  }
}

void RowCodec::DecodeGather(const std::byte* const* rows, const uint64_t* out_rows, size_t count,
                            const DecodeTarget& target) const {
  const auto decode = decoders_[static_cast<size_t>(target.type)];
  const uint32_t values = target.values == 0 ? dim() : target.values;
  const uint64_t stride = target.stride == 0 ? values : target.stride;
  const uint64_t out_bytes = stride * FloatTypeBytes(target.type);
  const uint32_t side_at = row_format().side_at();
  auto* out = static_cast<std::byte*>(target.out);
  for (size_t i = 0; i < count; ++i) {
    decode(row_format(), rows[i], rows[i] + side_at, 0, values, out + out_rows[i] * out_bytes);
  }
}

}  // namespace edo::storage
