// Tier: the rows of a table that one codec holds, in a generation of their own, and the read path
// of them. A table of one codec is one tier; one of mixed precision has several, which follow each
// other in the order of row numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/store_context.h"
#include "storage/catalog.h"
#include "storage/codec.h"

namespace edo::engine {

struct Tier {
  // As of a table of these rows alone: its row 0 is row `first_row` of the table.
  std::shared_ptr<const storage::TableRecord> record;
  std::shared_ptr<GenerationPin> pin;
  std::shared_ptr<const storage::Codec> codec;
  CachedPlaces places;

  uint64_t first_row() const { return record->first_row; }
  uint64_t rows() const { return record->info.rows; }
  uint64_t row_bytes() const { return record->info.row_bytes; }
  uint64_t end_row() const { return first_row() + rows(); }
};

// Encoded bytes of the largest row of a table.
inline uint64_t LargestRowBytes(const TableInfo& info) {
  uint64_t largest = info.row_bytes;
  for (const TierInfo& tier : info.tiers) largest = std::max(largest, tier.row_bytes);
  return largest;
}

// Rows of a table as one of its tiers numbers them; in `kept`, unless they are the same. Rows of
// tiers before it become larger than any.
inline std::span<const uint64_t> NumbersIn(const Tier& tier, std::span<const uint64_t> rows,
                                           std::vector<uint64_t>* kept) {
  if (tier.first_row() == 0) return rows;
  kept->assign(rows.begin(), rows.end());
  for (uint64_t& row : *kept) row -= tier.first_row();
  return *kept;
}

// The tier that holds a row of the table.
inline const Tier& TierOf(std::span<const Tier> tiers, uint64_t row) {
  return *(std::upper_bound(tiers.begin(), tiers.end(), row,
                            [](uint64_t r, const Tier& tier) { return r < tier.first_row(); }) -
           1);
}

// Rows of a list in ascending order, tier by tier: fn(tier, first place in the list, its rows).
template <typename Function>
void ForEachTier(std::span<const Tier> tiers, std::span<const uint64_t> ascending, Function fn) {
  size_t begin = 0;
  for (const Tier& tier : tiers) {
    const auto end =
        static_cast<size_t>(std::lower_bound(ascending.begin() + static_cast<ptrdiff_t>(begin),
                                             ascending.end(), tier.end_row()) -
                            ascending.begin());
    if (end > begin) fn(tier, begin, ascending.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace edo::engine
