// Sixteen floats at once, in whatever registers the clone has. Sums over a row are kept in sixteen
// partial sums, value i in sum i % 16, which are then added pair by pair: the same bits on every
// machine.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd.h"

namespace edo::kernels {

using Float16 = float __attribute__((vector_size(64)));
using Int16 = int32_t __attribute__((vector_size(64)));
using Byte16 = int8_t __attribute__((vector_size(16)));

inline constexpr size_t kLanes = 16;

EDO_SIMD_INLINE void LoadLanes(const float* from, Float16* to) {
  std::memcpy(to, from, sizeof *to);
}
// The first `count` < 16 from memory, zeros behind.
EDO_SIMD_INLINE void LoadSomeLanes(const float* from, size_t count, Float16* to) {
  float lanes[kLanes] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  LoadLanes(lanes, to);
}
EDO_SIMD_INLINE void StoreLanes(const Float16& from, std::byte* to) {
  std::memcpy(to, &from, sizeof from);
}
EDO_SIMD_INLINE float SumOfLanes(const Float16& lanes) {
  float sums[kLanes];
  std::memcpy(sums, &lanes, sizeof lanes);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
  }
  return sums[0];
}

// Ones for the first `count` < 16 lanes, zeros behind.
EDO_SIMD_INLINE void LiveLanes(size_t count, Float16* live) {
  float lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = i < count ? 1.0f : 0.0f;
  LoadLanes(lanes, live);
}

// Calls each(live, lanes of array 0, lanes of array 1, ...) for `count` values of each array,
// sixteen at a time. Behind the last value lanes are zeros; `live` is 1 where there is a value, and
// 0 behind.
template <class Each, class... Arrays>
EDO_SIMD_INLINE void ForEachLanes(size_t count, const Each& each, const Arrays*... arrays) {
  const auto load = [](const float* from) {
    struct Loaded {
      Float16 lanes;
    } loaded;
    LoadLanes(from, &loaded.lanes);
    return loaded;
  };
  Float16 live = Float16{} + 1.0f;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) each(live, load(arrays + i).lanes...);
  if (i == count) return;
  const size_t left = count - i;
  LiveLanes(left, &live);
  const auto load_some = [left](const float* from) {
    struct Loaded {
      Float16 lanes;
    } loaded;
    LoadSomeLanes(from, left, &loaded.lanes);
    return loaded;
  };
  each(live, load_some(arrays + i).lanes...);
}

}  // namespace edo::kernels
