// The one header that a kernel file includes. Under nvcc it is a thin layer over CUDA; under any
// other compiler the same names come from the executor in kernels/simt, which runs kernels on the
// CPU for the tests. Rules for kernels: docs/simt.md.
//
// Portable names, in edo::gpu: Launch, LoadRelaxed, StoreRelaxed, LoadVec, LoadVecReadOnly,
// LoadVecL2, StoreVec, StoreVecStreaming, Backoff, Tile<N>; macros SHARED_ARRAY(T, name, N), SHARED_VAR(T,
// name), SHARED_DYNAMIC(T, name) and GPU_BACKEND_NS, the namespace that keeps the backends' kernels
// apart.
#pragma once

#if defined(__CUDACC__)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#define GPU_BACKEND_NS cuda_backend

#define SHARED_ARRAY(T, name, N) __shared__ __align__(16) T name[N]
#define SHARED_VAR(T, name) __shared__ T name
#define SHARED_DYNAMIC(T, name)                                          \
  extern __shared__ __align__(1024) unsigned char gpu_dynamic_shared_[]; \
  T* const name = reinterpret_cast<T*>(gpu_dynamic_shared_)

namespace edo::gpu {

using StreamHandle = cudaStream_t;

// Enqueues kernel<<<grid, block, dynamic_shared_bytes, stream>>>(arguments...). 0 or an error for
// ErrorText() (runtime.h).
template <class... Parameters, class... Arguments>
int Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t dynamic_shared_bytes,
           StreamHandle stream, Arguments&&... arguments) {
  constexpr size_t kNeedsNoPermission = 48 * 1024;
  cudaError_t error = cudaSuccess;
  if (dynamic_shared_bytes > kNeedsNoPermission) {
    error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(dynamic_shared_bytes));
  }
  if (error == cudaSuccess) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = dynamic_shared_bytes;
    config.stream = stream;
    error = cudaLaunchKernelEx(&config, kernel,
                               static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  }
  if (error != cudaSuccess) cudaGetLastError();  // it is returned here, not again later
  return static_cast<int>(error);
}

// Relaxed, device scope, 2, 4 or 8 bytes: for memory that other threads write in the same launch.
// Only fences order them.
template <class T>
__device__ __forceinline__ T LoadRelaxed(const T* p) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  return *const_cast<const volatile T*>(p);
}
template <class T>
__device__ __forceinline__ void StoreRelaxed(T* p, std::type_identity_t<T> value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  *const_cast<volatile T*>(p) = value;
}

// One access of V, e.g. uint4. The address must be aligned to it.
template <class V>
__device__ __forceinline__ V LoadVec(const void* p) {
  return *static_cast<const V*>(p);
}
// For memory that nobody writes during the launch.
template <class V>
__device__ __forceinline__ V LoadVecReadOnly(const void* p) {
  return __ldg(static_cast<const V*>(p));
}
// Past the L1 cache: for memory that another stream may have written since the launch began.
template <class V>
__device__ __forceinline__ V LoadVecL2(const void* p) {
  return __ldcg(static_cast<const V*>(p));
}
template <class V>
__device__ __forceinline__ void StoreVec(void* p, V value) {
  *static_cast<V*>(p) = value;
}
// For results that the device does not read again soon.
template <class V>
__device__ __forceinline__ void StoreVecStreaming(void* p, V value) {
  __stcs(static_cast<V*>(p), value);
}

// In a loop that waits for another thread.
__device__ __forceinline__ void Backoff(unsigned nanoseconds) { __nanosleep(nanoseconds); }

}  // namespace edo::gpu

#else
#include "kernels/simt/dialect.h"
#endif

#include "kernels/cuda/tile.h"
