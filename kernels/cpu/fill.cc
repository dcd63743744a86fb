// CPU bodies of ChooseSlots, WriteSlots and PublishSlots. One thread at a time fills a cache;
// readers run beside it and see tags and scores only (block_access.h).
#include <cstring>

#include "kernels/cpu/block_access.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels::cpu {
namespace {

struct Candidate {
  uint32_t value;  // score.h
  uint32_t ahead;  // of its next use; 0: unknown
};

// The slot of `block` that a row may take, or kSlots. Scores looked at on the way are kept from
// wrapping around (score.h).
uint32_t ChooseSlot(const FillArgs& args, uint64_t block, const Candidate& candidate) {
  const BlockView& blocks = args.blocks;
  uint16_t* const tags = blocks.LowTags(block);
  const uint8_t* const pins = blocks.pins + block * kSlots;
  const uint32_t* const uses = blocks.next_use ? blocks.next_use + block * kSlots : nullptr;
  uint32_t least = kSlots;  // of the rows whose next use is unknown
  uint32_t least_value = 0;
  uint32_t farthest = kSlots;  // of the others
  uint32_t farthest_ahead = 0;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (pins[slot] != 0) continue;
    if ((LoadTag(tags + slot) & kOccupied) == 0) return slot;
    const auto score = Score(blocks.Entry(block, slot));
    const uint16_t old = score.load(std::memory_order_relaxed);
    const uint32_t value = AgedValue(old, args.clock);
    const uint32_t ahead = uses ? UseAhead(uses[slot], args.now) : 0;
    if (ahead > farthest_ahead) {
      farthest = slot;
      farthest_ahead = ahead;
    }
    if (ahead == 0 && (least == kSlots || value < least_value)) {
      least = slot;
      least_value = value;
    }
    const uint16_t normalised = Normalised(old, args.clock);
    if (normalised != old) score.store(normalised, std::memory_order_relaxed);
  }
  if (least != kSlots) {
    return candidate.ahead != 0 || MayReplace(candidate.value, least_value) ? least : kSlots;
  }
  return IsSooner(candidate.ahead, farthest_ahead) ? farthest : kSlots;
}

}  // namespace

void ChooseSlots(const FillArgs& args) {
  const BlockView& blocks = args.blocks;
  for (uint32_t s = 0; s < args.segment_count; ++s) {
    for (uint32_t i = args.segments[s]; i < args.segments[s + 1]; ++i) {
      const Place place = PlaceOf(args.positions[i], blocks.blocks, blocks.group_shift);
      args.slots[i] = kNoSlot;
      if (args.evicted != nullptr) args.evicted[i] = kNoPosition;
      uint16_t* const tags = blocks.LowTags(place.block);
      if (FindSlot(blocks, place, MatchTags(tags, place.low_tag)) != kSlots) continue;
      const uint32_t slot =
          ChooseSlot(args, place.block,
                     {.value = CandidateValue(args.frequencies[i]),
                      .ahead = args.next_use ? UseAhead(args.next_use[i], args.now) : 0});
      if (slot == kSlots) continue;
      const uint16_t old = LoadTag(tags + slot);
      if ((old & kOccupied) != 0) {
        if (args.evicted != nullptr) {
          args.evicted[i] =
              PositionOf(old, HighTag(blocks.Entry(place.block, slot)), blocks.group_shift);
        }
        ClearTag(tags + slot);
      }
      blocks.pins[place.block * kSlots + slot] = 1;
      args.slots[i] = static_cast<uint32_t>(place.block * kSlots + slot);
    }
  }
}

void WriteSlots(const FillArgs& args) {
  const BlockView& blocks = args.blocks;
  const uint32_t cell = blocks.shape.cell_bytes;
  for (uint32_t i = 0; i < args.count; ++i) {
    if (args.slots[i] == kNoSlot) continue;
    const uint64_t block = args.slots[i] / kSlots;
    const uint32_t slot = args.slots[i] % kSlots;
    const std::byte* const row = args.rows + (args.sources ? args.sources[i] : i) * args.row_stride;
    const uint32_t code_bytes = args.format.code_bytes;
    std::byte* const payload = blocks.Payload(block);
    for (uint32_t at = 0; at < blocks.shape.slot_bytes(); at += cell) {
      const uint32_t have =
          at >= code_bytes ? 0 : (code_bytes - at < cell ? code_bytes - at : cell);
      std::byte* const to = payload + blocks.CodeOffset(slot, at);
      std::memcpy(to, row + at, have);
      std::memset(to + have, 0, cell - have);
    }
    std::byte* const entry = blocks.Entry(block, slot);
    const Place place = PlaceOf(args.positions[i], blocks.blocks, blocks.group_shift);
    std::memcpy(entry + kEntryHighTag, &place.high_tag, sizeof place.high_tag);
    Score(entry).store(AdmittedScore(args.frequencies[i], args.clock), std::memory_order_relaxed);
    std::memcpy(entry + kEntrySide, row + args.format.side_at(), args.format.side_bytes);
    if (blocks.next_use != nullptr) {
      blocks.next_use[args.slots[i]] = args.next_use ? args.next_use[i] : kNoUse;
    }
  }
}

void PublishSlots(const FillArgs& args) {
  for (uint32_t i = 0; i < args.count; ++i) {
    if (args.slots[i] == kNoSlot) continue;
    const Place place = PlaceOf(args.positions[i], args.blocks.blocks, args.blocks.group_shift);
    args.blocks.pins[args.slots[i]] = 0;
    PublishTag(args.blocks.LowTags(place.block) + args.slots[i] % kSlots, place.low_tag);
  }
}

}  // namespace edo::kernels::cpu
