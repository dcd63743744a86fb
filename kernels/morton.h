// Where the codes of a row lie in a Z-order block: 32 slots by `columns` cells, the cells in Morton
// order of (slot, column). Neighbouring slots' cells of one column then share a line of the
// device's L2 cache, which pays when a lookup reads a part of each row and uses neighbouring rows
// together
// (`cache_bench --workloads=zorder` measures by how much).
//
// A column count that is no power of two is cut into panels of power-of-two widths, the largest
// first (13 = 8 + 4 + 1); each panel is a Morton curve of its own and follows the one before.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace edo::kernels {

inline constexpr uint32_t kBlockSlots = 32;
inline constexpr uint32_t kSectorBytes = 32;  // what an L2 cache reads from memory
inline constexpr uint32_t kLineBytes = 128;   // what it keeps a tag for

// The bits of `slot` (5) and of `column` in turn, the slot's first; when one runs out, the rest of
// the other. `width` is a power of two, column < width.
EDO_HD constexpr uint32_t MortonInPanel(uint32_t slot, uint32_t column, uint32_t width) {
  uint32_t code = 0;
  uint32_t place = 0;
  for (uint32_t bit = 1; bit < kBlockSlots || bit < width; bit <<= 1) {
    if (bit < kBlockSlots) code |= (slot & bit ? 1u : 0u) << place++;
    if (bit < width) code |= (column & bit ? 1u : 0u) << place++;
  }
  return code;
}

// The place of a cell in its block, in cells: a bijection of 32 x columns. One column: slot order.
EDO_HD constexpr uint32_t MortonCell(uint32_t slot, uint32_t column, uint32_t columns) {
  uint32_t first = 0;
  for (uint32_t width = 1u << 31; width > 0; width >>= 1) {
    if ((columns & width) == 0) continue;
    if (column < first + width) {
      return kBlockSlots * first + MortonInPanel(slot, column - first, width);
    }
    first += width;
  }
  return kBlockSlots * columns;  // column >= columns: a bug of the caller
}

// The cell size of a table whose lookups read `read_bytes` of each row's `code_bytes`, from a
// multiple of `read_bytes` on. The whole row when all is read, when a read is whole lines (nothing
// to gain) or when it is not whole sectors; else the largest power of two that divides both.
EDO_HD constexpr uint32_t ChooseCellBytes(uint32_t code_bytes, uint32_t read_bytes) {
  if (read_bytes == 0 || read_bytes >= code_bytes) return code_bytes;
  if (read_bytes % kLineBytes == 0 || (read_bytes | code_bytes) % kSectorBytes != 0) {
    return code_bytes;
  }
  const uint32_t both = read_bytes | code_bytes;
  return both & (~both + 1);
}

}  // namespace edo::kernels
