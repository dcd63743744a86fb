// CPU bodies of the codecs whose values stand alone: F32, F16, BF16. See codec_kernels.h.
#include <cstring>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/simd.h"

namespace edo::kernels {
namespace {

EDO_SIMD_INLINE uint32_t Magnitude(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7fffffffu;
}

EDO_SIMD_CLONES
bool AnyMagnitudeIn(const float* values, size_t count, uint32_t low, uint32_t high) {
  uint32_t any = 0;
  // Unsigned wrap-around makes low <= x < high one comparison.
  for (size_t i = 0; i < count; ++i) any |= Magnitude(values[i]) - low < high - low ? 1u : 0u;
  return any != 0;
}

EDO_SIMD_CLONES
void DecodeF32ToF16(const std::byte* __restrict row, const std::byte*, uint32_t dim,
                    std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, LaneF32ToF16(LoadAt<float>(row, i)));
}
EDO_SIMD_CLONES
void DecodeF32ToBF16(const std::byte* __restrict row, const std::byte*, uint32_t dim,
                     std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, LaneF32ToBF16(LoadAt<float>(row, i)));
}
EDO_SIMD_CLONES
void DecodeF16ToF32(const std::byte* __restrict row, const std::byte*, uint32_t dim,
                    std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, LaneF16ToF32(LoadAt<uint16_t>(row, i)));
}
EDO_SIMD_CLONES
void DecodeF16ToBF16(const std::byte* __restrict row, const std::byte*, uint32_t dim,
                     std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) {
    StoreAt(out, i, LaneF32ToBF16(LaneF16ToF32(LoadAt<uint16_t>(row, i))));
  }
}
EDO_SIMD_CLONES
void DecodeBF16ToF32(const std::byte* __restrict row, const std::byte*, uint32_t dim,
                     std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, LaneBF16ToF32(LoadAt<uint16_t>(row, i)));
}
EDO_SIMD_CLONES
void DecodeBF16ToF16(const std::byte* __restrict row, const std::byte*, uint32_t dim,
                     std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) {
    StoreAt(out, i, LaneF32ToF16(LaneBF16ToF32(LoadAt<uint16_t>(row, i))));
  }
}

void Copy32(const std::byte* row, const std::byte*, uint32_t dim, std::byte* out) {
  std::memcpy(out, row, size_t{dim} * 4);
}
void Copy16(const std::byte* row, const std::byte*, uint32_t dim, std::byte* out) {
  std::memcpy(out, row, size_t{dim} * 2);
}

DecodeRowFunction Pick(FloatType type, DecodeRowFunction f32, DecodeRowFunction f16,
                       DecodeRowFunction bf16) {
  if (type == FloatType::kF16) return f16;
  return type == FloatType::kBF16 ? bf16 : f32;
}

}  // namespace

size_t FirstMagnitudeIn(const float* values, size_t count, uint32_t low, uint32_t high) {
  constexpr size_t kBlock = 4096;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = count - begin < kBlock ? count - begin : kBlock;
    if (!AnyMagnitudeIn(values + begin, size, low, high)) continue;
    size_t i = begin;
    while (Magnitude(values[i]) - low >= high - low) ++i;
    return i;
  }
  return count;
}

EDO_SIMD_CLONES
void EncodeF16(const float* __restrict values, size_t count, std::byte* __restrict out) {
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToF16(values[i]));
}

EDO_SIMD_CLONES
void EncodeBF16(const float* __restrict values, size_t count, std::byte* __restrict out) {
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToBF16(values[i]));
}

DecodeRowFunction F32RowDecoder(FloatType out_type) {
  return Pick(out_type, Copy32, DecodeF32ToF16, DecodeF32ToBF16);
}
DecodeRowFunction F16RowDecoder(FloatType out_type) {
  return Pick(out_type, DecodeF16ToF32, Copy16, DecodeF16ToBF16);
}
DecodeRowFunction BF16RowDecoder(FloatType out_type) {
  return Pick(out_type, DecodeBF16ToF32, DecodeBF16ToF16, Copy16);
}

}  // namespace edo::kernels
