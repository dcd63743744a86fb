// Plain-loop oracle of the INT8 codec, written from docs/codecs.md in double arithmetic, and rows
// that are hard for it. Shared by the kernel and codec tests.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/float_convert.h"

namespace edo::test {

inline const std::vector<uint32_t> kDims{1,  2,  3,   7,   8,   15,  16,  17,  31,  32,
                                         33, 64, 100, 127, 128, 129, 300, 768, 4096};

// The smallest bfloat16 s with 127 s >= M, at most 0x1.02p121.
inline uint16_t OracleScale(double largest) {
  uint16_t low = 0, high = 0x7c01;
  while (low < high) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    if (127.0 * double{kernels::BF16ToF32(middle)} >= largest)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

struct Int8Row {
  std::vector<int8_t> codes;
  uint16_t scale = 0;
};
inline Int8Row OracleInt8(const float* row, uint32_t dim) {
  double largest = 0;
  for (uint32_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(double{row[i]}));
  Int8Row out{std::vector<int8_t>(dim), OracleScale(largest)};
  const double scale = kernels::BF16ToF32(out.scale);
  for (uint32_t i = 0; i < dim && scale != 0; ++i) {
    // The quotient of two floats in double is either exact at a tie or clearly off it.
    out.codes[i] = static_cast<int8_t>(std::nearbyint(double{row[i]} / scale));
  }
  return out;
}

// The bound of codec_spec.h for a row whose largest magnitude is M.
inline double Int8Bound(double largest) {
  if (largest >= 1.5e-36) return largest / 252;
  if (largest >= 5.9e-39) return largest / 127;
  return std::min(largest, 4.6e-41);
}

enum class RowKind {
  kGaussian,
  kTiny,
  kDenormal,
  kHuge,
  kZero,
  kConstant,
  kOutlier,
  kNegativeZero,
  kPowers,
  kCount
};
inline std::vector<float> MakeRow(RowKind kind, uint32_t dim, std::mt19937& random) {
  std::normal_distribution<float> gauss(0, 1);
  std::vector<float> row(dim);
  for (uint32_t i = 0; i < dim; ++i) {
    const float g = gauss(random);
    switch (kind) {
      case RowKind::kGaussian:
        row[i] = g;
        break;
      case RowKind::kTiny:
        row[i] = g * 1e-37f;
        break;
      case RowKind::kDenormal:
        row[i] =
            std::bit_cast<float>(static_cast<uint32_t>(random() % 3000 | (random() % 2 << 31)));
        break;
      case RowKind::kHuge:
        row[i] = (g > 0 ? FLT_MAX : -FLT_MAX) * (i % 3 == 0 ? 1.0f : 0.7f);
        break;
      case RowKind::kZero:
        row[i] = 0;
        break;
      case RowKind::kConstant:
        row[i] = -7.25f;
        break;
      case RowKind::kOutlier:
        row[i] = i == dim / 2 ? 1e30f : g;
        break;
      case RowKind::kNegativeZero:
        row[i] = i % 2 ? -0.0f : 0.0f;
        break;
      case RowKind::kPowers:
        row[i] = std::ldexp(g < 0 ? -1.0f : 1.0f, static_cast<int>(i % 250) - 126);
        break;
      case RowKind::kCount:
        break;
    }
  }
  return row;
}

}  // namespace edo::test
