// CPU bodies of the INT8 codec: one scale a row, symmetric codes. See docs/codecs.md, "INT8", for
// the rules and the proof of the error bound.
#include "kernels/codec_kernels.h"
#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/simd.h"
#include "kernels/float_convert.h"

namespace edo::kernels {
namespace {

// Bits of the largest magnitude. Integers, because GCC does not vectorise a maximum of floats when
// it must honour NaN.
EDO_SIMD_CLONES
uint32_t LargestMagnitude(const float* row, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(row[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

// Codes are x / scale to the nearest, ties to even. A division rather than a product with
// 1 / scale: it gives the exactly rounded code, and it has no overflow when the scale is denormal.
// Adding 1.5 * 2^23 rounds to an integer, which is then the low byte of the sum's bits.
EDO_SIMD_CLONES
void Quantise(const float* __restrict row, size_t dim, float scale, std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) {
    const float shifted = row[i] / scale + 0x1.8p23f;
    out[i] = static_cast<std::byte>(std::bit_cast<uint32_t>(shifted));
  }
}

EDO_SIMD_INLINE float RowScale(const std::byte* side) {
  return LaneBF16ToF32(LoadAt<uint16_t>(side, 0));
}
EDO_SIMD_INLINE float CodeValue(const std::byte* row, size_t i) {
  return static_cast<float>(static_cast<int8_t>(row[i]));
}

EDO_SIMD_CLONES
void DecodeInt8ToF32(const std::byte* __restrict row, const std::byte* side, uint32_t dim,
                     std::byte* __restrict out) {
  const float scale = RowScale(side);
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, CodeValue(row, i) * scale);
}
EDO_SIMD_CLONES
void DecodeInt8ToF16(const std::byte* __restrict row, const std::byte* side, uint32_t dim,
                     std::byte* __restrict out) {
  const float scale = RowScale(side);
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, LaneF32ToF16(CodeValue(row, i) * scale));
}
EDO_SIMD_CLONES
void DecodeInt8ToBF16(const std::byte* __restrict row, const std::byte* side, uint32_t dim,
                      std::byte* __restrict out) {
  const float scale = RowScale(side);
  for (size_t i = 0; i < dim; ++i) StoreAt(out, i, LaneF32ToBF16(CodeValue(row, i) * scale));
}

}  // namespace

uint16_t Int8ScaleBits(float max_magnitude) {
  // Largest scale whose product with 127 is still finite. Rows near FLT_MAX would need the next
  // one; with this one their largest code is 127.008, which still rounds to 127.
  constexpr uint16_t kLargestScale = 0x7c01;  // 0x1.02p121
  const uint32_t quotient = std::bit_cast<uint32_t>(max_magnitude / 127.0f);
  uint16_t bits = static_cast<uint16_t>((quotient + 0xffffu) >> 16);  // up to the next bfloat16
  // A denormal quotient may have been rounded down onto a bfloat16 (or onto zero).
  if (BF16ToF32(bits) * 127.0f < max_magnitude) ++bits;
  return bits > kLargestScale ? kLargestScale : bits;
}

void EncodeInt8Row(const float* row, uint32_t dim, std::byte* out) {
  const uint16_t bits = Int8ScaleBits(std::bit_cast<float>(LargestMagnitude(row, dim)));
  // A row of zeros has scale 0; its codes 0 / 1 are zeros too.
  Quantise(row, dim, bits == 0 ? 1.0f : BF16ToF32(bits), out);
  StoreAt(out + dim, 0, bits);
}

DecodeRowFunction Int8RowDecoder(FloatType out_type) {
  if (out_type == FloatType::kF16) return DecodeInt8ToF16;
  return out_type == FloatType::kBF16 ? DecodeInt8ToBF16 : DecodeInt8ToF32;
}

}  // namespace edo::kernels
