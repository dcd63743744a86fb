// Which lane runs next. Ready lanes wait in a queue (in-order policies) or a bag (random policies);
// all choices come from the launch's seed. Private to the executor's files; the device is held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simt/state.h"

namespace edo::simt {

// Empties the queue for a launch with at most `lanes` resident lanes.
void ResetScheduler(size_t lanes);

// In-order policies keep a lane running that completes a collective, random ones let it compete.
inline bool IsFirstComeFirstServed() {
  return executor.config.policy == Policy::kInOrder || executor.config.policy == Policy::kReverse;
}

void MakeReady(Lane* lane);
// In the policy's order.
void MakeReady(Lane* const* lanes, size_t count);

// Takes the next lane out of the queue; null when no lane can run.
Lane* TakeReady();

// Leaves the current lane, which is queued, waiting or done, for the next one that can run.
void LeaveLane(Lane* lane);
// Queues the current lane and leaves it.
void YieldLane(Lane* lane);

}  // namespace edo::simt
