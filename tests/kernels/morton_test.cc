// MortonCell against the definition of the curve (bits in turn, from two strings) for 1 to 40
// columns, and the cell size chosen for how a table is read.
#include "kernels/morton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace edo::kernels {
namespace {

TEST(Morton, EveryCellHasAPlaceOfItsOwn) {
  for (uint32_t columns = 1; columns <= 40; ++columns) {
    std::vector<bool> taken(kBlockSlots * columns);
    for (uint32_t slot = 0; slot < kBlockSlots; ++slot) {
      for (uint32_t column = 0; column < columns; ++column) {
        const uint32_t place = MortonCell(slot, column, columns);
        ASSERT_LT(place, taken.size()) << columns;
        ASSERT_FALSE(taken[place]) << columns << " " << slot << " " << column;
        taken[place] = true;
      }
    }
  }
}

TEST(Morton, OneColumnIsSlotOrder) {
  for (uint32_t slot = 0; slot < kBlockSlots; ++slot) EXPECT_EQ(MortonCell(slot, 0, 1), slot);
}

// The digits of both numbers in turn, written out as text, the slot's last digit last.
uint32_t Interleaved(uint32_t slot, uint32_t column, uint32_t width) {
  std::string reversed;
  for (uint32_t i = 0; i < 32; ++i) {
    if (i < 5) reversed += slot >> i & 1 ? '1' : '0';
    if (width >> i > 1) reversed += column >> i & 1 ? '1' : '0';
  }
  std::reverse(reversed.begin(), reversed.end());
  return static_cast<uint32_t>(std::stoul(reversed, nullptr, 2));
}

TEST(Morton, EachPanelIsAMortonCurve) {
  for (uint32_t columns = 1; columns <= 40; ++columns) {
    uint32_t first = 0;
    for (uint32_t width = 32; width > 0; width /= 2) {
      if ((columns & width) == 0) continue;
      for (uint32_t slot = 0; slot < kBlockSlots; ++slot) {
        for (uint32_t column = 0; column < width; ++column) {
          ASSERT_EQ(MortonCell(slot, first + column, columns),
                    kBlockSlots * first + Interleaved(slot, column, width))
              << columns << " " << slot << " " << first + column;
        }
      }
      first += width;
    }
    ASSERT_EQ(first, columns);
  }
}

TEST(Morton, FourNeighbouringCellsOfFourColumns) {
  EXPECT_EQ(MortonCell(0, 0, 4), 0u);
  EXPECT_EQ(MortonCell(1, 0, 4), 1u);
  EXPECT_EQ(MortonCell(0, 1, 4), 2u);
  EXPECT_EQ(MortonCell(1, 1, 4), 3u);
  EXPECT_EQ(MortonCell(2, 0, 4), 4u);
  EXPECT_EQ(MortonCell(0, 2, 4), 8u);
  EXPECT_EQ(MortonCell(31, 3, 4), 127u);
}

TEST(ChooseCellBytes, WholeRowIsOneCell) {
  for (uint32_t bytes : {1u, 32u, 50u, 64u, 100u, 128u, 512u, 5000u}) {
    EXPECT_EQ(ChooseCellBytes(bytes, bytes), bytes);
    EXPECT_EQ(ChooseCellBytes(bytes, bytes + 1), bytes);
    EXPECT_EQ(ChooseCellBytes(bytes, 0), bytes);
  }
}

TEST(ChooseCellBytes, PartOfARowIsTheLargestSectorsThatFit) {
  EXPECT_EQ(ChooseCellBytes(64, 32), 32u);
  EXPECT_EQ(ChooseCellBytes(128, 64), 64u);
  EXPECT_EQ(ChooseCellBytes(128, 32), 32u);
  EXPECT_EQ(ChooseCellBytes(128, 96), 32u);
  EXPECT_EQ(ChooseCellBytes(192, 64), 64u);
  EXPECT_EQ(ChooseCellBytes(512, 64), 64u);
  EXPECT_EQ(ChooseCellBytes(512, 192), 64u);
}

TEST(ChooseCellBytes, NothingToGainIsTheWholeRow) {
  EXPECT_EQ(ChooseCellBytes(512, 128), 512u);  // whole lines
  EXPECT_EQ(ChooseCellBytes(512, 256), 512u);
  EXPECT_EQ(ChooseCellBytes(64, 16), 64u);  // less than a sector
  EXPECT_EQ(ChooseCellBytes(100, 32), 100u);
}

}  // namespace
}  // namespace edo::kernels
