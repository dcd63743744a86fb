// Sums and extremes over rows, and the products that encoders need. See codec_kernels.h.
#include "kernels/codec_kernels.h"
#include "kernels/cpu/lanes16.h"

namespace edo::kernels {
namespace {

// Bits of the largest magnitude. Integers, because GCC does not vectorise a maximum of floats when
// it must honour NaN.
EDO_SIMD_CLONES
uint32_t LargestBits(const float* values, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

EDO_SIMD_CLONES
float Squares(const float* values, size_t count, float up) {
  Float16 sums{};
  ForEachLanes(
      count,
      [&](const Float16&, const Float16& v) {
        const Float16 x = v * up;
        sums += x * x;
      },
      values);
  return SumOfLanes(sums);
}

EDO_SIMD_CLONES
float Products(const float* a, const float* b, size_t count) {
  Float16 sums{};
  ForEachLanes(
      count, [&](const Float16&, const Float16& x, const Float16& y) { sums += x * y; }, a, b);
  return SumOfLanes(sums);
}

EDO_SIMD_CLONES
void ScaleAll(const float* values, size_t count, float factor, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = values[i] * factor;
}

EDO_SIMD_CLONES
void AddTimes(const float* __restrict row, float factor, size_t count, float* __restrict sum) {
  for (size_t i = 0; i < count; ++i) sum[i] = sum[i] + factor * row[i];
}

}  // namespace

float LargestMagnitude(const float* values, size_t count) {
  return std::bit_cast<float>(LargestBits(values, count));
}
float ScaledSumOfSquares(const float* values, size_t count, float up) {
  return Squares(values, count, up);
}
float DotProduct(const float* a, const float* b, size_t count) { return Products(a, b, count); }
void Scale(const float* values, size_t count, float factor, float* out) {
  ScaleAll(values, count, factor, out);
}
void VectorTimesMatrix(const float* vector, const float* matrix, uint32_t rows, uint32_t columns,
                       float* out) {
  for (uint32_t j = 0; j < columns; ++j) out[j] = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    AddTimes(matrix + size_t{i} * columns, vector[i], columns, out);
  }
}

}  // namespace edo::kernels
