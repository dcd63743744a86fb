// A row times a power of two, so that its largest magnitude is in [1, 2) and nothing over- or
// underflows when its scale is sought. Rows below 2^-126 stay below 1.
#pragma once

#include <cmath>

#include "kernels/codec_kernels.h"
#include "kernels/float_convert.h"

namespace edo::kernels {

struct NormalRow {
  float up = 1;      // row * up is normal
  float down = 1;    // 1 / up
  float energy = 0;  // of the normal row; 0: all zeros

  // False: the row is all zeros.
  static bool Make(const float* row, uint32_t dim, NormalRow* normal) {
    const float largest = LargestMagnitude(row, dim);
    if (largest == 0) return false;
    int exponent = 0;
    std::frexp(largest, &exponent);  // largest = m 2^exponent, m in [0.5, 1)
    // Both factors are normal numbers: 2^-126 .. 2^126.
    const int shift = exponent - 1 < -126 ? -126 : exponent - 1;
    normal->up = std::ldexp(1.0f, -shift);
    normal->down = std::ldexp(1.0f, shift);
    normal->energy = ScaledSumOfSquares(row, dim, normal->up);
    return true;
  }

  // A scale of the normal row as it is stored: its bits, and what it then is for the normal row.
  float Stored(float scale, uint16_t* bits) const {
    *bits = F32ToBF16(scale * down);
    return BF16ToF32(*bits) * up;
  }
};

}  // namespace edo::kernels
