#include "bench/codec/plain_int4.h"

#include <algorithm>
#include <cmath>

#include "kernels/float_convert.h"

namespace edo::bench {
namespace {

float AsF16(float value) { return kernels::F16ToF32(kernels::F32ToF16(value)); }

}  // namespace

std::vector<float> ThroughAbsmaxInt4(std::span<const float> rows, uint32_t dim) {
  std::vector<float> out(rows.size());
  for (size_t at = 0; at < rows.size(); at += dim) {
    float largest = 0;
    for (uint32_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(rows[at + i]));
    const float step = largest / 7;
    for (uint32_t i = 0; i < dim && step > 0; ++i) {
      out[at + i] = std::nearbyint(rows[at + i] / step) * step;
    }
  }
  return out;
}

std::vector<float> ThroughMinMaxInt4(std::span<const float> rows, uint32_t dim) {
  std::vector<float> out(rows.size());
  for (size_t at = 0; at < rows.size(); at += dim) {
    const auto [low, high] = std::minmax_element(rows.begin() + static_cast<ptrdiff_t>(at),
                                                 rows.begin() + static_cast<ptrdiff_t>(at + dim));
    const float offset = AsF16(*low), step = AsF16((*high - *low) / 15);
    for (uint32_t i = 0; i < dim; ++i) {
      const float code = step > 0 ? std::nearbyint((rows[at + i] - offset) / step) : 0;
      out[at + i] = offset + std::clamp(code, 0.0f, 15.0f) * step;
    }
  }
  return out;
}

}  // namespace edo::bench
