// Bounds on the memory of putting rows in another order, and of giving them back in the source's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace edo::engine {

struct OrderLimits {
  // Rows whose points are in memory at once, 56 bytes each.
  uint64_t projected_rows = uint64_t{1} << 24;
  // Encoded rows that are moved at once, and how many rows at most: their keys are in memory, too.
  uint64_t window_bytes = uint64_t{64} << 20;
  uint64_t window_rows = uint64_t{1} << 20;

  uint64_t WindowRows(uint64_t row_bytes) const {
    return std::clamp<uint64_t>(window_bytes / row_bytes, 1, window_rows);
  }
};

}  // namespace edo::engine
