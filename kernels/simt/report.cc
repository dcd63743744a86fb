#include "kernels/simt/report.h"

#include <cstddef>

namespace edo::simt {

const char* BugName(Bug bug) {
  static constexpr const char* kNames[] = {"none",
                                           "deadlock",
                                           "livelock",
                                           "mask-excludes-caller",
                                           "mask-names-missing-lane",
                                           "collective-mismatch",
                                           "shuffle-source",
                                           "exited-lane",
                                           "divergent-barrier",
                                           "shared-limit",
                                           "race",
                                           "out-of-bounds",
                                           "uninitialised-read",
                                           "misaligned",
                                           "foreign-stack",
                                           "host-memory",
                                           "use-after-free",
                                           "trap"};
  return kNames[static_cast<size_t>(bug)];
}

}  // namespace edo::simt
