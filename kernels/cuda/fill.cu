// CUDA bodies of ChooseSlots, WriteSlots and PublishSlots. The rows of a fill are sorted by block
// and a warp has a block to itself, so there are no locks; the choice is the CPU's to the slot.
// Each step is a launch of its own: what one wrote is in memory before the next begins, which is
// all the order that readers on other streams need (backend.h, "filling").
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/probe_rows.cuh"

namespace edo::kernels::GPU_BACKEND_NS {
namespace {

constexpr uint32_t kThreads = 256;

// A warp a segment, a lane a slot; what a lane knows of its slot stays in its registers.
__global__ void __launch_bounds__(kThreads) ChooseSlotsKernel(FillArgs args) {
  const gpu::Tile<32> warp;
  const BlockView& blocks = args.blocks;
  const uint32_t lane = warp.Lane();
  for (uint64_t s = uint64_t{blockIdx.x} * warp.Count() + warp.Rank(); s < args.segment_count;
       s += uint64_t{gridDim.x} * warp.Count()) {
    const uint32_t begin = args.segments[s];
    const uint32_t end = args.segments[s + 1];
    if (begin == end) continue;
    const uint64_t block = PlaceOf(args.positions[begin], blocks.blocks, blocks.group_shift).block;
    uint16_t* const tag_at = blocks.LowTags(block) + lane;
    std::byte* const entry = blocks.Entry(block, lane);
    uint32_t tag = gpu::LoadRelaxed(tag_at);
    bool pinned = blocks.pins[block * kSlots + lane] != 0;
    EntryHead head{};
    if ((tag & kOccupied) != 0) head = LoadEntry(blocks.shape, entry);
    const uint32_t ahead = blocks.next_use != nullptr && (tag & kOccupied) != 0
                               ? UseAhead(blocks.next_use[block * kSlots + lane], args.now)
                               : 0;

    for (uint32_t i = begin; i < end; ++i) {
      const Place place = PlaceOf(args.positions[i], blocks.blocks, blocks.group_shift);
      const bool resident = warp.Any(tag == place.low_tag && head.high_tag == place.high_tag);
      uint32_t chosen = kSlots;
      if (!resident) {
        const bool occupied = (tag & kOccupied) != 0;
        const uint32_t free = warp.Ballot(!pinned && !occupied);
        const uint32_t first_free =
            free != 0 ? static_cast<uint32_t>(__ffs(static_cast<int>(free))) - 1 : kSlots;
        const uint32_t value = AgedValue(head.score, args.clock);
        // Scores that the CPU looks at on its way to the slot (score.h, Normalised).
        if (!pinned && occupied && lane < first_free) {
          const uint16_t normalised = Normalised(head.score, args.clock);
          if (normalised != head.score) gpu::StoreRelaxed(ScoreOf(entry), normalised);
          head.score = normalised;
        }
        const uint32_t use = args.next_use != nullptr ? UseAhead(args.next_use[i], args.now) : 0;
        // Of those whose next use is unknown: least value, then lowest slot.
        const uint32_t worth = pinned || ahead != 0 ? ~0u : value * kSlots + lane;
        const uint32_t least = __reduce_min_sync(0xffffffffu, worth);
        if (free != 0) {
          chosen = first_free;
        } else if (least != ~0u) {
          if (use != 0 || MayReplace(CandidateValue(args.frequencies[i]), least / kSlots)) {
            chosen = least % kSlots;
          }
        } else if (use != 0) {
          // All are known: the farthest, then lowest slot.
          const uint32_t farthest = __reduce_max_sync(0xffffffffu, pinned ? 0u : ahead);
          const uint32_t last = warp.Ballot(!pinned && ahead == farthest);
          if (IsSooner(use, farthest)) {
            chosen = static_cast<uint32_t>(__ffs(static_cast<int>(last))) - 1;
          }
        }
      }
      // The lane of the slot speaks, or lane 0 when there is none.
      if (lane == chosen % kSlots) {
        const bool takes = chosen != kSlots;
        const bool evicts = takes && (tag & kOccupied) != 0;
        args.slots[i] = takes ? static_cast<uint32_t>(block * kSlots) + lane : kNoSlot;
        if (args.evicted != nullptr) {
          args.evicted[i] =
              evicts ? PositionOf(static_cast<uint16_t>(tag), head.high_tag, blocks.group_shift)
                     : kNoPosition;
        }
        if (evicts) gpu::StoreRelaxed(tag_at, 0);
        if (takes) {
          blocks.pins[block * kSlots + lane] = 1;
          tag = 0;
          pinned = true;
        }
      }
    }
  }
}

// Eight lanes a row, 16 bytes a lane.
__global__ void __launch_bounds__(kThreads) WriteSlotsKernel(FillArgs args) {
  using Sixteen = Words<4>;
  const gpu::Tile<8> tile;
  const BlockView& blocks = args.blocks;
  const uint32_t code_bytes = args.format.code_bytes;
  for (uint64_t i = uint64_t{blockIdx.x} * tile.Count() + tile.Rank(); i < args.count;
       i += uint64_t{gridDim.x} * tile.Count()) {
    const uint32_t slot = args.slots[i];
    if (slot == kNoSlot) continue;
    const std::byte* const row =
        args.rows + (args.sources != nullptr ? args.sources[i] : i) * args.row_stride;
    for (uint32_t at = tile.Lane() * 16; at < blocks.shape.slot_bytes(); at += 8 * 16) {
      const uint32_t have = at >= code_bytes ? 0 : code_bytes - at < 16 ? code_bytes - at : 16;
      Sixteen codes{};
      codes.LoadBytes(row + at, have);
      gpu::StoreVec(const_cast<std::byte*>(CodesAt(blocks, slot, at)), codes.Vector());
    }
    if (tile.Lane() != 0) continue;
    std::byte* const entry = blocks.Entry(slot / kSlots, slot % kSlots);
    const Place place = PlaceOf(args.positions[i], blocks.blocks, blocks.group_shift);
    gpu::StoreRelaxed(reinterpret_cast<uint32_t*>(entry + kEntryHighTag), place.high_tag);
    gpu::StoreRelaxed(ScoreOf(entry), AdmittedScore(args.frequencies[i], args.clock));
    for (uint32_t b = 0; b < args.format.side_bytes; ++b) {
      entry[kEntrySide + b] = row[args.format.side_at() + b];
    }
    if (blocks.next_use != nullptr) {
      blocks.next_use[slot] = args.next_use != nullptr ? args.next_use[i] : kNoUse;
    }
  }
}

__global__ void __launch_bounds__(kThreads) PublishSlotsKernel(FillArgs args) {
  const BlockView& blocks = args.blocks;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.count;
       i += uint64_t{gridDim.x} * blockDim.x) {
    const uint32_t slot = args.slots[i];
    if (slot == kNoSlot) continue;
    const Place place = PlaceOf(args.positions[i], blocks.blocks, blocks.group_shift);
    blocks.pins[slot] = 0;
    gpu::StoreRelaxed(blocks.LowTags(slot / kSlots) + slot % kSlots, place.low_tag);
  }
}

int LaunchFill(void (*kernel)(FillArgs), const FillArgs& args, uint64_t threads,
               const LaunchShape& shape, gpu::StreamHandle stream) {
  if (threads == 0) return 0;
  return gpu::Launch(kernel, dim3(GridBlocks(threads, kThreads, shape.most_blocks)), dim3(kThreads),
                     0, stream, args);
}

}  // namespace

int ChooseSlots(const FillArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  return LaunchFill(ChooseSlotsKernel, args, uint64_t{args.segment_count} * 32, shape, stream);
}
int WriteSlots(const FillArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  return LaunchFill(WriteSlotsKernel, args, uint64_t{args.count} * 8, shape, stream);
}
int PublishSlots(const FillArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  return LaunchFill(PublishSlotsKernel, args, args.count, shape, stream);
}

}  // namespace edo::kernels::GPU_BACKEND_NS
