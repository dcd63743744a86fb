// Happens-before between lanes (check build). A lane knows the clocks of its own warp, the number
// of barriers its block has passed, and sparsely what it has acquired from others. __syncwarp joins
// a warp's lanes, __syncthreads a block's. Atomics are relaxed: they carry order only with a fence
// before the write and one after the read.
#include <algorithm>
#include <unordered_map>

#include "kernels/simt/check.h"

namespace edo::simt::check {
namespace {

// What the last atomic writes of an address publish. Only looked up, never walked: its order would
// depend on addresses.
std::unordered_map<const void*, SparseClockPtr> published;

void RaiseTo(uint32_t* clock, uint32_t other) { *clock = std::max(*clock, other); }

void Raise(std::array<uint32_t, kWarpLanes>* clocks,
           const std::array<uint32_t, kWarpLanes>& others) {
  for (size_t i = 0; i < kWarpLanes; ++i) RaiseTo(&(*clocks)[i], others[i]);
}

SparseClockPtr Join(const SparseClockPtr& a, const SparseClockPtr& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  auto joined = std::make_shared<SparseClock>(*a);
  for (const auto& [warp, clocks] : b->warps) Raise(&joined->warps[warp], clocks);
  for (const auto& [block, barriers] : b->blocks) RaiseTo(&joined->blocks[block], barriers);
  return joined;
}

uint32_t WarpInGrid(const Lane& lane) {
  return lane.block->index_in_grid * executor.warps_a_block + lane.index_in_block / kWarpLanes;
}

void Tick(Lane* lane) { lane->clock.warp[lane->index_in_warp] = ++lane->clock.own; }

}  // namespace

void StartLaunch() { published.clear(); }

void StartLane(Lane* lane) {
  lane->clock = LaneClock{};
  lane->clock.warp[lane->index_in_warp] = lane->clock.own;
}

void OrderWarp(Warp* warp, uint32_t mask) {
  std::array<uint32_t, kWarpLanes> clocks{};
  SparseClockPtr acquired;
  ForEachLane(mask, [&](uint32_t i) {
    const LaneClock& clock = warp->lanes[i]->clock;
    Raise(&clocks, clock.warp);
    acquired = Join(acquired, clock.acquired);
  });
  ForEachLane(mask, [&](uint32_t i) {
    warp->lanes[i]->clock.warp = clocks;
    warp->lanes[i]->clock.acquired = acquired;
    Tick(warp->lanes[i]);
  });
}

void OrderBlock(Block* block) {
  SparseClockPtr acquired;
  for (const Lane* lane : block->lanes) acquired = Join(acquired, lane->clock.acquired);
  for (Lane* lane : block->lanes) {
    ++lane->clock.barriers;
    lane->clock.acquired = acquired;
    Tick(lane);
  }
}

void ReleaseFence(Lane* lane) {
  LaneClock& clock = lane->clock;
  auto known = clock.acquired != nullptr ? std::make_shared<SparseClock>(*clock.acquired)
                                         : std::make_shared<SparseClock>();
  Raise(&known->warps[WarpInGrid(*lane)], clock.warp);
  RaiseTo(&known->blocks[lane->block->index_in_grid], clock.barriers);
  clock.released = known;
  Tick(lane);
}

void AcquireFence(Lane* lane) {
  lane->clock.acquired = Join(lane->clock.acquired, lane->clock.seen);
  lane->clock.seen.reset();
}

void Atomic(void* p, const AtomicKind& kind) {
  if (kind.reads) Access(p, {.bytes = kind.bytes, .atomic = true, .pc = kind.pc});
  if (kind.writes) {
    Access(p, {.bytes = kind.bytes, .writes = true, .atomic = true, .pc = kind.pc});
  }
  LaneClock& clock = executor.current->clock;
  const auto found = published.find(p);
  if (kind.reads && found != published.end()) clock.seen = Join(clock.seen, found->second);
  if (!kind.writes) return;
  if (kind.reads) {
    // A read-modify-write continues the release sequence that it reads from.
    if (clock.released != nullptr) published[p] = Join(published[p], clock.released);
  } else if (clock.released != nullptr) {
    published[p] = clock.released;
  } else if (found != published.end()) {
    published.erase(found);  // a relaxed store without a fence publishes nothing
  }
}

bool IsOrdered(const Trace& trace, const Lane& lane) {
  const uint32_t block = trace.lane / executor.threads_a_block;
  const uint32_t in_block = trace.lane % executor.threads_a_block;
  const uint32_t warp_in_block = in_block / kWarpLanes;
  const uint32_t in_warp = in_block % kWarpLanes;
  const LaneClock& clock = lane.clock;
  if (block == lane.block->index_in_grid) {
    // All lanes of a block have passed the same barriers: another number is an earlier one.
    if (trace.barriers != static_cast<uint16_t>(clock.barriers)) return true;
    const bool same_warp = warp_in_block == lane.index_in_block / kWarpLanes;
    if (same_warp && clock.warp[in_warp] >= trace.clock) return true;
  }
  if (clock.acquired == nullptr) return false;
  const auto& blocks = clock.acquired->blocks;
  const auto passed = blocks.find(block);
  if (passed != blocks.end() && trace.barriers < passed->second) return true;
  const auto& warps = clock.acquired->warps;
  const auto known = warps.find(block * executor.warps_a_block + warp_in_block);
  return known != warps.end() && known->second[in_warp] >= trace.clock;
}

}  // namespace edo::simt::check
