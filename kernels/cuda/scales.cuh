// Levels to values: by the row's scale, or by the profile of the table's columns. What a table has
// learned does not change during a launch, so it is read through the read-only path; side data of
// the cache is not (probe_rows.cuh).
//
// A scale has
//   kProfile               whether it needs more than the first two bytes of side data
//   Columns<kCount>        what it keeps of kCount neighbouring columns: Load(format, first column)
//   Scale(SideData)        from a row's side data
//   Value(level, columns, v)  the value of column v of those
#pragma once

#include "kernels/cuda/words.cuh"
#include "kernels/int8_side.h"

namespace edo::kernels::GPU_BACKEND_NS {

// A row's side data: the first two bytes, which a slot's entry holds beside its tag and score, and
// the next two, which are loaded for codecs with a profile only.
struct SideData {
  uint32_t head;
  uint32_t more;
};

template <uint32_t kCount>
struct NoColumns {
  __device__ void Load(const RowFormat&, uint32_t) {}
};

// A scale is not negative; the sign says something else to L4+4 (l4_levels.h), whose half L4 is.
struct ByScale {
  static constexpr bool kProfile = false;
  template <uint32_t kCount>
  using Columns = NoColumns<kCount>;
  float scale;
  __device__ explicit ByScale(const SideData& side) : scale(DecodeBF16(side.head & 0x7fffu)) {}
  template <uint32_t kCount>
  __device__ float Value(float level, const NoColumns<kCount>&, uint32_t) const {
    return __fmul_rn(level, scale);
  }
};

// INT8's: the offset of the row's codes is added first, which is exact.
struct ByScaleAndOffset {
  static constexpr bool kProfile = false;
  template <uint32_t kCount>
  using Columns = NoColumns<kCount>;
  float scale, offset;
  __device__ explicit ByScaleAndOffset(const SideData& side)
      : scale(DecodeBF16(Int8ScaleOf(side.head))),
        offset(static_cast<float>(Int8OffsetOf(side.head))) {}
  template <uint32_t kCount>
  __device__ float Value(float level, const NoColumns<kCount>&, uint32_t) const {
    return __fmul_rn(__fadd_rn(level, offset), scale);
  }
};

// Mean and deviation of kCount neighbouring columns; zeros beyond the row.
template <uint32_t kCount>
struct ProfileColumns {
  static_assert(kCount % 4 == 0);
  float mean[kCount];
  float deviation[kCount];

  __device__ void Load(const RowFormat& format, uint32_t first) {
    const uint32_t left = format.full_dim - first;
    const std::byte* const means = format.learned + uint64_t{first} * 4;
    LoadFloats(means, left, mean);
    LoadFloats(means + uint64_t{format.full_dim} * 4, left, deviation);
  }

 private:
  __device__ static void LoadFloats(const std::byte* p, uint32_t left, float* out) {
    if (left >= kCount && reinterpret_cast<uintptr_t>(p) % 16 == 0) {
#pragma unroll
      for (uint32_t i = 0; i < kCount; i += 4) {
        const uint4 four = gpu::LoadVecReadOnly<uint4>(p + 4 * i);
        out[i] = __uint_as_float(four.x);
        out[i + 1] = __uint_as_float(four.y);
        out[i + 2] = __uint_as_float(four.z);
        out[i + 3] = __uint_as_float(four.w);
      }
      return;
    }
#pragma unroll
    for (uint32_t i = 0; i < kCount; ++i) {
      out[i] = i < left ? __uint_as_float(gpu::LoadVecReadOnly<uint32_t>(p + 4 * i)) : 0.0f;
    }
  }
};

// `Plain`: what a row that does without the profile has.
template <class Plain>
struct ByProfile {
  static constexpr bool kProfile = true;
  template <uint32_t kCount>
  using Columns = ProfileColumns<kCount>;
  float a, b;
  bool is_plain;
  Plain plain;
  __device__ explicit ByProfile(const SideData& side)
      : a(DecodeBF16(side.more)),
        b(DecodeBF16(side.head & 0x7fffu)),
        is_plain(side.more == 0x8000u),
        plain(side) {}
  template <uint32_t kCount>
  __device__ float Value(float level, const ProfileColumns<kCount>& columns, uint32_t v) const {
    if (is_plain) return plain.Value(level, NoColumns<kCount>{}, v);
    return __fadd_rn(__fmul_rn(a, columns.mean[v]),
                     __fmul_rn(__fmul_rn(b, columns.deviation[v]), level));
  }
};

}  // namespace edo::kernels::GPU_BACKEND_NS
