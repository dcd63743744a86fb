// Small kernels for the executor's own tests, each showing one thing.
#pragma once

#include "kernels/cuda/runtime.h"

namespace edo::test {

// tickets[lane of the grid] = how many lanes came before it.
int LaunchTickets(unsigned* counter, unsigned* tickets, dim3 grid, dim3 block);
// values[i] += by for i < count, blocks of 64.
int LaunchAdd(int* values, int by, unsigned count, gpu::StreamHandle stream);
// One block of 96 with predicate (thread % 3 == 0, or thread < limit): per thread the results of
// __syncthreads_count, _and, _or.
int LaunchBarrierVotes(unsigned limit, int* results);
// For each thread of a 3-D grid, at its linear place: 1 + a number made of all six coordinates.
int LaunchCoordinates(unsigned* places, dim3 grid, dim3 block);
// Two static arrays, one variable and dynamic memory in one block each: sums what all threads
// wrote. 4 blocks of 64.
int LaunchSharedSums(unsigned* sums, size_t dynamic_bytes);
// out[i] = the address within the block's window is aligned, for static and dynamic memory.
int LaunchSharedAlignment(unsigned* aligned);
// Reads shared memory that nobody wrote.
int LaunchReadsFill(unsigned* out);
// cp.async: copies 64 x 16 bytes in two groups, the last 4 bytes of each replaced by zero.
int LaunchAsyncGroups(const unsigned* in, unsigned* out);
// Exchanges 16-bit values by relaxed loads and stores beside each other.
int LaunchRelaxed16(unsigned short* values);
// A struct of 200 bytes by value.
struct ManyNumbers {
  int numbers[50];
};
int LaunchStructParameter(ManyNumbers parameter, int* sum);
// Reads one int through any pointer.
int LaunchRead(const int* from, int* to);
// A warp's lanes take turns under a lock that lane 0 takes: adds to plain memory. 4 blocks of 64.
enum class LockBug { kNone, kNoAcquireFence, kNoReleaseFence, kNoWarpSync };
int LaunchLocked(LockBug bug, unsigned* lock, unsigned* counters);

// Wrong on purpose.
int LaunchTrap();
int LaunchDeadlock();
int LaunchNamesMissingLanes();  // a warp of 20 lanes, all 32 named
int LaunchTooMuchStaticShared();

}  // namespace edo::test
