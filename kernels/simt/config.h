// How launches are scheduled and what they are checked for. One configuration holds for the whole
// process, as there is one device; Configure() also restarts the random sequences, so that the same
// configuration followed by the same calls gives the same schedule again. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edo::simt {

// Which lane runs next, whenever one stops at a barrier, a collective or an atomic.
enum class Policy : uint8_t {
  kInOrder,  // first come, first served, lanes ascending: fastest
  kReverse,  // the same with blocks and lanes descending
  kRandom,   // any runnable lane of any resident block
  kStarve,   // as kRandom, but a random set of warps and lanes is held back
};
const char* PolicyName(Policy policy);

struct Config {
  uint64_t seed = 1;
  Policy policy = Policy::kRandom;
  // Blocks interleaved at any time. 1 exposes code that needs all blocks to run together.
  int resident_blocks = 4;
  // A lane gives way at 1 of N atomics (0: never).
  uint32_t atomic_yield_one_in = 2;
  // Check build: a lane gives way at 1 of N memory accesses (0: never). Slower by the switches.
  uint32_t preempt_one_in = 0;
  // A stream's next operation runs as soon as something is enqueued with a chance of 1 in N
  // (0: never before the host waits).
  uint32_t eager_one_in = 4;
  // All lanes of a collective must come from one source line.
  bool one_line_a_collective = true;
  // Lanes that a mask or a barrier waits for must not have returned.
  bool no_early_exit = true;
  // Check build: reading memory that nobody wrote is reported.
  bool report_uninitialised = true;
  // A launch with more switches is reported as a livelock. The default ends a spin in seconds.
  uint64_t max_switches = uint64_t{1} << 28;
  // Static and dynamic shared memory of a block, as on the smallest GPU that is built for.
  size_t max_shared_bytes = 99 * 1024;
};

void Configure(const Config& config);
Config CurrentConfig();

// True when kernels were compiled and linked for the check build.
bool IsCheckBuild();

struct Statistics {
  uint64_t launches = 0;
  uint64_t blocks = 0;
  uint64_t switches = 0;
  uint64_t collectives = 0;
  uint64_t barriers = 0;
  uint64_t atomics = 0;
  uint64_t accesses = 0;  // check build
};
// Since the last Configure().
Statistics CurrentStatistics();

}  // namespace edo::simt
