#include "kernels/simt/executor.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>

#include "kernels/simt/check.h"
#include "kernels/simt/collectives.h"
#include "kernels/simt/device_memory.h"
#include "kernels/simt/scheduler.h"
#include "kernels/simt/shared_memory.h"
#include "kernels/simt/state.h"
#include "kernels/simt/text.h"

namespace edo::simt {

Executor executor;
constinit thread_local bool in_kernel = false;

namespace {

std::vector<uint32_t> start_order;  // blocks of the grid, in the order in which they start
size_t next_block = 0;

Dim Unflatten(uint32_t index, const Dim& shape) {
  return {index % shape.x, index / shape.x % shape.y, index / shape.x / shape.y};
}

uint64_t Volume(const Dim& shape) { return uint64_t{shape.x} * shape.y * shape.z; }

void PlaceLane(Block* block, uint32_t index) {
  Lane* lane = block->lanes[index];
  lane->block = block;
  lane->warp = &block->warps[index / kWarpLanes];
  lane->thread = Unflatten(index, executor.launch->block);
  lane->index_in_block = index;
  lane->index_in_warp = index % kWarpLanes;
  lane->index_in_grid = block->index_in_grid * executor.threads_a_block + index;
  lane->doing = "running";
  lane->site = Site{};
  lane->last_call = nullptr;
  lane->stage = 0;
  lane->copies.clear();
  lane->warp->lanes[lane->index_in_warp] = lane;
  lane->warp->present |= 1u << lane->index_in_warp;
  check::StartLane(lane);
}

// Starts the next block of the grid in this resident slot.
void StartBlock(Block* block) {
  block->index_in_grid = start_order[next_block++];
  block->index = Unflatten(block->index_in_grid, executor.launch->grid);
  block->live = executor.threads_a_block;
  block->arrived = 0;
  block->true_predicates = 0;
  ResetShared(block);
  for (Warp& warp : block->warps) {
    warp.present = 0;
    warp.exited = 0;
    warp.meeting_count = 0;
  }
  for (uint32_t i = 0; i < executor.threads_a_block; ++i) PlaceLane(block, i);
  executor.live_lanes += executor.threads_a_block;
  ++executor.statistics.blocks;
  MakeReady(block->lanes.data(), block->lanes.size());
}

[[gnu::noinline]] void EnterKernel() { in_kernel = true; }

// The current lane has returned from the kernel.
[[gnu::noinline]] void ExitLane() {
  in_kernel = false;
  Lane* lane = executor.current;
  Block* block = lane->block;
  lane->copies.clear();
  lane->state = LaneState::kDone;
  lane->doing = "exited";
  lane->warp->exited |= 1u << lane->index_in_warp;
  --block->live;
  --executor.live_lanes;
  if (block->live == 0) {
    if (next_block < start_order.size()) StartBlock(block);
  } else {
    ExitFromMeetings(lane);
    ExitFromBarrier(lane);
  }
  LeaveLane(lane);
}

void OrderBlocks() {
  start_order.resize(executor.block_count);
  std::iota(start_order.begin(), start_order.end(), 0u);
  if (executor.config.policy == Policy::kReverse) {
    std::reverse(start_order.begin(), start_order.end());
  } else if (!IsFirstComeFirstServed()) {
    for (uint32_t i = executor.block_count; i > 1; --i) {
      std::swap(start_order[i - 1], start_order[executor.random.Below(i)]);
    }
  }
  next_block = 0;
}

uint32_t ResidentBlocks() {
  const auto wanted = static_cast<uint32_t>(std::max(1, executor.config.resident_blocks));
  const auto room = static_cast<uint32_t>(
      std::min<size_t>(kMaxResidentBlocks, kMaxFibers / executor.threads_a_block));
  return std::min({wanted, room, executor.block_count});
}

void PrepareSlots(uint32_t resident) {
  while (executor.lanes.size() < size_t{resident} * executor.threads_a_block) {
    executor.lanes.push_back(std::make_unique<Lane>());
    CreateFiber(executor.lanes.size() - 1, &executor.lanes.back()->fiber);
  }
  while (executor.blocks.size() < resident) {
    executor.blocks.push_back(std::make_unique<Block>());
    executor.blocks.back()->shared_window = SharedWindow(executor.blocks.size() - 1);
  }
  auto lane = executor.lanes.begin();
  for (uint32_t slot = 0; slot < resident; ++slot) {
    Block* block = executor.blocks[slot].get();
    block->warps.resize(executor.warps_a_block);
    block->lanes.clear();
    for (uint32_t i = 0; i < executor.threads_a_block; ++i, ++lane) {
      block->lanes.push_back(lane->get());
    }
  }
}

// Who waits where: the first few lanes in full, then a count a place.
std::string DescribeDeadlock(uint32_t resident) {
  constexpr size_t kShown = 6;
  std::string text = "no lane can run:";
  std::map<std::string, int> places;
  for (uint32_t slot = 0; slot < resident; ++slot) {
    for (const Lane* lane : executor.blocks[slot]->lanes) {
      if (lane->state == LaneState::kReady || lane->state == LaneState::kDone) continue;
      const std::string place =
          Format("%s %s mask %08x", lane->doing, DescribeSite(lane->site).c_str(), lane->mask);
      if (places[place]++ == 0 && places.size() <= kShown) text += "\n    " + DescribeLane(*lane);
    }
  }
  for (const auto& [place, count] : places)
    text += Format("\n    %d lanes at %s", count, place.c_str());
  return text;
}

// Lanes switch among themselves; the caller's fiber runs only when none can, or after a bug.
void RunLanes(uint32_t resident) {
  while (Lane* next = TakeReady()) {
    ++executor.statistics.switches;
    executor.current = next;
    SwitchFiber(&executor.caller, &next->fiber);
    executor.current = nullptr;
    if (executor.report.bug != Bug::kNone) return;
  }
  if (executor.live_lanes != 0) RecordBug(Bug::kDeadlock, DescribeDeadlock(resident));
}

// After a bug, lanes stand in the middle of the kernel. They start afresh next time.
void AbandonLanes() {
  for (auto& lane : executor.lanes) {
    RestartFiber(&lane->fiber);
    lane->state = LaneState::kDone;
    lane->copies.clear();
    lane->clock = LaneClock{};
  }
}

}  // namespace

std::recursive_mutex& DeviceMutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

bool IsValidShape(const KernelLaunch& launch) {
  constexpr uint64_t kMaxThreads = 1024;
  const uint64_t threads = Volume(launch.block);
  const uint64_t blocks = Volume(launch.grid);
  return threads >= 1 && threads <= kMaxThreads && launch.block.z <= 64 && blocks >= 1 &&
         launch.grid.x <= 0x7fffffffu && launch.grid.y <= 65535 && launch.grid.z <= 65535 &&
         blocks * threads <= UINT32_MAX &&  // the executor's own limit: lanes have 32-bit numbers
         launch.dynamic_shared_bytes <= executor.config.max_shared_bytes;
}

Report RunGrid(const KernelLaunch& launch) {
  assert(IsValidShape(launch));
  executor.launch = &launch;
  executor.report = Report{};
  executor.threads_a_block = static_cast<uint32_t>(Volume(launch.block));
  executor.warps_a_block = (executor.threads_a_block + kWarpLanes - 1) / kWarpLanes;
  executor.block_count = static_cast<uint32_t>(Volume(launch.grid));
  executor.live_lanes = 0;
  executor.launch_switches = 0;
  ++executor.launch_id;
  ++executor.statistics.launches;
  executor.random = Random(executor.config.seed, ++executor.launches_since_configure);
  OrderBlocks();
  const uint32_t resident = ResidentBlocks();
  ResetScheduler(size_t{resident} * executor.threads_a_block);
  check::StartLaunch();
  PrepareSlots(resident);
  executor.caller = CallersFiber();
  for (uint32_t slot = 0; slot < resident; ++slot) StartBlock(executor.blocks[slot].get());
  RunLanes(resident);
  if (executor.report.bug != Bug::kNone) AbandonLanes();
  executor.launch = nullptr;
  return executor.report;
}

std::string DescribeSite(const Site& site) {
  return Format("%s:%d", BaseName(site.file), site.line);
}

std::string DescribeLane(const Lane& lane) {
  const Dim& block = lane.block->index;
  const Dim& thread = lane.thread;
  std::string text =
      Format("kernel %s block (%u,%u,%u) thread (%u,%u,%u) warp %u lane %u",
             FunctionName(executor.launch->function).c_str(), block.x, block.y, block.z, thread.x,
             thread.y, thread.z, lane.index_in_block / kWarpLanes, lane.index_in_warp);
  if (lane.site.line != 0) {
    text += Format(" [%s %s mask %08x]", lane.doing, DescribeSite(lane.site).c_str(), lane.mask);
  }
  if (lane.last_call != nullptr) {
    text += ", last seen at " + SourceLine(ProgramOffset(lane.last_call));
  }
  return text;
}

void RecordBug(Bug bug, const std::string& text) {
  if (executor.report.bug != Bug::kNone) return;
  executor.report.bug = bug;
  executor.report.text = std::string(BugName(bug)) + ": " + text;
  if (executor.current != nullptr) {
    executor.report.text += "\n    in " + DescribeLane(*executor.current);
  }
  executor.report.text +=
      Format("\n    seed %llu, policy %s, launch %u",
             static_cast<unsigned long long>(executor.config.seed),
             PolicyName(executor.config.policy), executor.launches_since_configure);
}

void AbandonLaunch() {
  Lane* lane = executor.current;
  executor.current = nullptr;
  SwitchFiber(&lane->fiber, &executor.caller);
  std::abort();  // a lane that failed is never continued
}

Dim ThreadIdx() noexcept { return executor.current->thread; }
Dim BlockIdx() noexcept { return executor.current->block->index; }
Dim BlockDim() noexcept { return executor.launch->block; }
Dim GridDim() noexcept { return executor.launch->grid; }

void GiveWay() noexcept {
  const ExecutorSection section;
  executor.current->last_call = __builtin_return_address(0);
  YieldLane(executor.current);
}

void ReportMisaligned(const void* p, size_t bytes) noexcept {
  const ExecutorSection section;
  executor.current->last_call = __builtin_return_address(0);
  Fail(Bug::kMisaligned,
       [&] { return Format("access of %zu bytes: %s", bytes, DescribeAddress(p).c_str()); });
}

void ReportTrap(Site site) noexcept {
  const ExecutorSection section;
  Fail(Bug::kTrap, [&] { return "__trap at " + DescribeSite(site); });
}

}  // namespace edo::simt

extern "C" [[gnu::used]] void edo_simt_fiber_main() {
  using edo::simt::executor;
  edo::simt::FinishFirstSwitch();
  for (;;) {  // the fiber serves other lanes, and later launches
    edo::simt::EnterKernel();
    executor.launch->invoke(executor.launch->arguments.get());
    edo::simt::ExitLane();
  }
}
