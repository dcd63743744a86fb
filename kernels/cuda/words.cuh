// What decoders are made of: conversions of single floats, and codes as 32-bit words. Same bits as
// the CPU's (kernels/float_convert.h is the meaning), NaN included.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/dialect.h"

namespace edo::kernels::GPU_BACKEND_NS {

// ---- conversions
// ---------------------------------------------------------------------------------

__device__ __forceinline__ float DecodeF16(uint32_t half) {
  const float value = __half2float(__ushort_as_half(static_cast<unsigned short>(half)));
  if ((half & 0x7fffu) <= 0x7c00u) return value;
  // The hardware's NaN forgets sign and payload.
  return __uint_as_float((half & 0x8000u) << 16 | 0x7fc00000u | (half & 0x3ffu) << 13);
}
__device__ __forceinline__ float DecodeBF16(uint32_t bits) { return __uint_as_float(bits << 16); }

__device__ __forceinline__ uint32_t EncodeF16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return (bits >> 16 & 0x8000u) | 0x7e00u | (bits >> 13 & 0x1ffu);
  }
  return __half_as_ushort(__float2half_rn(value));
}
__device__ __forceinline__ uint32_t EncodeBF16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

// ---- words
// ---------------------------------------------------------------------------------------

// 4, 8 or 16 bytes as 32-bit words.
template <uint32_t kWords>
struct VectorOf;
template <>
struct VectorOf<1> {
  using Type = uint32_t;
};
template <>
struct VectorOf<2> {
  using Type = uint2;
};
template <>
struct VectorOf<4> {
  using Type = uint4;
};

template <uint32_t kWords>
struct Words {
  static constexpr uint32_t kBytes = 4 * kWords;
  uint32_t at[kWords];

  __device__ void Take(uint32_t v) { at[0] = v; }
  __device__ void Take(const uint2& v) {
    at[0] = v.x;
    at[1] = v.y;
  }
  __device__ void Take(const uint4& v) {
    at[0] = v.x;
    at[1] = v.y;
    at[2] = v.z;
    at[3] = v.w;
  }
  __device__ auto Vector() const {
    if constexpr (kWords == 1) {
      return at[0];
    } else if constexpr (kWords == 2) {
      return make_uint2(at[0], at[1]);
    } else {
      return make_uint4(at[0], at[1], at[2], at[3]);
    }
  }
  // Past the L1 cache; the address is aligned to all of it.
  __device__ void LoadL2(const std::byte* p) {
    Take(gpu::LoadVecL2<typename VectorOf<kWords>::Type>(p));
  }
  __device__ void LoadWhole(const std::byte* p) {
    Take(gpu::LoadVec<typename VectorOf<kWords>::Type>(p));
  }
  // The first `bytes` from any address; the rest zeros. Touches no byte beyond.
  __device__ void LoadBytes(const std::byte* p, uint32_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(p);
    if (bytes == kBytes && address % kBytes == 0) return LoadWhole(p);
#pragma unroll
    for (uint32_t w = 0; w < kWords; ++w) {
      at[w] = 0;
      if (bytes >= 4 * w + 4 && address % 4 == 0) {
        at[w] = gpu::LoadVec<uint32_t>(p + 4 * w);
      } else if (bytes >= 4 * w + 4 && address % 2 == 0) {
        at[w] = gpu::LoadVec<uint16_t>(p + 4 * w) |
                static_cast<uint32_t>(gpu::LoadVec<uint16_t>(p + 4 * w + 2)) << 16;
      } else {
#pragma unroll
        for (uint32_t b = 0; b < 4; ++b) {
          if (4 * w + b < bytes) at[w] |= static_cast<uint32_t>(p[4 * w + b]) << 8 * b;
        }
      }
    }
  }
};

}  // namespace edo::kernels::GPU_BACKEND_NS
