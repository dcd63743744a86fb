// Atomics, relaxed as CUDA's are, on 4 and 8 bytes.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/simt/device_calls.h"

namespace edo::simt {

template <class T>
EDO_SIMT_INLINE T AtomicUpdate(AtomicOperation operation, T* p, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(
        Atomic32(operation, reinterpret_cast<uint32_t*>(p), std::bit_cast<uint32_t>(value)));
  } else {
    return std::bit_cast<T>(
        Atomic64(operation, reinterpret_cast<uint64_t*>(p), std::bit_cast<uint64_t>(value)));
  }
}

}  // namespace edo::simt

#define EDO_SIMT_ATOMIC(name, T, operation)                                              \
  EDO_SIMT_INLINE T name(T* p, T value) {                                                \
    return ::edo::simt::AtomicUpdate(::edo::simt::AtomicOperation::operation, p, value); \
  }
#define EDO_SIMT_ATOMIC_INTEGERS(name, unsigned_operation, signed_operation) \
  EDO_SIMT_ATOMIC(name, int, signed_operation)                               \
  EDO_SIMT_ATOMIC(name, unsigned, unsigned_operation)                        \
  EDO_SIMT_ATOMIC(name, unsigned long long, unsigned_operation)

EDO_SIMT_ATOMIC_INTEGERS(atomicAdd, kAdd, kAdd)
EDO_SIMT_ATOMIC(atomicAdd, float, kAddFloat)
EDO_SIMT_ATOMIC(atomicAdd, double, kAddFloat)
EDO_SIMT_ATOMIC(atomicSub, int, kSubtract)
EDO_SIMT_ATOMIC(atomicSub, unsigned, kSubtract)
EDO_SIMT_ATOMIC_INTEGERS(atomicExch, kExchange, kExchange)
EDO_SIMT_ATOMIC(atomicExch, float, kExchange)
EDO_SIMT_ATOMIC_INTEGERS(atomicMin, kMinUnsigned, kMinSigned)
EDO_SIMT_ATOMIC(atomicMin, long long, kMinSigned)
EDO_SIMT_ATOMIC_INTEGERS(atomicMax, kMaxUnsigned, kMaxSigned)
EDO_SIMT_ATOMIC(atomicMax, long long, kMaxSigned)
EDO_SIMT_ATOMIC_INTEGERS(atomicAnd, kAnd, kAnd)
EDO_SIMT_ATOMIC_INTEGERS(atomicOr, kOr, kOr)
EDO_SIMT_ATOMIC_INTEGERS(atomicXor, kXor, kXor)
EDO_SIMT_ATOMIC(atomicInc, unsigned, kIncrement)
EDO_SIMT_ATOMIC(atomicDec, unsigned, kDecrement)
#undef EDO_SIMT_ATOMIC_INTEGERS
#undef EDO_SIMT_ATOMIC

EDO_SIMT_INLINE unsigned atomicCAS(unsigned* p, unsigned expected, unsigned value) {
  return ::edo::simt::CompareAndSwap32(p, expected, value);
}
EDO_SIMT_INLINE int atomicCAS(int* p, int expected, int value) {
  return std::bit_cast<int>(::edo::simt::CompareAndSwap32(reinterpret_cast<uint32_t*>(p),
                                                          std::bit_cast<uint32_t>(expected),
                                                          std::bit_cast<uint32_t>(value)));
}
EDO_SIMT_INLINE unsigned long long atomicCAS(unsigned long long* p, unsigned long long expected,
                                             unsigned long long value) {
  return ::edo::simt::CompareAndSwap64(reinterpret_cast<uint64_t*>(p), expected, value);
}
