// Checks the invariants of a block (kernels/row_layout.h, I1-I4) on memory that the host can read,
// while nothing is under way: no fill between choice and publication, no reader.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "kernels/row_layout.h"

namespace edo::test {

// One slot that holds a row, as bytes.
struct ResidentRow {
  uint64_t slot = 0;  // block * 32 + slot
  uint64_t position = 0;
  uint8_t pins = 0;
  std::vector<std::byte> codes;  // all cells of the slot, in column order: codes, then padding
  std::vector<std::byte> side;   // the entry behind the score
};

// The rows of a view, in the order of their slots.
inline std::vector<ResidentRow> ResidentRows(const kernels::BlockView& view) {
  std::vector<ResidentRow> rows;
  for (uint64_t block = 0; block < view.blocks; ++block) {
    for (uint32_t slot = 0; slot < kernels::kSlots; ++slot) {
      const uint16_t low = view.LowTags(block)[slot];
      if ((low & kernels::kOccupied) == 0) continue;
      const std::byte* const entry = view.Entry(block, slot);
      uint32_t high;
      std::memcpy(&high, entry + kernels::kEntryHighTag, sizeof high);
      ResidentRow row;
      row.slot = block * kernels::kSlots + slot;
      row.position = kernels::PositionOf(low, high, view.group_shift);
      row.pins = view.pins[row.slot];
      for (uint32_t at = 0; at < view.shape.slot_bytes(); at += view.shape.cell_bytes) {
        const std::byte* const cell = view.Payload(block) + view.CodeOffset(slot, at);
        row.codes.insert(row.codes.end(), cell, cell + view.shape.cell_bytes);
      }
      row.side.assign(entry + kernels::kEntrySide, entry + view.shape.entry_bytes);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// I1, I3, and what holds at rest of I2 and I4: a tag names a row of this block; a slot without a
// row has no pins (else it would be lost to all fills). I2 itself is checked where rows are known:
// CheckUnchanged, and the bytes that lookups return.
inline void CheckInvariants(const kernels::BlockView& view) {
  for (uint64_t block = 0; block < view.blocks; ++block) {
    std::set<uint64_t> positions;
    for (uint32_t slot = 0; slot < kernels::kSlots; ++slot) {
      const uint16_t low = view.LowTags(block)[slot];
      if ((low & kernels::kOccupied) == 0) {
        ASSERT_EQ(low, 0) << "I1: an empty slot's tag; block " << block << " slot " << slot;
        ASSERT_EQ(view.pins[block * kernels::kSlots + slot], 0)
            << "a slot without a row is pinned; block " << block << " slot " << slot;
        continue;
      }
      uint32_t high;
      std::memcpy(&high, view.Entry(block, slot) + kernels::kEntryHighTag, sizeof high);
      const uint64_t position = kernels::PositionOf(low, high, view.group_shift);
      ASSERT_LT(position, uint64_t{1} << kernels::kPositionBits);
      const kernels::Place place = kernels::PlaceOf(position, view.blocks, view.group_shift);
      ASSERT_EQ(place.block, block) << "I2: position " << position << " lies in a wrong block";
      ASSERT_EQ(place.low_tag, low);
      ASSERT_EQ(place.high_tag, high);
      ASSERT_TRUE(positions.insert(position).second)
          << "I3: position " << position << " twice in block " << block;
    }
  }
}

// I2 while a reader that could see `before` is still there: the slots of those rows hold the same
// bytes, whether or not their tags have been cleared meanwhile.
inline void CheckUnchanged(std::span<const ResidentRow> before, const kernels::BlockView& view) {
  for (const ResidentRow& row : before) {
    const uint64_t block = row.slot / kernels::kSlots;
    const auto slot = static_cast<uint32_t>(row.slot % kernels::kSlots);
    std::vector<std::byte> codes;
    for (uint32_t at = 0; at < view.shape.slot_bytes(); at += view.shape.cell_bytes) {
      const std::byte* const cell = view.Payload(block) + view.CodeOffset(slot, at);
      codes.insert(codes.end(), cell, cell + view.shape.cell_bytes);
    }
    ASSERT_EQ(codes, row.codes) << "I2: codes of position " << row.position << " changed";
    const std::byte* const entry = view.Entry(block, slot);
    ASSERT_EQ(std::memcmp(entry + kernels::kEntrySide, row.side.data(), row.side.size()), 0);
    uint32_t high;
    std::memcpy(&high, entry + kernels::kEntryHighTag, sizeof high);
    const kernels::Place place = kernels::PlaceOf(row.position, view.blocks, view.group_shift);
    ASSERT_EQ(high, place.high_tag) << "I2: high tag of position " << row.position << " changed";
  }
}

}  // namespace edo::test
