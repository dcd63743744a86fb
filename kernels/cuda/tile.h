// gpu::Tile<N>: N neighbouring lanes of a warp that work as one, written once for both compilers.
// N is a power of two; blocks are one-dimensional and their size is a multiple of N. (CUDA's
// cooperative groups cost nvcc some 6 s of CPU a file.) Included by dialect.h.
#pragma once

// The executor wants the caller's source line, not the one in this file.
#if defined(__CUDACC__)
#define GPU_SITE
#define GPU_AND_SITE
#define GPU_PASS_SITE
#else
#define GPU_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define GPU_AND_SITE , GPU_SITE
#define GPU_PASS_SITE , file, line
#endif

namespace edo::gpu {

template <unsigned N>
struct Tile {
  static_assert(N >= 2 && N <= 32 && (N & (N - 1)) == 0);

  __device__ unsigned Lane() const { return threadIdx.x & (N - 1); }
  __device__ unsigned Rank() const { return threadIdx.x / N; }  // of the tile in its block
  __device__ unsigned Count() const { return blockDim.x / N; }  // tiles a block
  // The tile's lanes, as the warp numbers them.
  __device__ unsigned FirstLane() const { return (threadIdx.x & 31u) & ~(N - 1); }
  __device__ unsigned Mask() const {
    return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1) << FirstLane();
  }

  __device__ void Sync(GPU_SITE) const { __syncwarp(Mask() GPU_PASS_SITE); }
  // Bit i stands for lane i of the tile.
  __device__ unsigned Ballot(bool predicate GPU_AND_SITE) const {
    return (__ballot_sync(Mask(), predicate GPU_PASS_SITE) & Mask()) >> FirstLane();
  }
  __device__ bool Any(bool predicate GPU_AND_SITE) const {
    return __any_sync(Mask(), predicate GPU_PASS_SITE) != 0;
  }
  __device__ bool All(bool predicate GPU_AND_SITE) const {
    return __all_sync(Mask(), predicate GPU_PASS_SITE) != 0;
  }
  template <class T>
  __device__ T Shfl(T value, unsigned source GPU_AND_SITE) const {
    return __shfl_sync(Mask(), value, static_cast<int>(source), N GPU_PASS_SITE);
  }
  template <class T>
  __device__ T ShflXor(T value, unsigned lanes GPU_AND_SITE) const {
    return __shfl_xor_sync(Mask(), value, static_cast<int>(lanes), N GPU_PASS_SITE);
  }
  template <class T>
  __device__ T ShflUp(T value, unsigned distance GPU_AND_SITE) const {
    return __shfl_up_sync(Mask(), value, distance, N GPU_PASS_SITE);
  }
  template <class T>
  __device__ T ShflDown(T value, unsigned distance GPU_AND_SITE) const {
    return __shfl_down_sync(Mask(), value, distance, N GPU_PASS_SITE);
  }
  // The least value of the tile, in every lane.
  template <class T>
  __device__ T Min(T value GPU_AND_SITE) const {
#pragma unroll
    for (unsigned distance = N / 2; distance != 0; distance /= 2) {
      const T other = ShflXor(value, distance GPU_PASS_SITE);
      value = other < value ? other : value;
    }
    return value;
  }
};

}  // namespace edo::gpu

#undef GPU_SITE
#undef GPU_AND_SITE
#undef GPU_PASS_SITE
