// Codes of an INT8 row to values; to be inlined into a clone.
#pragma once

#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/simd.h"
#include "kernels/int8_side.h"

namespace edo::kernels {

struct Int8Values {
  const std::byte* codes;
  int32_t offset;
  float scale;
  EDO_SIMD_INLINE Int8Values(const std::byte* row_codes, const std::byte* side) : codes(row_codes) {
    const uint32_t bits = LoadAt<uint16_t>(side, 0);
    offset = Int8OffsetOf(bits);
    scale = LaneBF16ToF32(static_cast<uint16_t>(Int8ScaleOf(bits)));
  }
  // Exact: a code and its offset have 8 bits together, a scale 8.
  EDO_SIMD_INLINE float At(size_t i) const {
    return static_cast<float>(static_cast<int8_t>(codes[i]) + offset) * scale;
  }
};

}  // namespace edo::kernels
