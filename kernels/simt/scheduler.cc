#include "kernels/simt/scheduler.h"

#include <utility>
#include <vector>

#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

// Starve: how often the held-back set changes, by chance, and how often a held-back lane is passed
// over before it runs after all.
constexpr uint32_t kNewSetOneIn = 2048;
constexpr uint32_t kNewSetWhenStuckOneIn = 16;
constexpr int kPassedOver = 8;

std::vector<Lane*> bag;   // random policies
std::vector<Lane*> ring;  // in-order policies; a power of two large
size_t ring_head = 0;
size_t ring_tail = 0;
uint64_t starved_set = 0;  // hashed with a lane's place: held back or not

// A quarter of the lanes, and half of the warps as a whole. By place, never by address, so that a
// seed gives the same set in every process.
bool IsStarved(const Lane& lane) {
  const uint64_t warp = uint64_t{lane.block->index_in_grid} * executor.warps_a_block +
                        lane.index_in_block / kWarpLanes;
  const uint64_t warp_hash = (warp * 0x9E3779B97F4A7C15u) ^ starved_set;
  if ((warp_hash >> 40) & 1) return true;
  const uint64_t lane_hash =
      ((warp + lane.index_in_warp * 77) * 0xD6E8FEB86659FD93u) ^ (starved_set << 1);
  return ((lane_hash >> 50) & 3) == 0;
}

uint32_t ChooseStarving() {
  const auto count = static_cast<uint32_t>(bag.size());
  if (executor.random.OneIn(kNewSetOneIn)) starved_set = executor.random.Bits();
  uint32_t chosen = executor.random.Below(count);
  for (int i = 0; i < kPassedOver && IsStarved(*bag[chosen]); ++i)
    chosen = executor.random.Below(count);
  // Only held-back lanes are left, it seems: others may get their turn of being held back.
  if (IsStarved(*bag[chosen]) && executor.random.OneIn(kNewSetWhenStuckOneIn)) {
    starved_set = executor.random.Bits();
  }
  return chosen;
}

}  // namespace

void ResetScheduler(size_t lanes) {
  starved_set = executor.random.Bits();
  bag.clear();
  size_t capacity = 64;
  while (capacity < lanes + 1) capacity *= 2;
  ring.assign(capacity, nullptr);
  ring_head = ring_tail = 0;
}

void MakeReady(Lane* lane) {
  lane->state = LaneState::kReady;
  if (IsFirstComeFirstServed()) {
    ring[ring_tail++ & (ring.size() - 1)] = lane;
  } else {
    bag.push_back(lane);
  }
}

void MakeReady(Lane* const* lanes, size_t count) {
  if (executor.config.policy == Policy::kReverse) {
    for (size_t i = count; i-- > 0;) MakeReady(lanes[i]);
  } else {
    for (size_t i = 0; i < count; ++i) MakeReady(lanes[i]);
  }
}

Lane* TakeReady() {
  if (IsFirstComeFirstServed()) {
    return ring_head == ring_tail ? nullptr : ring[ring_head++ & (ring.size() - 1)];
  }
  if (bag.empty()) return nullptr;
  const uint32_t chosen = executor.config.policy == Policy::kStarve
                              ? ChooseStarving()
                              : executor.random.Below(static_cast<uint32_t>(bag.size()));
  Lane* lane = std::exchange(bag[chosen], bag.back());
  bag.pop_back();
  return lane;
}

void LeaveLane(Lane* lane) {
  const uint64_t limit = executor.config.max_switches;
  if (limit != 0 && ++executor.launch_switches > limit) {
    Fail(Bug::kLivelock, [&] {
      return Format("no end after %llu switches", static_cast<unsigned long long>(limit));
    });
  }
  Lane* next = TakeReady();
  if (next == lane) return;
  ++executor.statistics.switches;
  executor.current = next;
  SwitchFiber(&lane->fiber, next != nullptr ? &next->fiber : &executor.caller);
}

void YieldLane(Lane* lane) {
  MakeReady(lane);
  LeaveLane(lane);
}

}  // namespace edo::simt
