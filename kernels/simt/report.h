// What went wrong in a launch: a class that tests compare and a text that people read. A launch
// stops at its first bug; the runtime keeps the report until TakeReport() (runtime.h).
#pragma once

#include <cstdint>
#include <string>

namespace edo::simt {

enum class Bug : uint8_t {
  kNone,
  kDeadlock,              // no lane can run
  kLivelock,              // max_switches passed
  kMaskExcludesCaller,    // a lane calls a collective whose mask does not name it
  kMaskNamesMissingLane,  // the mask names a lane that the warp does not have
  kCollectiveMismatch,    // lanes of one mask meet at different collectives
  kShuffleSource,         // a shuffle reads a lane that takes no part
  kExitedLane,            // a mask names a lane that has returned
  kDivergentBarrier,      // __syncthreads at two places, or without lanes that returned
  kSharedLimit,           // more shared memory than a block may have
  kRace,                  // two accesses, one a write, with nothing that orders them
  kOutOfBounds,
  kUninitialised,
  kMisaligned,
  kForeignStack,  // another lane's local variable
  kHostMemory,    // memory that a device cannot see
  kUseAfterFree,
  kTrap,  // __trap()
};
// "divergent-barrier".
const char* BugName(Bug bug);

struct Report {
  Bug bug = Bug::kNone;
  std::string text;
};

}  // namespace edo::simt
