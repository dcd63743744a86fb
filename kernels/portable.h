// What a header needs that is compiled for the host and for a device: the one macro that marks its
// functions, and the few intrinsics that the two spell differently. Standard headers only.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define EDO_HD __host__ __device__ __forceinline__
#else
#define EDO_HD inline
#endif

namespace edo::kernels {

// High 64 bits of the 128-bit product.
EDO_HD uint64_t MulHigh(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

}  // namespace edo::kernels
