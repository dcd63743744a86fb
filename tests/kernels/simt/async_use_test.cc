// Host-side mistakes change results for some seeds: 50 seeds, at 5 rates of eagerness. The right
// pipeline is right for all of them.
#include "tests/kernels/simt/async_use.h"

#include <gtest/gtest.h>

#include "tests/kernels/simt/schedules.h"

namespace edo::test {
namespace {

constexpr int kAsyncSeeds = 50;

// How many seeds give a wrong result or a report.
int WrongRuns(AsyncMistake mistake) {
  int wrong = 0;
  for (simt::Config config : Schedules({simt::Policy::kInOrder}, kAsyncSeeds)) {
    config.eager_one_in = static_cast<uint32_t>(config.seed % 5);
    config.preempt_one_in = 0;
    simt::Configure(config);
    const bool right = PipelineIsRight(mistake);
    const simt::Report report = simt::TakeReport();
    if (right && report.bug == simt::Bug::kNone) continue;
    ++wrong;
    if (mistake == AsyncMistake::kNone) ADD_FAILURE() << ReplayText(config) << "\n" << report.text;
  }
  std::cout << wrong << " of " << kAsyncSeeds << " seeds show it\n";
  return wrong;
}

TEST(AsyncUse, RightPipelineIsRight) { EXPECT_EQ(WrongRuns(AsyncMistake::kNone), 0); }
TEST(AsyncUse, ReusedStagingBufferShows) { EXPECT_GE(WrongRuns(AsyncMistake::kStagingReused), 5); }
TEST(AsyncUse, MissingEventShows) { EXPECT_GE(WrongRuns(AsyncMistake::kNoEvent), 5); }
TEST(AsyncUse, ResultReadTooSoonShows) {
  EXPECT_GE(WrongRuns(AsyncMistake::kResultReadTooSoon), 5);
}

}  // namespace
}  // namespace edo::test
