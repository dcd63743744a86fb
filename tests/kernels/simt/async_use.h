// Host code that keeps two streams busy, right and with the usual mistakes. Portable, so that a GPU
// can show that the right one is right.
#pragma once

namespace edo::test {

enum class AsyncMistake {
  kNone,
  kStagingReused,      // a pinned buffer is overwritten before its copy has run
  kNoEvent,            // a stream does not wait for the one that fills its input
  kResultReadTooSoon,  // the host does not wait for the copy back
};
// True when all results were right.
bool PipelineIsRight(AsyncMistake mistake);

}  // namespace edo::test
