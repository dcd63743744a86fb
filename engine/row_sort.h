// Rows of a batch in the order of their numbers, each with its place in the batch.
#pragma once

#include <cstdint>
#include <vector>

namespace edo::engine {

// Row numbers are below 2^40 and places below 2^24: one word sorts both.
inline constexpr int kPlaceBits = 24;
inline constexpr uint64_t kMostPlaces = uint64_t{1} << kPlaceBits;

constexpr uint64_t WithPlace(uint64_t row, uint64_t place) { return row << kPlaceBits | place; }
constexpr uint64_t RowOf(uint64_t word) { return word >> kPlaceBits; }
constexpr uint32_t PlaceIn(uint64_t word) {
  return static_cast<uint32_t>(word & (kMostPlaces - 1));
}

// Sorts words by their row (all < `rows`), those of one row in the order they came, digit by digit:
// three times as fast as a sort by comparison for the rows of a usual batch.
void SortByRow(uint64_t rows, std::vector<uint64_t>* words);

}  // namespace edo::engine
