// What the end of a lane means for those who wait for it. Private to the executor's files.
#pragma once

#include "kernels/simt/state.h"

namespace edo::simt {

// `lane` has returned: collectives (collectives.cc) and the barrier (barriers.cc) that wait for it
// report that, or go on without it where the configuration allows that.
void ExitFromMeetings(Lane* lane);
void ExitFromBarrier(Lane* lane);

}  // namespace edo::simt
