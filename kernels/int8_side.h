// The two bytes of side data of an INT8 row: its scale, and the offset of its codes where the row
// reaches further to one side of zero than to the other (docs/codecs.md, "INT8").
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace edo::kernels {

inline constexpr uint32_t kInt8HasOffset = 0x8000;
inline constexpr uint32_t kInt8ScaleStep = 8;  // of a scale's bits, in rows with an offset
inline constexpr int kInt8OffsetStep = 8;
inline constexpr int kInt8Offsets = 4;  // on either side of zero

// Without branches: which rows have an offset cannot be foretold, and a CPU that guesses wrong
// loses the rows that it had begun to load.
//
// The scale as bfloat16 bits.
EDO_HD uint32_t Int8ScaleOf(uint32_t side) {
  const uint32_t has_offset = 0u - (side >> 15);
  return side & 0x7fffu & ~(has_offset & (kInt8ScaleStep - 1));
}
// What is added to a code: 0, or one of +-8, +-16, +-24, +-32.
EDO_HD int Int8OffsetOf(uint32_t side) {
  const int has_offset = -static_cast<int>(side >> 15);
  const int number = static_cast<int>(side % kInt8ScaleStep);
  return (number - kInt8Offsets + number / kInt8Offsets) * kInt8OffsetStep & has_offset;
}
// `steps`: the offset / 8, not 0.
EDO_HD uint16_t Int8SideOf(uint32_t scale_bits, int steps) {
  const int step = (steps < 0 ? steps : steps - 1) + kInt8Offsets;
  return static_cast<uint16_t>(kInt8HasOffset | scale_bits | static_cast<uint32_t>(step));
}

}  // namespace edo::kernels
