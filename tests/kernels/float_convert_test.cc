// Compares float_convert.h, and the branch-free lanes made from it, with the compiler's own
// _Float16 over all 65,536 halves and over floats: every exponent with 4,096 mantissas each, every
// tie between neighbouring halves and both of a tie's neighbours. Equality is to the bit.
#include "kernels/float_convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kernels/cpu/float_lanes.h"
#include "tests/support/test_util.h"

namespace edo::kernels {
namespace {

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }
float Float(uint32_t bits) { return std::bit_cast<float>(bits); }

// bfloat16 by choosing between the two neighbours in double arithmetic.
uint16_t OracleBF16(float value) {
  if (!std::isfinite(value)) {
    const uint16_t upper = static_cast<uint16_t>(Bits(value) >> 16);
    return std::isnan(value) ? upper | 0x40 : upper;
  }
  const uint16_t low = static_cast<uint16_t>(Bits(value) >> 16);
  const double below = std::fabs(Float(uint32_t{low} << 16));
  // The neighbour above may be infinity; what counts is where its grid point would lie.
  const double above =
      (low & 0x7fff) == 0x7f7f ? std::ldexp(1.0, 128) : std::fabs(Float((uint32_t{low} + 1) << 16));
  const double down = std::fabs(value) - below, up = above - std::fabs(value);
  if (down != up) return down < up ? low : low + 1;
  return low & 1 ? low + 1 : low;
}

template <typename Check>
void ForManyFloats(const Check& check) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(11)));
  for (uint32_t top = 0; top < 512; ++top) {
    for (int i = 0; i < 4096; ++i) check(Float((top << 23) | (random() & 0x7fffff)));
    for (uint32_t edge : {0u, 1u, 2u, 0x7fffffu, 0x7ffffeu, 0x400000u, 0x3fffffu, 0x400001u}) {
      check(Float((top << 23) | edge));
    }
    // Every tie of the 8-bit mantissa and its neighbours.
    for (uint32_t m = 0x8000; m < 0x800000; m += 0x8000) {
      for (uint32_t delta : {0u, 1u, ~0u}) check(Float((top << 23) | ((m + delta) & 0x7fffff)));
    }
  }
}

TEST(FloatConvert, BF16RoundsToNearestEven) {
  ForManyFloats([](float value) {
    ASSERT_EQ(F32ToBF16(value), OracleBF16(value)) << std::hex << Bits(value);
    ASSERT_EQ(LaneF32ToBF16(value), OracleBF16(value)) << std::hex << Bits(value);
  });
}

TEST(FloatConvert, EveryBF16ComesBackUnchanged) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t code = static_cast<uint16_t>(bits);
    const bool quiet_nan_or_number = !std::isnan(BF16ToF32(code)) || (code & 0x40);
    if (quiet_nan_or_number) {
      ASSERT_EQ(F32ToBF16(BF16ToF32(code)), code);
    }
    ASSERT_EQ(Bits(LaneBF16ToF32(code)), Bits(BF16ToF32(code)));
  }
}

TEST(FloatConvert, EveryHalfComesBackUnchangedAndLanesAgree) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = F16ToF32(half);
    ASSERT_EQ(Bits(LaneF16ToF32(half)), Bits(value)) << std::hex << bits;
    if (std::isnan(value)) {
      ASSERT_EQ(F32ToF16(value), half | 0x200) << std::hex << bits;
    } else {
      ASSERT_EQ(F32ToF16(value), half) << std::hex << bits;
    }
  }
}

TEST(FloatConvert, LanesAgreeWithTheFormulas) {
  ForManyFloats([](float value) {
    ASSERT_EQ(LaneF32ToF16(value), F32ToF16(value)) << std::hex << Bits(value);
  });
}

#ifdef __FLT16_MANT_DIG__
__extension__ typedef _Float16 Half;

TEST(FloatConvert, HalvesAgreeWithTheCompiler) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float theirs = static_cast<float>(std::bit_cast<Half>(half));
    if (std::isnan(theirs)) {
      ASSERT_TRUE(std::isnan(F16ToF32(half)));
    } else {
      ASSERT_EQ(Bits(F16ToF32(half)), Bits(theirs)) << std::hex << bits;
    }
  }
}

TEST(FloatConvert, RoundingToHalfAgreesWithTheCompiler) {
  const auto check = [](float value) {
    const uint16_t theirs = std::bit_cast<uint16_t>(static_cast<Half>(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(F16ToF32(F32ToF16(value))));
    } else {
      ASSERT_EQ(F32ToF16(value), theirs) << std::hex << Bits(value);
    }
  };
  ForManyFloats(check);
  // Ties between neighbouring halves, and the floats beside them.
  for (uint16_t half = 0; half < 0x7c00; ++half) {
    const float tie = static_cast<float>(
        (double{F16ToF32(half)} + (half == 0x7bff ? 65536.0 : double{F16ToF32(half + 1)})) / 2);
    for (float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) {
      check(value);
      check(-value);
    }
  }
}
#else
TEST(FloatConvert, HalvesAgreeWithTheCompiler) {
  GTEST_SKIP() << "this compiler has no _Float16 to compare with";
}
#endif

}  // namespace
}  // namespace edo::kernels
