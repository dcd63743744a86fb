// Body of RowCodec.
#include "storage/codecs/row_codec.h"

#include <charconv>
#include <cmath>
#include <string>

namespace edo::storage {
namespace {

// Shortest decimals that read back to the same float; "inf" and "nan" with a sign where they have
// one.
std::string ValueText(float value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

}  // namespace

RowCodec::RowCodec(const CodecSpec& spec, uint32_t dim, kernels::RowCodec codec)
    : Codec(spec, kernels::MakeRowFormat(codec, dim)),
      decoders_{kernels::RowDecoder(codec, FloatType::kF32),
                kernels::RowDecoder(codec, FloatType::kF16),
                kernels::RowDecoder(codec, FloatType::kBF16)} {}

void RowCodec::Decode(const std::byte* codes, size_t count, const DecodeTarget& target) const {
  const auto decode = decoders_[static_cast<size_t>(target.type)];
  const uint64_t row_bytes = this->row_bytes();
  const uint32_t code_bytes = row_format().code_bytes;
  const uint32_t values = target.values == 0 ? dim() : target.values;
  const uint64_t stride = target.stride == 0 ? values : target.stride;
  const uint64_t out_bytes = stride * FloatTypeBytes(target.type);
  auto* out = static_cast<std::byte*>(target.out);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const row = codes + i * row_bytes;
    decode(row, row + code_bytes, values, out + i * out_bytes);
  }
}

void RowCodec::DecodeGather(const std::byte* const* rows, const uint64_t* out_rows, size_t count,
                            const DecodeTarget& target) const {
  const auto decode = decoders_[static_cast<size_t>(target.type)];
  const uint32_t values = target.values == 0 ? dim() : target.values;
  const uint64_t stride = target.stride == 0 ? values : target.stride;
  const uint64_t out_bytes = stride * FloatTypeBytes(target.type);
  const uint32_t code_bytes = row_format().code_bytes;
  auto* out = static_cast<std::byte*>(target.out);
  for (size_t i = 0; i < count; ++i) {
    decode(rows[i], rows[i] + code_bytes, values, out + out_rows[i] * out_bytes);
  }
}

Status RowCodec::RefuseMagnitudes(const float* rows, size_t count, uint32_t low, uint32_t high,
                                  const char* rule, uint64_t* bad_value) const {
  const size_t total = count * dim();
  const size_t index = kernels::FirstMagnitudeIn(rows, total, low, high);
  if (index == total) return Status::Ok();
  if (bad_value != nullptr) *bad_value = index;
  return Status::BadInput("value " + std::to_string(index % dim() + 1) + " of " +
                          std::to_string(dim()) + ", " + ValueText(rows[index]) + " " + rule);
}

}  // namespace edo::storage
