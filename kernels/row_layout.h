// Byte layout of the Z-order blocks of the hot-row cache, which host and device share. The only
// place that knows it; no memory is owned here.
//
// A block = one set of 32 slots. It has a header and a payload, in two arrays:
//
//   headers  32 low tags (uint16), then 32 entries {high tag uint32, score uint16, side data, pad}
//   payload  32 x C cells in Morton order of (slot, column); a cell is `cell_bytes` of a row's
//            codes. C = 1 (the row is one cell) when rows are read whole: then slot order.
//
// Identity. A row's *position* is its row number plus the first position of its table: 45 bits that
// no two tables in a cache share. G = 2^group_shift neighbouring positions are one group; the group
// number is mixed by an invertible mix, the block is the upper part of mixed * blocks, so any
// number of blocks is allowed. The whole mixed position is the tag (15 + 30 bits): a tag names one
// row exactly, no key is stored, no two rows can be taken for each other.
//
// Invariants of a block, for every slot:
//   I1  low tag = 0 (bit 15 clear): the slot is empty; entry and cells mean nothing.
//   I2  bit 15 set: entry and cells were written before the tag became visible, and do not change
//       (but the score) while it is. They are overwritten only after the tag was cleared and every
//       reader that could have seen it is done.
//   I3  no two slots of a block hold the same position.
//   I4  a slot whose pin count is not 0 is neither evicted nor given to another row.
#pragma once

#include "kernels/morton.h"
#include "kernels/portable.h"
#include "kernels/row_format.h"

namespace edo::kernels {

// ---- blocks ------------------------------------------------------------------------------------

inline constexpr uint32_t kSlots = 32;           // slots of a block
inline constexpr int kPositionBits = 45;         // of a position
inline constexpr uint32_t kTagBytes = 64;        // low tags of a block: one line, two sectors
inline constexpr uint32_t kLowTagBits = 15;      // below the bit that says "occupied"
inline constexpr uint16_t kOccupied = 0x8000;    // of a low tag
inline constexpr uint32_t kEntryHighTag = 0;     // uint32, byte offset in an entry
inline constexpr uint32_t kEntryScore = 4;       // uint16
inline constexpr uint32_t kEntrySide = 6;        // side data
inline constexpr uint32_t kMaxSideBytes = 58;    // an entry is at most one 64-byte line
inline constexpr uint32_t kNoSlot = 0xffffffff;  // of slot numbers (block * 32 + slot)

// Shape of the blocks of one size class.
struct BlockShape {
  uint32_t entry_bytes = 0;   // 8 for INT8, F16, ...
  uint32_t header_bytes = 0;  // tags and entries, a multiple of 64
  uint32_t cell_bytes = 0;    // a multiple of 16
  uint32_t columns = 1;       // cells of a row
  EDO_HD uint32_t slot_bytes() const { return cell_bytes * columns; }
  EDO_HD uint64_t payload_bytes() const { return uint64_t{kSlots} * slot_bytes(); }
  // All bytes of a block: header, payload, and the pin counts of its slots.
  EDO_HD uint64_t block_bytes() const { return header_bytes + payload_bytes() + kSlots; }
  friend constexpr bool operator==(const BlockShape&, const BlockShape&) = default;
};

// Bytes a slot has for `code_bytes` of codes: multiples of 16 up to 128, above that of an eighth of
// the power of two below, so that a class wastes at most an eighth.
EDO_HD uint32_t SlotBytes(uint32_t code_bytes) {
  uint32_t power = 128;
  while (power * 2 <= code_bytes) power *= 2;
  const uint32_t step = code_bytes <= 128 ? 16 : power / 8;
  return (code_bytes + step - 1) / step * step;
}

// `cell_bytes` 0: rows are read whole, one cell a row.
EDO_HD BlockShape ShapeOf(const RowFormat& format, uint32_t cell_bytes = 0) {
  BlockShape shape;
  const uint32_t entry = kEntrySide + format.side_bytes;
  shape.entry_bytes = (entry + 3) / 4 * 4;
  shape.header_bytes = (kTagBytes + kSlots * shape.entry_bytes + 63) / 64 * 64;
  const uint32_t whole = SlotBytes(format.code_bytes);
  const bool cut = cell_bytes != 0 && cell_bytes < format.code_bytes && format.values_stand_alone();
  shape.cell_bytes = cut ? cell_bytes : whole;
  shape.columns = (whole + shape.cell_bytes - 1) / shape.cell_bytes;
  return shape;
}

// The blocks of one size class in memory: what the kernels are given.
struct BlockView {
  BlockShape shape;
  uint32_t group_shift = 2;      // G = 1 << group_shift positions go to the same block
  uint64_t blocks = 0;           // below 2^27, so that a slot number is below kNoSlot
  std::byte* headers = nullptr;  // (blocks, header_bytes), 64-byte aligned, zeros at first
  std::byte* payload = nullptr;  // (blocks, payload_bytes), 64-byte aligned
  uint8_t* pins = nullptr;       // (blocks, 32) pin counts; read and written by fills only
  // (blocks, 32) when each slot's row is used next (score.h), or null: nobody looks ahead. As pins.
  uint32_t* next_use = nullptr;

