// CPU bodies of the F8 codec: E4M3 bytes times a scale a row. See docs/codecs.md, "F8".
#include <array>
#include <cmath>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/float_lanes.h"
#include "kernels/f8_values.h"
#include "kernels/float_convert.h"

namespace edo::kernels {
namespace {

// The value of each code.
constexpr std::array<float, 256> kF8Values = [] {
  std::array<float, 256> values{};
  for (uint32_t code = 0; code < 256; ++code) values[code] = E4M3ToF32(code);
  return values;
}();

EDO_SIMD_INLINE float F8Scale(const std::byte* side) {
  return LaneBF16ToF32(LoadAt<uint16_t>(side, 0));
}
EDO_SIMD_INLINE float F8Value(const std::byte* codes, size_t i) {
  return kF8Values[static_cast<uint8_t>(codes[i])];
}

EDO_SIMD_CLONES
void DecodeF8ToF32(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                   uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  const float scale = F8Scale(side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, F8Value(codes, i) * scale);
}
EDO_SIMD_CLONES
void DecodeF8ToF16(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                   uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  const float scale = F8Scale(side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToF16(F8Value(codes, i) * scale));
}
EDO_SIMD_CLONES
void DecodeF8ToBF16(const RowFormat&, const std::byte* __restrict codes, const std::byte* side,
                    uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  const float scale = F8Scale(side);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, LaneF32ToBF16(F8Value(codes, i) * scale));
}

}  // namespace

void EncodeF8Row(const float* row, uint32_t dim, std::byte* out) {
  const uint16_t bits = ScaleBitsUp(LargestMagnitude(row, dim), kE4M3Largest);
  // By a quotient, as INT8's codes: exact rounding, and no scale is too small.
  const float scale = bits == 0 ? 1.0f : BF16ToF32(bits);
  for (uint32_t i = 0; i < dim; ++i) {
    out[i] = static_cast<std::byte>(F32ToE4M3(row[i] / scale));
  }
  StoreAt(out + dim, 0, bits);
}

DecodeRowFunction F8RowDecoder(FloatType out_type) {
  if (out_type == FloatType::kF16) return DecodeF8ToF16;
  return out_type == FloatType::kBF16 ? DecodeF8ToBF16 : DecodeF8ToF32;
}

}  // namespace edo::kernels
