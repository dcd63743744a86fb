// Bounds on the memory of putting rows in another order, and of giving them back in the source's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace edo::engine {

struct OrderLimits {
  uint64_t projected_rows = uint64_t{1}
                            << 24;             // whose points are in memory at once (56 bytes each)
  uint64_t window_bytes = uint64_t{64} << 20;  // of encoded rows that are moved at once
  uint64_t window_rows = uint64_t{1} << 20;    // likewise; their keys are in memory, too

  uint64_t WindowRows(uint64_t row_bytes) const {
    return std::clamp<uint64_t>(window_bytes / row_bytes, 1, window_rows);
  }
};

}  // namespace edo::engine
