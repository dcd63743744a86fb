// CPU bodies of the INT8 codec: one scale and one offset a row. See docs/codecs.md, "INT8", for the
// rules and the proof of the error bound.
#include <algorithm>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/int8_values.h"
#include "kernels/float_convert.h"

namespace edo::kernels {
namespace {

// How far a row reaches above and below zero, as the bits of the two magnitudes. Integers, because
// GCC does not vectorise a maximum of floats when it must honour NaN.
struct Reach {
  int32_t above = 0, below = 0;
};
EDO_SIMD_CLONES
Reach ReachOf(const float* row, size_t dim) {
  int32_t above = 0, below = 0;
  for (size_t i = 0; i < dim; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(row[i]);
    const auto up = static_cast<int32_t>(bits);
    const auto down = static_cast<int32_t>(bits ^ 0x80000000u);
    above = up > above ? up : above;
    below = down > below ? down : below;
  }
  return {above, below};
}

// Codes are x / scale to the nearest, ties to even, less the offset. A division rather than a
// product with 1 / scale: it gives the exactly rounded quotient, and it has no overflow when the
// scale is denormal. Adding 1.5 * 2^23 rounds to an integer, whose low byte is that of the sum's
// bits.
EDO_SIMD_CLONES
void Quantise(const float* __restrict row, size_t dim, float scale, uint32_t offset,
              std::byte* __restrict out) {
  for (size_t i = 0; i < dim; ++i) {
    const float shifted = row[i] / scale + 0x1.8p23f;
    out[i] = static_cast<std::byte>(std::bit_cast<uint32_t>(shifted) - offset);
  }
}

// The side data of a row: that with the smallest scale.
uint16_t ChooseSide(float above, float below) {
  const float largest = std::max(above, below);
  const uint16_t symmetric = Int8ScaleBits(largest);
  if (largest > 0x1p126f) return symmetric;  // an offset could decode to infinity
  const float far = largest, near = std::min(above, below);
  uint32_t least = symmetric;
  uint16_t side = symmetric;
  for (int steps = 1; steps <= kInt8Offsets; ++steps) {
    // Codes reach from -128 to 127.
    const int by = steps * kInt8OffsetStep;
    const int to_far = above >= below ? 127 + by : 128 + by;
    const int to_near = above >= below ? 128 - by : 127 - by;
    const uint32_t bits = std::max(ScaleBitsUp(far, static_cast<float>(to_far)),
                                   ScaleBitsUp(near, static_cast<float>(to_near)));
    const uint32_t coarse = (bits + kInt8ScaleStep - 1) / kInt8ScaleStep * kInt8ScaleStep;
    if (coarse >= least) continue;
    least = coarse;
    side = Int8SideOf(coarse, above >= below ? steps : -steps);
  }
  return side;
}

EDO_SIMD_CLONES
void DecodeInt8ToF32(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  const Int8Values values(codes + first, side);
  values.Store(count, out);
}
EDO_SIMD_CLONES
void DecodeInt8ToF16(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                     uint32_t first, uint32_t count, std::byte* __restrict out) {
  const Int8Values values(codes + first, side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToF16(values.At(i)));
}
EDO_SIMD_CLONES
void DecodeInt8ToBF16(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                      uint32_t first, uint32_t count, std::byte* __restrict out) {
  const Int8Values values(codes + first, side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToBF16(values.At(i)));
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
  const Reach reach = ReachOf(row, dim);
  const uint16_t side =
      ChooseSide(std::bit_cast<float>(reach.above), std::bit_cast<float>(reach.below));
  const float scale = BF16ToF32(static_cast<uint16_t>(Int8ScaleOf(side)));
  // A row of zeros has scale 0; its codes 0 / 1 are zeros too.
  Quantise(row, dim, scale == 0 ? 1.0f : scale, static_cast<uint32_t>(Int8OffsetOf(side)), out);
  StoreAt(out + dim, 0, side);
}

DecodeRowFunction Int8RowDecoder(FloatType out_type) {
  if (out_type == FloatType::kF16) return DecodeInt8ToF16;
  return out_type == FloatType::kBF16 ? DecodeInt8ToBF16 : DecodeInt8ToF32;
}

}  // namespace edo::kernels
