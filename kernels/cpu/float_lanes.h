// The conversions of float_convert.h without branches, so that loops over them become SIMD code.
// Same bits for every input (tests/kernels/float_convert_test.cc compares all halves and a dense
// sample of floats).
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cpu/simd.h"

namespace edo::kernels {

EDO_SIMD_INLINE uint32_t LaneMask(bool condition) { return 0u - uint32_t{condition}; }

EDO_SIMD_INLINE float LaneBF16ToF32(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

EDO_SIMD_INLINE uint16_t LaneF32ToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t quiet = (bits >> 16) | 0x40u;
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

// Masks instead of conditions: GCC moves work under a condition and then does not vectorise.
EDO_SIMD_INLINE float LaneF16ToF32(uint16_t half) {
  const uint32_t sign = (uint32_t{half} & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  uint32_t bits = (magnitude << 13) + (112u << 23);
  // Infinity and NaN need the exponent's other half; NaN becomes quiet.
  bits += (112u << 23) & LaneMask(magnitude >= 0x7c00u);
  bits |= 0x400000u & LaneMask(magnitude > 0x7c00u);
  // Zero and subnormals. From int: SSE2 has no conversion from unsigned.
  const float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  const uint32_t is_tiny = LaneMask(magnitude < 0x400u);
  bits = (bits & ~is_tiny) | (std::bit_cast<uint32_t>(tiny) & is_tiny);
  return std::bit_cast<float>(sign | bits);
}

EDO_SIMD_INLINE uint16_t LaneF32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t rebased = magnitude - 0x38000000u;
  const uint32_t normal = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  const uint32_t tiny =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t quiet = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  const uint32_t is_tiny = LaneMask(magnitude < 0x38800000u);
  uint32_t code = (normal & ~is_tiny) | (tiny & is_tiny);
  code = magnitude >= 0x477ff000u ? 0x7c00u : code;
  code = magnitude > 0x7f800000u ? quiet : code;
  return static_cast<uint16_t>(sign | code);
}

}  // namespace edo::kernels
