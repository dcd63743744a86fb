// Bodies of centroids.h.
#include "storage/codecs/centroids.h"

#include <cstring>

#include "kernels/codec_kernels.h"
#include "kernels/float_convert.h"

namespace edo::storage {

void StoreCentroids(std::span<const float> centroids, std::byte* out) {
  kernels::EncodeBF16(centroids.data(), centroids.size(), out);
}

std::vector<float> LoadCentroids(std::span<const std::byte> stored) {
  std::vector<float> centroids(stored.size() / 2);
  for (size_t i = 0; i < centroids.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, stored.data() + 2 * i, 2);
    centroids[i] = kernels::BF16ToF32(bits);
  }
  return centroids;
}

void WriteCode(uint32_t part_bits, uint32_t part, uint32_t code, std::byte* codes) {
  if (part_bits == 8) {
    codes[part] = static_cast<std::byte>(code);
  } else {
    codes[part / 2] |= static_cast<std::byte>(code << 4 * (part % 2));
  }
}

}  // namespace edo::storage
