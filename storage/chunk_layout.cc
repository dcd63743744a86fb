#include "storage/chunk_layout.h"

#include <algorithm>

namespace edo::storage {

ChunkLayout ChooseChunkLayout(uint64_t row_bytes) {
  constexpr uint64_t kSector = 4096;
  const uint64_t k_first = (row_bytes + kChunkOverheadBytes + kSector - 1) / kSector;
  const uint64_t k_last = std::max(k_first, 2 * std::max(kSector, row_bytes) / kSector);
  ChunkLayout best;
  double best_waste = 2;
  for (uint64_t k = k_first; k <= k_last; ++k) {
    const uint64_t bytes = k * kSector;
    const uint64_t rows = (bytes - kChunkOverheadBytes) / row_bytes;
    const double waste = 1.0 - static_cast<double>(rows * row_bytes) / static_cast<double>(bytes);
    if (waste < best_waste) {
      best_waste = waste;
      best = {static_cast<uint32_t>(rows), static_cast<uint32_t>(bytes)};
    }
    if (waste < 0.07) break;
  }
  return best;
}

}  // namespace edo::storage
