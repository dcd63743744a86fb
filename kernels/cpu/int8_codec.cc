// CPU bodies of the INT8 codec: one scale a row, symmetric codes. See docs/codecs.md, "INT8", for
// the rules and the proof of the error bound.
#include "kernels/codec_kernels.h"
#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/simd.h"
#include "kernels/float_convert.h"

namespace edo::kernels {
namespace {

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
EDO_SIMD_INLINE float CodeValue(const std::byte* codes, size_t i) {
  return static_cast<float>(static_cast<int8_t>(codes[i]));
}

EDO_SIMD_CLONES
void DecodeInt8ToF32(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  const float scale = RowScale(side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, CodeValue(codes, i) * scale);
}
EDO_SIMD_CLONES
void DecodeInt8ToF16(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  const float scale = RowScale(side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToF16(CodeValue(codes, i) * scale));
}
EDO_SIMD_CLONES
void DecodeInt8ToBF16(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                      uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  const float scale = RowScale(side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToBF16(CodeValue(codes, i) * scale));
}

}  // namespace

uint16_t ScaleBitsUp(float max_magnitude, float largest_code) {
  const uint32_t quotient = std::bit_cast<uint32_t>(max_magnitude / largest_code);
  uint16_t bits = static_cast<uint16_t>((quotient + 0xffffu) >> 16);  // up to the next bfloat16
  const float product = BF16ToF32(bits) * largest_code;
  // A denormal quotient may have been rounded down onto a bfloat16 (or onto zero).
  if (product < max_magnitude) return static_cast<uint16_t>(bits + 1);
  // Rows near FLT_MAX: with the scale below, the largest code stays the nearest to the largest
  // value.
  return std::bit_cast<uint32_t>(product) == kInfinityBits ? static_cast<uint16_t>(bits - 1) : bits;
}

uint16_t Int8ScaleBits(float max_magnitude) { return ScaleBitsUp(max_magnitude, 127.0f); }

void EncodeInt8Row(const float* row, uint32_t dim, std::byte* out) {
  const uint16_t bits = Int8ScaleBits(LargestMagnitude(row, dim));
  // A row of zeros has scale 0; its codes 0 / 1 are zeros too.
  Quantise(row, dim, bits == 0 ? 1.0f : BF16ToF32(bits), out);
  StoreAt(out + dim, 0, bits);
}

DecodeRowFunction Int8RowDecoder(FloatType out_type) {
  if (out_type == FloatType::kF16) return DecodeInt8ToF16;
  return out_type == FloatType::kBF16 ? DecodeInt8ToBF16 : DecodeInt8ToF32;
}

}  // namespace edo::kernels
