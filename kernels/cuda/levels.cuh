// Codes to levels: what a value is before the row's scale or profile is applied. Same bits as the
// functions of f8_values.h and l4_levels.h, by other means.
//
// Levels have kAWord, how many codes four bytes hold, and Of(word, i), the level of code i of them.
#pragma once

#include "kernels/cuda/dialect.h"
#include "kernels/l4_levels.h"

namespace edo::kernels::GPU_BACKEND_NS {

struct ByteLevels {
  static constexpr uint32_t kAWord = 4;
  __device__ static float Of(uint32_t word, uint32_t i) {
    return static_cast<float>(static_cast<int8_t>(word >> 8 * i & 0xffu));
  }
};

struct E4M3Levels {
  static constexpr uint32_t kAWord = 4;
  __device__ static float Of(uint32_t word, uint32_t i) {
    const uint32_t code = word >> 8 * i;
    // As binary32 the code's exponent is 120 too small; the product is exact, subnormals as well,
    // and zeros keep their sign.
    return __fmul_rn(__uint_as_float((code & 0x80u) << 24 | (code & 0x7fu) << 20), 0x1p120f);
  }
};

// What stands in `table` for nibble i of a word: byte 0 for the two levels nearest to zero, byte 7
// for the outermost.
__device__ __forceinline__ uint32_t L4TableByte(uint64_t table, uint32_t word, uint32_t i) {
  const uint32_t negative = ~word >> 3 & 0x11111111u;  // of every nibble: 1 below 8
  const uint32_t outwards = (word ^ negative * 7) & 0x77777777u;
  const uint32_t four = __byte_perm(static_cast<uint32_t>(table),
                                    static_cast<uint32_t>(table >> 32), outwards >> 16 * (i / 4));
  return four >> 8 * (i % 4) & 0xffu;
}
__device__ __forceinline__ float L4Signed(float magnitude, uint32_t word, uint32_t i) {
  return __uint_as_float(__float_as_uint(magnitude) | (~word >> (4 * i + 3) & 1u) << 31);
}

struct L4Levels {
  static constexpr uint32_t kAWord = 8;
  __device__ static float Of(uint32_t word, uint32_t i) {
    return L4Signed(static_cast<float>(L4TableByte(kL4Magnitudes, word, i)), word, i);
  }
};

// Byte c: where the range of positive level c starts, in 1/2.
inline constexpr uint64_t kL4Starts = [] {
  uint64_t starts = 0;
  for (uint32_t c = 0; c < 8; ++c) starts |= static_cast<uint64_t>(L4RangeStart64(c) / 32) << 8 * c;
  return starts;
}();
static_assert(ByteOf(kL4Starts, 7) * 32 == static_cast<uint32_t>(L4RangeStart64(7)));

// Level i of L4+4 from a word of nibbles and the word of nibbles that refine them; `half_steps`:
// the row's L4HalfSteps().
__device__ __forceinline__ float L4Plus4LevelOf(uint64_t half_steps, uint32_t word, uint32_t fine,
                                                uint32_t i) {
  const uint32_t negative = ~word >> 3 & 0x11111111u;
  const uint32_t step = (fine ^ negative * 15) >> 4 * i & 15u;
  const uint32_t magnitude64 =
      32 * L4TableByte(kL4Starts, word, i) + (2 * step + 1) * L4TableByte(half_steps, word, i);
  return L4Signed(__fmul_rn(static_cast<float>(magnitude64), 0x1p-6f), word, i);
}

}  // namespace edo::kernels::GPU_BACKEND_NS
