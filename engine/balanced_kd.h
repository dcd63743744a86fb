// Balanced kd order: points that are near each other get positions near each other. A range is cut
// in two at a multiple of the leaf near its middle, along the direction in which its points differ
// most, until no multiple lies inside. So a leaf is a chunk. Pure; the same points give the same
// order on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace edo::engine {

inline constexpr uint32_t kPointDims = 8;

// Points 0 .. n-1 (n < 2^32) in order. `points`: (n, kPointDims), finite. Position 0 is row
// `first_row` of the table; leaves end where a row number is a multiple of `leaf_rows`. Points that
// do not differ stay in order. Memory: 16 bytes a point.
std::vector<uint32_t> BalancedKdOrder(std::span<const float> points, uint64_t first_row,
                                      uint32_t leaf_rows);

}  // namespace edo::engine
