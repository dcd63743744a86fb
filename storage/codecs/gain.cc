// The gain of a row that is coded by centroids.
#include <cstring>

#include "kernels/normal_row.h"
#include "storage/codecs/codecs.h"

namespace edo::storage {

void WriteGain(double product, double square, const kernels::NormalRow& normal, float root,
               std::byte* out) {
  uint16_t bits = 0;
  if (product > 0 && square > 0) {
    const auto gain = static_cast<float>(product / square * root);
    const float stored = normal.Stored(gain, &bits);
    // A gain between 0 and twice the best one leaves no more error than a row of zeros. Only
    // denormal gains are rounded further off than that.
    if (!(stored <= 2 * gain)) bits = 0;
  }
  std::memcpy(out, &bits, 2);
}

}  // namespace edo::storage
