// Codes of an INT8 row to values; to be inlined into a clone.
#pragma once

#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/simd.h"
#include "kernels/int8_side.h"

namespace edo::kernels {

struct Int8Values {
  const std::byte* codes;
  float offset;
  float scale;
  EDO_SIMD_INLINE Int8Values(const std::byte* row_codes, const std::byte* side) : codes(row_codes) {
    const uint32_t bits = LoadAt<uint16_t>(side, 0);
    offset = static_cast<float>(Int8OffsetOf(bits));
    scale = LaneBF16ToF32(static_cast<uint16_t>(Int8ScaleOf(bits)));
  }
  // Exact: a code and its offset have 8 bits together, a scale 8.
  EDO_SIMD_INLINE float At(size_t i) const {
    return (static_cast<float>(static_cast<int8_t>(codes[i])) + offset) * scale;
  }
  // The first `count` as floats. The last block overlaps the one before it: values twice are faster
  // than values one at a time.
  EDO_SIMD_INLINE void Store(size_t count, std::byte* __restrict out) const {
    constexpr size_t kBlock = 16;
    const auto block = [&](size_t at) __attribute__((always_inline)) {
      for (size_t lane = 0; lane < kBlock; ++lane) StoreAt(out, at + lane, At(at + lane));
    };
    size_t i = 0;
    for (; i + kBlock <= count; i += kBlock) block(i);
    if (i == count) return;
    if (count >= kBlock) return block(count - kBlock);
    for (; i < count; ++i) StoreAt(out, i, At(i));
  }
};

}  // namespace edo::kernels
