// E4M3 as the "OCP 8-bit Floating Point Specification (OFP8)" has it: 1 sign, 4 exponent (bias 7),
// 3 fraction bits, no infinity, largest finite value 448; here without its NaN, which no code is.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/portable.h"

namespace edo::kernels {

inline constexpr float kE4M3Largest = 448;

// In 2^-9, the smallest step: an integer of at most 18 bits.
EDO_HD constexpr int32_t E4M3Steps(uint32_t code) {
  const uint32_t exponent = code >> 3 & 15;
  const uint32_t fraction = code & 7;
  const auto magnitude =
      static_cast<int32_t>(exponent == 0 ? fraction : (fraction | 8u) << (exponent - 1));
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

constexpr float E4M3ToF32(uint32_t code) {
  const float magnitude = static_cast<float>(E4M3Steps(code & 0x7f)) * 0x1p-9f;
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// To the nearest, ties to even; magnitudes above 448 become 448.
constexpr uint8_t F32ToE4M3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7e);  // 448
  if (magnitude < 0x3c800000u) {  // below 2^-6: multiples of 2^-9
    // Adding 2^14 aligns the fraction so that the sum's low bits are the rounded code.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000u));
  }
  const uint32_t rebased = magnitude - 0x3c000000u;  // exponent 2^-7 becomes 0
  return static_cast<uint8_t>(sign | ((rebased + 0x7ffffu + (rebased >> 20 & 1u)) >> 20));
}

}  // namespace edo::kernels
