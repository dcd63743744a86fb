// CopyResident: rows of a cache in host memory, encoded. For host memory only: what goes on to a
// device is copied there as codes and decoded there.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/block_access.h"
#include "kernels/host_rows.h"

namespace edo::kernels {

uint32_t CopyResident(const BlockView& blocks, const RowFormat& format, const RowQuery& query,
                      uint32_t clock, std::byte* out, uint32_t* misses) {
  constexpr uint32_t kAhead = 16;
  uint32_t missed = 0;
  const auto place_of = [&](uint32_t i) {
    return PlaceOf(query.first_position + query.rows[i], blocks.blocks, blocks.group_shift);
  };
  const uint32_t cell = blocks.shape.cell_bytes;
  for (uint32_t i = 0; i < query.count; ++i) {
    if (blocks.blocks == 0) {
      misses[missed++] = i;
      continue;
    }
    if (i + kAhead < query.count) __builtin_prefetch(blocks.Header(place_of(i + kAhead).block));
    const Place place = place_of(i);
    const uint32_t slot =
        FindSlot(blocks, place, MatchTags(blocks.LowTags(place.block), place.low_tag));
    if (slot == kSlots) {
      misses[missed++] = i;
      continue;
    }
    std::byte* const entry = blocks.Entry(place.block, slot);
    std::byte* const to = out + uint64_t{i} * format.row_bytes();
    for (uint32_t at = 0; at < format.code_bytes;) {
      const uint32_t piece = std::min(format.code_bytes, (at / cell + 1) * cell) - at;
      std::memcpy(to + at, blocks.Payload(place.block) + blocks.CodeOffset(slot, at), piece);
      at += piece;
    }
    std::memcpy(to + format.side_at(), entry + kEntrySide, format.side_bytes);
    TouchScore(entry, clock);
  }
  return missed;
}

}  // namespace edo::kernels
