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
void DecodeF32ToF16(const RowFormat&, const std::byte* __restrict codes, const std::byte*,
                    uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += size_t{first} * 4;
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToF16(LoadAt<float>(codes, i)));
}
EDO_SIMD_CLONES
void DecodeF32ToBF16(const RowFormat&, const std::byte* __restrict codes, const std::byte*,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += size_t{first} * 4;
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToBF16(LoadAt<float>(codes, i)));
}
EDO_SIMD_CLONES
void DecodeF16ToF32(const RowFormat&, const std::byte* __restrict codes, const std::byte*,
                    uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += size_t{first} * 2;
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF16ToF32(LoadAt<uint16_t>(codes, i)));
}
EDO_SIMD_CLONES
void DecodeF16ToBF16(const RowFormat&, const std::byte* __restrict codes, const std::byte*,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += size_t{first} * 2;
  for (size_t i = 0; i < count; ++i) {
    StoreAt(out, i, LaneF32ToBF16(LaneF16ToF32(LoadAt<uint16_t>(codes, i))));
  }
}
EDO_SIMD_CLONES
void DecodeBF16ToF32(const RowFormat&, const std::byte* __restrict codes, const std::byte*,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += size_t{first} * 2;
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneBF16ToF32(LoadAt<uint16_t>(codes, i)));
}
EDO_SIMD_CLONES
void DecodeBF16ToF16(const RowFormat&, const std::byte* __restrict codes, const std::byte*,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += size_t{first} * 2;
  for (size_t i = 0; i < count; ++i) {
    StoreAt(out, i, LaneF32ToF16(LaneBF16ToF32(LoadAt<uint16_t>(codes, i))));
  }
}

void Copy32(const RowFormat&, const std::byte* codes, const std::byte*, uint32_t first,
            uint32_t count, std::byte* out) {
  std::memcpy(out, codes + size_t{first} * 4, size_t{count} * 4);
}
void Copy16(const RowFormat&, const std::byte* codes, const std::byte*, uint32_t first,
            uint32_t count, std::byte* out) {
  std::memcpy(out, codes + size_t{first} * 2, size_t{count} * 2);
}

EDO_SIMD_CLONES
void StoreAsF16(const float* __restrict values, size_t count, std::byte* __restrict out) {
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToF16(values[i]));
}
EDO_SIMD_CLONES
void StoreAsBF16(const float* __restrict values, size_t count, std::byte* __restrict out) {
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToBF16(values[i]));
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

void EncodeF16(const float* values, size_t count, std::byte* out) {
  StoreAsF16(values, count, out);
}
void EncodeBF16(const float* values, size_t count, std::byte* out) {
  StoreAsBF16(values, count, out);
}

void StoreFloats(const float* values, uint32_t count, FloatType type, std::byte* out) {
  if (type == FloatType::kF32) {
    std::memcpy(out, values, size_t{count} * 4);
  } else {
    type == FloatType::kF16 ? StoreAsF16(values, count, out) : StoreAsBF16(values, count, out);
  }
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
