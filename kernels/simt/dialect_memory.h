// How kernels read and write memory beyond plain accesses: relaxed, in 16-byte pieces, streaming,
// and by cp.async. Same contracts as in kernels/cuda/dialect.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simt/device_calls.h"

template <class T>
EDO_SIMT_INLINE T __ldg(const T* p) {
  return *p;
}
template <class T>
EDO_SIMT_INLINE void __stcs(T* p, T value) {
  *p = value;
}

EDO_SIMT_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes,
                                             size_t zero_bytes = 0) {
  ::edo::simt::AsyncCopy(to, from, bytes, zero_bytes);
}
EDO_SIMT_INLINE void __pipeline_commit() { ::edo::simt::AsyncCommit(); }
EDO_SIMT_INLINE void __pipeline_wait_prior(unsigned keep) { ::edo::simt::AsyncWaitPrior(keep); }

namespace edo::gpu {

template <class T>
EDO_SIMT_INLINE T LoadRelaxed(const T* p) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  const uint64_t bits = simt::LoadRelaxed(p, sizeof(T));
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
EDO_SIMT_INLINE void StoreRelaxed(T* p, std::type_identity_t<T> value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  simt::StoreRelaxed(p, sizeof(T), bits);
}

// A GPU faults on a vector access that is not aligned: checked in every build.
template <class V>
EDO_SIMT_INLINE V* AlignedVec(void* p) {
  if (reinterpret_cast<uintptr_t>(p) % alignof(V) != 0) simt::ReportMisaligned(p, sizeof(V));
  return static_cast<V*>(p);
}
template <class V>
EDO_SIMT_INLINE V LoadVec(const void* p) {
  return *AlignedVec<const V>(const_cast<void*>(p));
}
template <class V>
EDO_SIMT_INLINE V LoadVecReadOnly(const void* p) {
  return LoadVec<V>(p);
}
template <class V>
EDO_SIMT_INLINE V LoadVecL2(const void* p) {
  return LoadVec<V>(p);
}
template <class V>
EDO_SIMT_INLINE void StoreVec(void* p, V value) {
  *AlignedVec<V>(p) = value;
}
template <class V>
EDO_SIMT_INLINE void StoreVecStreaming(void* p, V value) {
  StoreVec(p, value);
}

EDO_SIMT_INLINE void Backoff(unsigned /*nanoseconds*/) { simt::GiveWay(); }

}  // namespace edo::gpu
