// CPU bodies of ChooseSlots, WriteSlots and PublishSlots. One thread at a time fills a cache;
// readers run beside it and see tags and scores only (block_access.h).
#include <cstring>

#include "kernels/cpu/block_access.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels::cpu {
namespace {

// The slot of `block` that a row worth `candidate` may take, or kSlots. Scores looked at on the way
// are kept from wrapping around (score.h).
uint32_t ChooseSlot(const BlockView& blocks, uint64_t block, uint32_t candidate, uint32_t clock) {
  uint16_t* const tags = blocks.LowTags(block);
  const uint8_t* const pins = blocks.pins + block * kSlots;
  uint32_t least = kSlots;
  uint32_t least_value = 0;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (pins[slot] != 0) continue;
    if ((LoadTag(tags + slot) & kOccupied) == 0) return slot;
    const auto score = Score(blocks.Entry(block, slot));
    const uint16_t old = score.load(std::memory_order_relaxed);
    const uint32_t value = AgedValue(old, clock);
    if (least == kSlots || value < least_value) {
      least = slot;
      least_value = value;
    }
    const uint16_t normalised = Normalised(old, clock);
    if (normalised != old) score.store(normalised, std::memory_order_relaxed);
  }
  return least != kSlots && MayReplace(candidate, least_value) ? least : kSlots;
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
          ChooseSlot(blocks, place.block, CandidateValue(args.frequencies[i]), args.clock);
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
    std::memcpy(entry + kEntrySide, row + code_bytes, args.format.side_bytes);
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
