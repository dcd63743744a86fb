#include "bench/codec/hand_gathers.h"

#include <cstring>

#if defined(__x86_64__)
#pragma GCC diagnostic push  // GCC 12 warns of its own _mm512_undefined_epi32
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace edo::bench {
namespace {

constexpr uint32_t kAhead = 12;

float ScaleOf(const std::byte* side) {
  uint16_t bits;
  std::memcpy(&bits, side, 2);
  const uint32_t word = uint32_t{bits} << 16;
  float scale;
  std::memcpy(&scale, &word, 4);
  return scale;
}

void Prefetch(const std::byte* row, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(row) / 64 * 64;
  const auto end = reinterpret_cast<uintptr_t>(row) + bytes;
  for (uintptr_t line = first; line < end; line += 64) {
    __builtin_prefetch(reinterpret_cast<const void*>(line));
  }
}

// What one would write who needs INT8 rows and nothing else.
void GatherInt8Plain(const std::byte* rows, uint32_t dim, const uint32_t* picks, uint32_t count,
                     float* out) {
  const size_t stride = dim + 2;
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kAhead < count) Prefetch(rows + picks[i + kAhead] * stride, stride);
    const std::byte* const row = rows + picks[i] * stride;
    const float scale = ScaleOf(row + dim);
    const auto* const codes = reinterpret_cast<const int8_t*>(row);
    for (uint32_t j = 0; j < dim; ++j) out[size_t{i} * dim + j] = codes[j] * scale;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512vl"))) void GatherInt8Avx512(
    const std::byte* rows, uint32_t dim, const uint32_t* picks, uint32_t count, float* out) {
  const size_t stride = dim + 2;
  const auto tail = static_cast<__mmask16>((1u << dim % 16) - 1);
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kAhead < count) Prefetch(rows + picks[i + kAhead] * stride, stride);
    const std::byte* const row = rows + picks[i] * stride;
    const __m512 scale = _mm512_set1_ps(ScaleOf(row + dim));
    float* const to = out + size_t{i} * dim;
    uint32_t j = 0;
    for (; j + 16 <= dim; j += 16) {
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + j));
      _mm512_storeu_ps(to + j,
                       _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)), scale));
    }
    if (tail != 0) {
      const __m128i codes = _mm_maskz_loadu_epi8(tail, row + j);
      _mm512_mask_storeu_ps(to + j, tail,
                            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)), scale));
    }
  }
}
#endif

}  // namespace

void GatherInt8ByHand(const std::byte* rows, uint32_t dim, const uint32_t* picks, uint32_t count,
                      float* out) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (wide) return GatherInt8Avx512(rows, dim, picks, count, out);
#endif
  GatherInt8Plain(rows, dim, picks, count, out);
}

void GatherCopy(const std::byte* rows, uint32_t dim, const uint32_t* picks, uint32_t count,
                float* out) {
  const size_t stride = size_t{dim} * 4;
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kAhead < count) Prefetch(rows + picks[i + kAhead] * stride, stride);
    std::memcpy(out + size_t{i} * dim, rows + picks[i] * stride, stride);
  }
}

}  // namespace edo::bench
