// The state of the launch that is running: lanes, warps, blocks. Private to the executor's own
// files. One launch runs at a time, on the thread that holds DeviceMutex() (executor.h); nothing
// here locks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/simt/config.h"
#include "kernels/simt/device_calls.h"
#include "kernels/simt/executor.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/random.h"
#include "kernels/simt/report.h"

namespace edo::simt {

inline constexpr uint32_t kWarpLanes = 32;

// What a lane has learnt through atomics and fences, of lanes outside its own warp too.
struct SparseClock {
  std::unordered_map<uint32_t, std::array<uint32_t, kWarpLanes>>
      warps;                                      // clocks by warp of the grid
  std::unordered_map<uint32_t, uint32_t> blocks;  // barriers passed by block of the grid
};
using SparseClockPtr = std::shared_ptr<const SparseClock>;

// Happens-before (check builds, clocks.cc).
struct LaneClock {
  uint32_t own = 1;                         // ticks at every release
  uint32_t barriers = 0;                    // block barriers passed
  std::array<uint32_t, kWarpLanes> warp{};  // known clocks of the lanes of the own warp
  SparseClockPtr acquired;                  // known of everything else
  SparseClockPtr seen;                      // read by atomics, in force after a fence
  SparseClockPtr released;                  // what an atomic write after the last fence publishes
};

struct PendingCopy {  // a cp.async that has not landed
  char* destination;
  const char* source;
  size_t bytes;
  size_t zero_bytes;
  unsigned stage;
};

struct Block;
struct Warp;
enum class LaneState : uint8_t { kReady, kWaitsForWarp, kWaitsForBlock, kDone };

struct Lane {
  Fiber fiber;
  Block* block = nullptr;
  Warp* warp = nullptr;
  Dim thread;  // threadIdx
  uint32_t index_in_block = 0;
  uint32_t index_in_warp = 0;
  uint32_t index_in_grid = 0;
  LaneState state = LaneState::kDone;

  // The collective or barrier that it waits at: what it brought, what it gets, and for reports.
  uint64_t value = 0;
  uint64_t result = 0;
  uint32_t argument = 0;
  uint32_t mask = 0;
  const char* doing = "";
  Site site;
  const void* last_call = nullptr;  // return address of its last atomic or pause; null: none yet

  unsigned stage = 0;  // cp.async groups committed
  std::vector<PendingCopy> copies;
  LaneClock clock;
};

// Lanes of a warp that have met at a collective under one mask.
struct Meeting {
  uint32_t mask;
  uint32_t arrived;
  uint32_t width;
  Collective operation;
  int value_bytes;
  Site site;
};

struct Warp {
  std::array<Lane*, kWarpLanes> lanes{};
  uint32_t present = 0;  // lanes that the block has; the last warp may be partial
  uint32_t exited = 0;
  std::array<Meeting, kWarpLanes> meetings;
  uint32_t meeting_count = 0;
};

struct SharedVariable {
  const void* key;
  char* address;
  size_t bytes;
  const char* name;
};

struct Block {
  Dim index;  // blockIdx
  uint32_t index_in_grid = 0;
  std::vector<Lane*> lanes;
  std::vector<Warp> warps;
  uint32_t live = 0;  // lanes that have not returned

  // The barrier that `arrived` lanes wait at.
  uint32_t arrived = 0;
  Barrier barrier = Barrier::kPlain;
  Site barrier_site;
  uint32_t true_predicates = 0;

  char* shared_window = nullptr;
  size_t shared_used = 0;   // with red zones
  size_t shared_bytes = 0;  // variables only, without dynamic memory
  std::vector<SharedVariable> shared_variables;
  char* dynamic_shared = nullptr;  // null until asked for
};

struct Executor {
  Config config;
  Statistics statistics;
  Random random;                          // restarted for every launch
  uint32_t launches_since_configure = 0;  // part of the seed of a launch
  uint32_t launch_id = 0;                 // never repeats in a process: tells old shadows apart

  // The launch that is running.
  const KernelLaunch* launch = nullptr;
  uint32_t threads_a_block = 0;
  uint32_t warps_a_block = 0;
  uint32_t block_count = 0;
  uint64_t live_lanes = 0;  // of resident blocks
  uint64_t launch_switches = 0;
  Lane* current = nullptr;  // the lane that runs
  Fiber caller;             // the thread that launched
  Report report;

  std::vector<std::unique_ptr<Lane>> lanes;    // every fiber ever made
  std::vector<std::unique_ptr<Block>> blocks;  // resident slots
};
extern Executor executor;

// True while this thread runs a kernel's code, false in the executor, even when a lane called it.
// The linker may give the executor an instrumented copy of a standard-library template, which must
// not be taken for device code. (The model of access keeps the compiler from remembering the
// address: fibers go on in other threads in later launches.)
extern constinit thread_local bool in_kernel __attribute__((tls_model("initial-exec")));

// Stands at the top of every function that device code calls.
class ExecutorSection {
 public:
  ExecutorSection() { in_kernel = false; }
  ~ExecutorSection() { in_kernel = true; }
  ExecutorSection(const ExecutorSection&) = delete;
  ExecutorSection& operator=(const ExecutorSection&) = delete;
};

// Calls visit(index of lane) for every lane of `mask`, ascending.
template <class Visit>
void ForEachLane(uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(__builtin_ctz(mask)));
}

// "kernel f<128> block (1,0,0) thread (5,0,0) warp 0 lane 5 [__syncthreads a.cu:12]".
std::string DescribeLane(const Lane& lane);
std::string DescribeSite(const Site& site);

// Keeps the report of the first bug of a launch.
void RecordBug(Bug bug, const std::string& text);
// Leaves the current lane for good; its launch ends with the report.
[[noreturn]] void AbandonLaunch();
// Ends the launch with a bug of the current lane. `describe` returns the text: whatever it builds
// is gone before the lane is left, because nothing is destroyed on a stack that is abandoned.
template <class Describe>
[[noreturn]] void Fail(Bug bug, Describe describe) {
  RecordBug(bug, describe());
  AbandonLaunch();
}

}  // namespace edo::simt
