// CPU bodies of the kernels that change slots without filling them: InvalidateRange, Invalidate,
// Pin, Foresee, AgeScores. A slot that is cleared loses its pins: whoever unpins it later finds no
// such row.
#include "kernels/cpu/block_access.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels::cpu {

void InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last) {
  for (uint64_t block = 0; block < blocks.blocks; ++block) {
    uint16_t* const tags = blocks.LowTags(block);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const uint16_t tag = LoadTag(tags + slot);
      if ((tag & kOccupied) == 0) continue;
      const uint64_t position =
          PositionOf(tag, HighTag(blocks.Entry(block, slot)), blocks.group_shift);
      if (position < first || position >= last) continue;
      ClearTag(tags + slot);
      blocks.pins[block * kSlots + slot] = 0;
    }
  }
}

void Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const Place place = PlaceOf(positions[i], blocks.blocks, blocks.group_shift);
    uint16_t* const tags = blocks.LowTags(place.block);
    const uint32_t slot = FindSlot(blocks, place, MatchTags(tags, place.low_tag));
    if (slot == kSlots) continue;
    ClearTag(tags + slot);
    blocks.pins[place.block * kSlots + slot] = 0;
  }
}

void Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
         uint8_t* done) {
  for (uint32_t i = 0; i < count; ++i) {
    const Place place = PlaceOf(positions[i], blocks.blocks, blocks.group_shift);
    const uint32_t slot =
        FindSlot(blocks, place, MatchTags(blocks.LowTags(place.block), place.low_tag));
    done[i] = 0;
    if (slot == kSlots) continue;
    uint8_t& pins = blocks.pins[place.block * kSlots + slot];
    if (delta > 0 ? pins == 255 : pins == 0) continue;
    pins = static_cast<uint8_t>(pins + delta);
    done[i] = 1;
  }
}

void Foresee(const BlockView& blocks, const uint64_t* positions, const uint32_t* next_use,
             uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const Place place = PlaceOf(positions[i], blocks.blocks, blocks.group_shift);
    const uint32_t slot =
        FindSlot(blocks, place, MatchTags(blocks.LowTags(place.block), place.low_tag));
    if (slot != kSlots) blocks.next_use[place.block * kSlots + slot] = next_use[i];
  }
}

void AgeScores(const BlockView& blocks, uint32_t clock) {
  for (uint64_t block = 0; block < blocks.blocks; ++block) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if ((LoadTag(blocks.LowTags(block) + slot) & kOccupied) == 0) continue;
      const auto score = Score(blocks.Entry(block, slot));
      score.store(Normalised(score.load(std::memory_order_relaxed), clock),
                  std::memory_order_relaxed);
    }
  }
}

}  // namespace edo::kernels::cpu
