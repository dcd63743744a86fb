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
  int offset = 0;
  uint16_t side = 0;
};
inline Int8Row OracleInt8(const float* row, uint32_t dim) {
  double highest = 0, lowest = 0;
  for (uint32_t i = 0; i < dim; ++i) {
    highest = std::max(highest, double{row[i]});
    lowest = std::min(lowest, double{row[i]});
  }
  const double largest = std::max(highest, -lowest);
  Int8Row out{std::vector<int8_t>(dim), OracleScale(largest)};
  out.side = out.scale;
  // In the order in which the first of equals is taken.
  constexpr int kOffsets[8] = {8, -8, 16, -16, 24, -24, 32, -32};
  constexpr int kNumbers[8] = {4, 3, 5, 2, 6, 1, 7, 0};
  for (int k = 0; k < 8 && largest <= 0x1p126; ++k) {
    uint32_t bits = 0;  // the least scale whose last three bits are zeros
    const auto holds = [&] {
      const double scale = kernels::BF16ToF32(static_cast<uint16_t>(bits));
      return (127 + kOffsets[k]) * scale >= highest && (128 - kOffsets[k]) * scale >= -lowest;
    };
    uint32_t low = 0, high = out.scale / 8u + 1;  // in units of 8; `high` would not be taken
    while (low < high) {
      bits = (low + high) / 2 * 8;
      if (holds()) {
        high = bits / 8;
      } else {
        low = bits / 8 + 1;
      }
    }
    bits = low * 8;
    if (bits >= out.scale || !holds()) continue;
    out.scale = static_cast<uint16_t>(bits);
    out.offset = kOffsets[k];
    out.side = static_cast<uint16_t>(0x8000 | bits | static_cast<uint32_t>(kNumbers[k]));
  }
  const double scale = kernels::BF16ToF32(out.scale);
  for (uint32_t i = 0; i < dim && scale != 0; ++i) {
    // The quotient of two floats in double is either exact at a tie or clearly off it.
    out.codes[i] = static_cast<int8_t>(std::nearbyint(double{row[i]} / scale) - out.offset);
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
  kAbove,     // of one sign
  kLopsided,  // further below zero than above
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
      case RowKind::kAbove:
        row[i] = std::fabs(g) + 3;
        break;
      case RowKind::kLopsided:
        row[i] = std::min(g, 2.0f) - 0.3f;
        break;
      case RowKind::kCount:
        break;
    }
  }
  return row;
}

}  // namespace edo::test
