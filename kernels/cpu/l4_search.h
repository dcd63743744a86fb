// How L4 finds codes and scale of a row: sums over the nearest levels of scaled values. Shared by
// the plain and the profile codecs; to be inlined into a clone.
#pragma once

#include "kernels/cpu/lanes16.h"
#include "kernels/l4_levels.h"

namespace edo::kernels {

// The levels nearest to 16 values in units of the scale.
EDO_SIMD_INLINE void NearestLevels(const Float16& y, Float16* nearest) {
  const Float16 zero{};
  const Float16 magnitude = y < zero ? -y : y;
  Float16 level = zero + 6.0f;
  level += magnitude > 12.0f ? zero + 12.0f : zero;
  level += magnitude > 24.0f ? zero + 12.0f : zero;
  level += magnitude > 36.5f ? zero + 13.0f : zero;
  level += magnitude > 50.5f ? zero + 15.0f : zero;
  level += magnitude > 66.0f ? zero + 16.0f : zero;
  level += magnitude > 84.5f ? zero + 21.0f : zero;
  level += magnitude > 110.5f ? zero + 31.0f : zero;
  *nearest = y < zero ? -level : level;
}
static_assert(L4Level(8) == 6 && L4Level(9) == 18 && L4Level(10) == 30 && L4Level(11) == 43 &&
              L4Level(12) == 58 && L4Level(13) == 74 && L4Level(14) == 95 && L4Level(15) == 126 &&
              L4Level(0) == -126 && L4Level(7) == -6);

// The nibble of a value in units of the scale; the same choice, one value at a time.
EDO_SIMD_INLINE uint32_t NearestNibble(float y) {
  const float magnitude = y < 0 ? -y : y;
  const uint32_t c = uint32_t{magnitude > 12.0f} + uint32_t{magnitude > 24.0f} +
                     uint32_t{magnitude > 36.5f} + uint32_t{magnitude > 50.5f} +
                     uint32_t{magnitude > 66.0f} + uint32_t{magnitude > 84.5f} +
                     uint32_t{magnitude > 110.5f};
  return y < 0 ? 7 - c : 8 + c;
}

// The step of the level's range that holds a value.
EDO_SIMD_INLINE uint32_t StepOf(float y, uint32_t nibble, bool ends_near) {
  const uint32_t c = nibble >= 8 ? nibble - 8 : 7 - nibble;
  const float magnitude = y < 0 ? -y : y;
  const float start = static_cast<float>(L4RangeStart64(c)) * 0x1p-6f;
  const float width = static_cast<float>(ByteOf(L4HalfSteps(ends_near), c)) * 0x1p-5f;
  const float steps = (magnitude - start) / width;
  const uint32_t step = steps >= 16.0f ? 15 : steps > 0 ? static_cast<uint32_t>(steps) : 0;
  return nibble >= 8 ? step : 15 - step;
}

}  // namespace edo::kernels
