// CUDA C++ for a host compiler: the names that kernels use, on the executor. Kernel files include
// kernels/cuda/dialect.h, which comes here unless nvcc compiles. Never in one translation unit, or
// one program, with CUDA's own headers: the names are the same.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/simt/device_calls.h"
#include "kernels/simt/dialect_atomics.h"
#include "kernels/simt/dialect_float16.h"
#include "kernels/simt/dialect_launch.h"
#include "kernels/simt/dialect_math.h"
#include "kernels/simt/dialect_memory.h"
#include "kernels/simt/dialect_types.h"
#include "kernels/simt/dialect_warp.h"

#define GPU_BACKEND_NS simt_backend

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __grid_constant__

#define threadIdx (::edo::simt::ThreadIdx())
#define blockIdx (::edo::simt::BlockIdx())
#define blockDim (::edo::simt::BlockDim())
#define gridDim (::edo::simt::GridDim())
inline constexpr int warpSize = 32;

// Each declaration has an address of its own, which stands for it in the block's shared memory.
#define EDO_SIMT_SHARED(T, variable)                          \
  ::edo::simt::SharedStatic({.key =                           \
                                 [] {                         \
                                   static const char key = 0; \
                                   return &key;               \
                                 }(),                         \
                             .bytes = sizeof(T),              \
                             .alignment = alignof(T),         \
                             .name = #variable})
#define SHARED_ARRAY(T, variable, N) \
  T(&variable)[N] = *static_cast<T(*)[N]>(EDO_SIMT_SHARED(T[N], variable))
#define SHARED_VAR(T, variable) T& variable = *static_cast<T*>(EDO_SIMT_SHARED(T, variable))
#define SHARED_DYNAMIC(T, name) T* const name = static_cast<T*>(::edo::simt::SharedDynamic())

#define __trap() ::edo::simt::ReportTrap(::edo::simt::Site{__FILE__, __LINE__})
#define __nanosleep(ns) ((void)(ns), ::edo::simt::GiveWay())
