// Integer and float intrinsics. Float ones are single IEEE operations, so kernels give the same
// bits as on a GPU; compile with -ffp-contract=off.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// ---- bits
// ----------------------------------------------------------------------------------------
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline unsigned __brev(unsigned v) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (v >> i & 1u) << (31 - i);
  return reversed;
}
// Four bytes chosen from a (bytes 0..3) and b (4..7); bit 3 of a choice spreads the byte's sign.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned choices) {
  const uint64_t both = uint64_t{b} << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned choice = choices >> (4 * i);
    unsigned byte = static_cast<unsigned>(both >> ((choice & 7) * 8)) & 0xffu;
    if ((choice & 8) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

// ---- integers
// ------------------------------------------------------------------------------------
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(uint64_t{a} * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(int64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(Wide{a} * b >> 64);
}

#define EDO_SIMT_MIN_MAX(T)                        \
  inline T min(T a, T b) { return a < b ? a : b; } \
  inline T max(T a, T b) { return a > b ? a : b; }
EDO_SIMT_MIN_MAX(int)
EDO_SIMT_MIN_MAX(unsigned)
EDO_SIMT_MIN_MAX(long)
EDO_SIMT_MIN_MAX(unsigned long)
EDO_SIMT_MIN_MAX(long long)
EDO_SIMT_MIN_MAX(unsigned long long)
#undef EDO_SIMT_MIN_MAX
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

// ---- floats
// --------------------------------------------------------------------------------------
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
// To nearest even; out of range saturates and NaN gives 0, as cvt.rni does.
inline int __float2int_rn(float v) {
  if (std::isnan(v)) return 0;
  if (v >= 0x1p31f) return INT32_MAX;
  if (v <= -0x1p31f) return INT32_MIN;
  return static_cast<int>(std::nearbyint(v));
}
