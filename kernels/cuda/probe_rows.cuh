// How the CUDA bodies read blocks. A fill on another stream may publish beside a reader, so tags
// and entries are read relaxed or past the L1 cache, which is not coherent, and never through the
// read-only path.
#pragma once

#include "kernels/cuda/row_decoders.cuh"
#include "kernels/row_layout.h"
#include "kernels/score.h"

namespace edo::kernels::GPU_BACKEND_NS {

// The first eight bytes of an entry.
struct EntryHead {
  uint32_t high_tag;
  uint16_t score;
  uint32_t side;  // first two bytes of side data
};
__device__ __forceinline__ EntryHead LoadEntry(const BlockShape& shape, const std::byte* entry) {
  uint32_t low, high;
  if (shape.entry_bytes % 8 == 0) {  // one load; tags are 64 bytes, so it is aligned
    const auto both = gpu::LoadRelaxed(reinterpret_cast<const unsigned long long*>(entry));
    low = static_cast<uint32_t>(both);
    high = static_cast<uint32_t>(both >> 32);
  } else {
    low = gpu::LoadRelaxed(reinterpret_cast<const uint32_t*>(entry));
    high = gpu::LoadRelaxed(reinterpret_cast<const uint32_t*>(entry + kEntryScore));
  }
  return {low, static_cast<uint16_t>(high & 0xffffu), high >> 16};
}
__device__ __forceinline__ uint16_t* ScoreOf(std::byte* entry) {
  return reinterpret_cast<uint16_t*>(entry + kEntryScore);
}

// What a probe found: x = slot number, y = first two bytes of side data | RowMark << 16.
using Found = uint2;
__device__ __forceinline__ RowMark MarkOf(const Found& found) {
  return static_cast<RowMark>(found.y >> 16);
}
__device__ __forceinline__ uint32_t HeadSideOf(const Found& found) { return found.y & 0xffffu; }
// The next two bytes of side data, of rows that have four. A fill may have given the slot to
// another row since the launch began, so not from the L1 cache.
__device__ __forceinline__ uint32_t MoreSideOf(const BlockView& blocks, const Found& found) {
  const std::byte* const side = blocks.Entry(found.x / kSlots, found.x % kSlots) + kEntrySide;
  return gpu::LoadRelaxed(reinterpret_cast<const uint16_t*>(side + 2));
}
// Where the codes of a slot begin; for rows in one cell.
__device__ __forceinline__ const std::byte* CodesOf(const BlockView& blocks, uint32_t slot) {
  return blocks.payload + uint64_t{slot} * blocks.shape.cell_bytes;
}
// Where byte `at` of a slot's codes lies. Pieces of up to 16 bytes never cross cells.
__device__ __forceinline__ const std::byte* CodesAt(const BlockView& blocks, uint32_t slot,
                                                    uint32_t at) {
  if (blocks.shape.columns == 1) return CodesOf(blocks, slot) + at;
  return blocks.Payload(slot / kSlots) + blocks.CodeOffset(slot % kSlots, at);
}

// Slots of eight whose tag is `tag`, as a bit mask.
__device__ __forceinline__ uint32_t MatchEight(const uint4& tags, uint32_t tag) {
  const uint32_t words[4] = {tags.x, tags.y, tags.z, tags.w};
  uint32_t mask = 0;
#pragma unroll
  for (uint32_t w = 0; w < 4; ++w) {
    const uint32_t difference = words[w] ^ tag * 0x10001u;
    if ((difference & 0xffffu) == 0) mask |= 1u << 2 * w;
    if (difference >> 16 == 0) mask |= 2u << 2 * w;
  }
  return mask;
}

// A tile of N lanes probes up to N rows and leaves what it found in found[0 .. N), which is shared
// memory of the tile's own; all lanes may read it when the call returns. Lane r works out where row
// r would be; then four lanes a row read the 64 bytes of its block's tags, N / 4 rows at a time,
// all loads under way before the first is looked at, then the entries.
template <unsigned N>
__device__ __forceinline__ void ProbeRows(const BlockView& blocks, const RowQuery& query,
                                          uint64_t first, uint32_t count, bool touch,
                                          uint32_t clock, Found* found) {
  constexpr uint32_t kPasses = 4;
  constexpr uint32_t kRowsAPass = N / kPasses;
  const gpu::Tile<N> tile;
  const uint32_t lane = tile.Lane();
  const uint32_t quarter = lane % 4;

  Place place{0, 0, 0};  // tag 0: nothing to look for
  RowMark mark = RowMark::kAbsent;
  if (lane < count) {
    const uint64_t row = query.rows[first + lane];
    mark = MarkOfNumber(query, row);
    if (mark == RowMark::kMissed && blocks.blocks != 0) {
      place = PlaceOf(PositionOf(query, row), blocks.blocks, blocks.group_shift);
    }
  }
  found[lane] = make_uint2(0, static_cast<uint32_t>(mark) << 16);
  tile.Sync();

  uint32_t block[kPasses], low_tag[kPasses], high_tag[kPasses];
  uint4 tags[kPasses];
#pragma unroll
  for (uint32_t p = 0; p < kPasses; ++p) {
    low_tag[p] = 0;
    if (p * kRowsAPass >= count) continue;
    const uint32_t source = p * kRowsAPass + lane / 4;
    block[p] = tile.Shfl(static_cast<uint32_t>(place.block), source);
    low_tag[p] = tile.Shfl(static_cast<uint32_t>(place.low_tag), source);
    high_tag[p] = tile.Shfl(place.high_tag, source);
    if (low_tag[p] != 0) {
      tags[p] = gpu::LoadVecL2<uint4>(blocks.Header(block[p]) + quarter * 16);
    }
  }
#pragma unroll
  for (uint32_t p = 0; p < kPasses; ++p) {
    uint32_t candidates = low_tag[p] != 0 ? MatchEight(tags[p], low_tag[p]) : 0;
    while (candidates != 0) {  // seldom a second: tags differ in 15 bits
      const uint32_t slot =
          quarter * 8 + static_cast<uint32_t>(__ffs(static_cast<int>(candidates))) - 1;
      candidates &= candidates - 1;
      std::byte* const entry = blocks.Entry(block[p], slot);
      const EntryHead head = LoadEntry(blocks.shape, entry);
      if (head.high_tag != high_tag[p]) continue;
      found[p * kRowsAPass + lane / 4] =
          make_uint2(block[p] * kSlots + slot, head.side);  // RowMark::kFound is 0
      if (touch) {
        const uint16_t touched = Touch(head.score, clock);
        if (touched != head.score) gpu::StoreRelaxed(ScoreOf(entry), touched);
      }
      break;  // a position has one slot (I3)
    }
  }
  tile.Sync();
}
static_assert(static_cast<int>(RowMark::kFound) == 0);

}  // namespace edo::kernels::GPU_BACKEND_NS
