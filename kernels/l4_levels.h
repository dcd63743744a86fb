// The levels of L4 and L4+4, on host and device. Levels are multiples of the row's scale. They are
// the 16 Lloyd-Max levels of a normal distribution (J. Max, "Quantizing for minimum distortion",
// 1960: 0.1284 0.3881 0.6568 0.9424 1.2562 1.6181 2.0690 2.7326 deviations) in steps of 1/46
// deviation, rounded to integers, which costs 0.1 % of the error. L4+4 cuts the range of values
// nearest to each level into 16 equal steps; the outermost ends at 166, or at 146.5 in rows that do
// not reach further. Nibbles ascend with the value: 0 is the lowest level, 15 the highest.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace edo::kernels {

inline constexpr float kL4LevelsADeviation = 46;
inline constexpr float kL4Highest = 126;
inline constexpr float kL4Plus4End = 166;  // no value above it can be refined
inline constexpr float kL4Plus4NearEnd = 146.5f;
// Of the scale, which is never negative: the outermost range ends at kL4Plus4NearEnd.
inline constexpr uint32_t kL4EndsNear = 0x8000;

// Byte c: the positive level c, 0..7.
inline constexpr uint64_t kL4Magnitudes = 0x7e5f4a3a2b1e1206u;
// Byte c: half the width of a step inside level c's range, in 1/64.
inline constexpr uint64_t kL4HalfSteps = 0x6f34251f1c191818u;
inline constexpr uint64_t kL4NearHalfSteps = 0x4834251f1c191818u;
EDO_HD constexpr uint64_t L4HalfSteps(bool ends_near) {
  return ends_near ? kL4NearHalfSteps : kL4HalfSteps;
}

EDO_HD constexpr uint32_t ByteOf(uint64_t bytes, uint32_t i) {
  return static_cast<uint32_t>(bytes >> 8 * i) & 0xffu;
}

EDO_HD constexpr int32_t L4Level(uint32_t nibble) {
  return nibble >= 8 ? static_cast<int32_t>(ByteOf(kL4Magnitudes, nibble - 8))
                     : -static_cast<int32_t>(ByteOf(kL4Magnitudes, 7 - nibble));
}

// In 1/64: the start of positive level c's range, c <= 8. Every end is the mean of two levels.
EDO_HD constexpr int32_t L4RangeStart64(uint32_t c) {
  int32_t start = 0;
  for (uint32_t i = 0; i < c; ++i) start += 32 * static_cast<int32_t>(ByteOf(kL4HalfSteps, i));
  return start;
}
static_assert(L4RangeStart64(1) == (6 + 18) * 32 && L4RangeStart64(7) == (95 + 126) * 32 &&
              L4RangeStart64(8) == 166 * 64 &&
              L4RangeStart64(7) + 32 * 0x48 == static_cast<int32_t>(kL4Plus4NearEnd * 64));

// In 1/64: the middle of step `fine` of a level's range.
EDO_HD constexpr int32_t L4Plus4Level64(uint32_t nibble, uint32_t fine, bool ends_near) {
  const uint32_t c = nibble >= 8 ? nibble - 8 : 7 - nibble;
  const uint32_t step = nibble >= 8 ? fine : 15 - fine;
  const auto half_step = static_cast<int32_t>(ByteOf(L4HalfSteps(ends_near), c));
  const int32_t magnitude = L4RangeStart64(c) + static_cast<int32_t>(2 * step + 1) * half_step;
  return nibble >= 8 ? magnitude : -magnitude;
}

}  // namespace edo::kernels
