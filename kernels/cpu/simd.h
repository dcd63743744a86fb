// EDO_SIMD_CLONES before a function definition: the compiler makes one body for AVX-512, one for
// AVX2 and one for any x86-64, and the loader picks when the library is loaded. The bodies are
// plain loops that GCC vectorises; with -ffp-contract=off all of them give the same bits.
// Empty where the loader's choice does not work (sanitizers run before it) or is not offered.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#ifdef EDO_SIMD_CLONES
// A test has chosen one body.
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(EDO_SANITIZED)
#define EDO_SIMD_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EDO_SIMD_CLONES
#endif
// Helpers must be part of the clone that calls them, or they would be compiled for any x86-64.
#define EDO_SIMD_INLINE [[gnu::always_inline]] inline

namespace edo::kernels {

static_assert(std::endian::native == std::endian::little, "rows are little-endian on disk");

// Element `i` of an array that may start at any byte.
template <typename T>
EDO_SIMD_INLINE T LoadAt(const std::byte* array, size_t i) {
  T value;
  std::memcpy(&value, array + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
EDO_SIMD_INLINE void StoreAt(std::byte* array, size_t i, T value) {
  std::memcpy(array + i * sizeof(T), &value, sizeof(T));
}

}  // namespace edo::kernels
