// The dialect against plain models (conformance.h), under every policy. Exact: all of it is
// integers or single float operations.
#include "tests/kernels/simt/conformance.h"

#include <gtest/gtest.h>

#include "tests/kernels/simt/schedules.h"

namespace edo::test {
namespace {

TEST(Conformance, WarpCollectivesMatchThePlainModel) {
  for (const simt::Config& config : Schedules(AllPolicies(), 3)) {
    SCOPED_TRACE(ReplayText(config));
    simt::Configure(config);
    EXPECT_EQ(CheckWarpConformance(config.seed), "");
    EXPECT_EQ(simt::TakeReport().text, "");
  }
}

TEST(Conformance, ScalarsAndAtomicsMatchThePlainModel) {
  for (const simt::Config& config : Schedules(AllPolicies(), 3)) {
    SCOPED_TRACE(ReplayText(config));
    simt::Configure(config);
    EXPECT_EQ(CheckScalarConformance(config.seed), "");
    EXPECT_EQ(simt::TakeReport().text, "");
  }
}

}  // namespace
}  // namespace edo::test