  EDO_HD std::byte* Header(uint64_t block) const { return headers + block * shape.header_bytes; }
  EDO_HD uint16_t* LowTags(uint64_t block) const {
    return reinterpret_cast<uint16_t*>(Header(block));
  }
  EDO_HD std::byte* Entry(uint64_t block, uint32_t slot) const {
    return Header(block) + kTagBytes + slot * shape.entry_bytes;
  }
  EDO_HD std::byte* Payload(uint64_t block) const {
    return payload + block * shape.payload_bytes();
  }
  // Byte offset in the payload of byte `at` of a slot's codes.
  EDO_HD uint64_t CodeOffset(uint32_t slot, uint32_t at) const {
    if (shape.columns == 1) return uint64_t{slot} * shape.cell_bytes + at;
    const uint32_t column = at / shape.cell_bytes;
    return uint64_t{MortonCell(slot, column, shape.columns)} * shape.cell_bytes +
           (at - column * shape.cell_bytes);
  }
};

// ---- where a position goes ---------------------------------------------------------------------

// Invertible mix of `bits` (>= 8) bits: two odd products with a fold between. After it the upper
// bits depend on all bits, which is what the choice of the block uses.
inline constexpr uint64_t kMixA = 0x9e3779b97f4a7c15u;
inline constexpr uint64_t kMixB = 0xbf58476d1ce4e5b9u;
EDO_HD uint64_t Mix(uint64_t x, int bits) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  x = (x * kMixA) & mask;
  x ^= x >> ((bits + 1) / 2);
  return (x * kMixB) & mask;
}
// Inverse of an odd number modulo 2^64 (Newton's iteration doubles the correct bits each time).
EDO_HD constexpr uint64_t OddInverse(uint64_t odd) {
  uint64_t inverse = odd;  // correct in 3 bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
EDO_HD uint64_t Unmix(uint64_t x, int bits) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  x = (x * OddInverse(kMixB)) & mask;
  x ^= x >> ((bits + 1) / 2);  // a fold by at least half of the bits is its own inverse
  return (x * OddInverse(kMixA)) & mask;
}

struct Place {
  uint64_t block;
  uint32_t high_tag;
  uint16_t low_tag;
};

EDO_HD Place PlaceOf(uint64_t position, uint64_t blocks, uint32_t group_shift) {
  const int bits = kPositionBits - static_cast<int>(group_shift);
  const uint64_t mixed = Mix(position >> group_shift, bits);
  const uint64_t identity = mixed << group_shift | (position & ((uint64_t{1} << group_shift) - 1));
  return {MulHigh(mixed << (64 - bits), blocks), static_cast<uint32_t>(identity >> kLowTagBits),
          static_cast<uint16_t>(kOccupied | (identity & (kOccupied - 1u)))};
}

EDO_HD uint64_t PositionOf(uint16_t low_tag, uint32_t high_tag, uint32_t group_shift) {
  const int bits = kPositionBits - static_cast<int>(group_shift);
  const uint64_t identity = uint64_t{high_tag} << kLowTagBits | (low_tag & (kOccupied - 1u));
  return Unmix(identity >> group_shift, bits) << group_shift |
         (identity & ((uint64_t{1} << group_shift) - 1));
}

}  // namespace edo::kernels
