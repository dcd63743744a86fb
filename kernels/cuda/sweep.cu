// CUDA bodies of the kernels that change slots without filling them: InvalidateRange, Invalidate,
// Pin, Foresee, AgeScores. Pin counts are bytes, changed by atomics on the word around them,
// because one call may name a position twice; so InvalidateRange and AgeScores go by slots, the
// others by positions, a warp each.
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/probe_rows.cuh"

namespace edo::kernels::GPU_BACKEND_NS {
namespace {

constexpr uint32_t kThreads = 256;

// The slot that holds `place`, or kSlots; the whole warp asks.
__device__ __forceinline__ uint32_t FindSlot(const BlockView& blocks, const Place& place) {
  const gpu::Tile<32> warp;
  const uint32_t lane = warp.Lane();
  bool here = gpu::LoadRelaxed(blocks.LowTags(place.block) + lane) == place.low_tag;
  if (here) {
    here = LoadEntry(blocks.shape, blocks.Entry(place.block, lane)).high_tag == place.high_tag;
  }
  const uint32_t found = warp.Ballot(here);
  return found != 0 ? static_cast<uint32_t>(__ffs(static_cast<int>(found))) - 1 : kSlots;
}

// The word that holds the pin count of a slot, and where in it.
struct PinWord {
  unsigned* word;
  uint32_t shift;
};
__device__ __forceinline__ PinWord PinWordOf(const BlockView& blocks, uint64_t block,
                                             uint32_t slot) {
  return {reinterpret_cast<unsigned*>(blocks.pins + block * kSlots) + slot / 4, slot % 4 * 8};
}

__global__ void __launch_bounds__(kThreads)
    InvalidateRangeKernel(BlockView blocks, uint64_t first, uint64_t last) {
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks.blocks * kSlots;
       i += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t block = i / kSlots;
    const auto slot = static_cast<uint32_t>(i % kSlots);
    uint16_t* const tag_at = blocks.LowTags(block) + slot;
    const uint16_t tag = gpu::LoadRelaxed(tag_at);
    if ((tag & kOccupied) == 0) continue;
    const uint32_t high_tag = LoadEntry(blocks.shape, blocks.Entry(block, slot)).high_tag;
    const uint64_t position = PositionOf(tag, high_tag, blocks.group_shift);
    if (position < first || position >= last) continue;
    gpu::StoreRelaxed(tag_at, 0);
    blocks.pins[i] = 0;
  }
}

__global__ void __launch_bounds__(kThreads)
    InvalidateKernel(BlockView blocks, const uint64_t* positions, uint32_t count) {
  const gpu::Tile<32> warp;
  for (uint64_t i = uint64_t{blockIdx.x} * warp.Count() + warp.Rank(); i < count;
       i += uint64_t{gridDim.x} * warp.Count()) {
    const Place place = PlaceOf(positions[i], blocks.blocks, blocks.group_shift);
    const uint32_t slot = FindSlot(blocks, place);
    if (slot == kSlots || warp.Lane() != 0) continue;
    gpu::StoreRelaxed(blocks.LowTags(place.block) + slot, 0);
    const PinWord pins = PinWordOf(blocks, place.block, slot);
    atomicAnd(pins.word, ~(0xffu << pins.shift));
  }
}

__global__ void __launch_bounds__(kThreads) PinKernel(BlockView blocks, const uint64_t* positions,
                                                      uint32_t count, int delta, uint8_t* done) {
  const gpu::Tile<32> warp;
  for (uint64_t i = uint64_t{blockIdx.x} * warp.Count() + warp.Rank(); i < count;
       i += uint64_t{gridDim.x} * warp.Count()) {
    const Place place = PlaceOf(positions[i], blocks.blocks, blocks.group_shift);
    const uint32_t slot = FindSlot(blocks, place);
    if (warp.Lane() != 0) continue;
    bool changed = false;
    if (slot != kSlots) {
      const PinWord pins = PinWordOf(blocks, place.block, slot);
      unsigned seen = gpu::LoadRelaxed(pins.word);
      while (true) {
        const uint32_t pinned = seen >> pins.shift & 0xffu;
        if (delta > 0 ? pinned == 255 : pinned == 0) break;
        const unsigned one = 1u << pins.shift;
        const unsigned before = atomicCAS(pins.word, seen, delta > 0 ? seen + one : seen - one);
        changed = before == seen;
        if (changed) break;
        seen = before;
      }
    }
    done[i] = changed ? 1 : 0;
  }
}

__global__ void __launch_bounds__(kThreads)
    ForeseeKernel(BlockView blocks, const uint64_t* positions, const uint32_t* next_use,
                  uint32_t count) {
  const gpu::Tile<32> warp;
  for (uint64_t i = uint64_t{blockIdx.x} * warp.Count() + warp.Rank(); i < count;
       i += uint64_t{gridDim.x} * warp.Count()) {
    const Place place = PlaceOf(positions[i], blocks.blocks, blocks.group_shift);
    const uint32_t slot = FindSlot(blocks, place);
    if (slot == kSlots || warp.Lane() != 0) continue;
    blocks.next_use[place.block * kSlots + slot] = next_use[i];
  }
}

__global__ void __launch_bounds__(kThreads) AgeScoresKernel(BlockView blocks, uint32_t clock) {
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks.blocks * kSlots;
       i += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t block = i / kSlots;
    const auto slot = static_cast<uint32_t>(i % kSlots);
    if ((gpu::LoadRelaxed(blocks.LowTags(block) + slot) & kOccupied) == 0) continue;
    uint16_t* const score_at = ScoreOf(blocks.Entry(block, slot));
    const uint16_t score = gpu::LoadRelaxed(score_at);
    const uint16_t normalised = Normalised(score, clock);
    if (normalised != score) gpu::StoreRelaxed(score_at, normalised);
  }
}

}  // namespace

int InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last,
                    const LaunchShape& shape, gpu::StreamHandle stream) {
  if (blocks.blocks == 0 || first >= last) return 0;
  return gpu::Launch(InvalidateRangeKernel,
                     dim3(GridBlocks(blocks.blocks * kSlots, kThreads, shape.most_blocks)),
                     dim3(kThreads), 0, stream, blocks, first, last);
}

int Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count,
               const LaunchShape& shape, gpu::StreamHandle stream) {
  if (count == 0) return 0;
  return gpu::Launch(InvalidateKernel,
                     dim3(GridBlocks(uint64_t{count} * 32, kThreads, shape.most_blocks)),
                     dim3(kThreads), 0, stream, blocks, positions, count);
}

int Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
        uint8_t* done, const LaunchShape& shape, gpu::StreamHandle stream) {
  if (count == 0) return 0;
  return gpu::Launch(PinKernel, dim3(GridBlocks(uint64_t{count} * 32, kThreads, shape.most_blocks)),
                     dim3(kThreads), 0, stream, blocks, positions, count, delta, done);
}

int Foresee(const BlockView& blocks, const uint64_t* positions, const uint32_t* next_use,
            uint32_t count, const LaunchShape& shape, gpu::StreamHandle stream) {
  if (count == 0) return 0;
  return gpu::Launch(ForeseeKernel,
                     dim3(GridBlocks(uint64_t{count} * 32, kThreads, shape.most_blocks)),
                     dim3(kThreads), 0, stream, blocks, positions, next_use, count);
}

int AgeScores(const BlockView& blocks, uint32_t clock, const LaunchShape& shape,
              gpu::StreamHandle stream) {
  if (blocks.blocks == 0) return 0;
  return gpu::Launch(AgeScoresKernel,
                     dim3(GridBlocks(blocks.blocks * kSlots, kThreads, shape.most_blocks)),
                     dim3(kThreads), 0, stream, blocks, clock);
}

}  // namespace edo::kernels::GPU_BACKEND_NS
