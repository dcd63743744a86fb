// Which rows of a part's table ids take (edo/compose.h has the formulas), and how many rows that
// needs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "edo/compose.h"

namespace edo::engine {

// The four 32-bit words of MurmurHash3_x64_128 of the 8 little-endian bytes of `id`.
std::array<uint32_t, 4> Murmur3Words(uint64_t id, uint32_t seed);
// rows[i] = the row of ids[i].
void PartRows(const ComposedPart& part, std::span<const uint64_t> ids, int64_t* rows);
// Rows that the part's table must have for ids 0 .. rows-1 (`rows` 0: for every id).
uint64_t RowsNeeded(const ComposedPart& part, uint64_t rows);

}  // namespace edo::engine
