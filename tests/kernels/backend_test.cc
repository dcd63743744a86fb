// The backends of this build through backend_suite.h: the CPU, and CUDA where a device is at hand
// (else those tests are skipped and say why). The bodies on the executor: tests/kernels/simt.
#include <gtest/gtest.h>

#include "tests/kernels/backend_suite.h"
#include "tests/support/test_util.h"

namespace edo::test {
namespace {

using kernels::Backend;
using kernels::RowCodec;

class BackendTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "cpu") {
      backend_ = kernels::MakeCpuBackend();
      return;
    }
    auto cuda = kernels::MakeCudaBackend();
    if (!cuda.ok()) {
      EXPECT_EQ(cuda.status().code(), StatusCode::kUnsupported);
      GTEST_SKIP() << cuda.status().message();
    }
    backend_ = *cuda;
  }
  std::shared_ptr<Backend> backend_;
};

TEST_P(BackendTest, MemoryStreamsAndCopies) { CheckPlumbing(*backend_); }

TEST_P(BackendTest, EveryCodecOutputAndDimensionDecodesToTheBit) {
  const uint64_t seed = Seed(1);
  for (uint64_t s = seed; s < seed + 3 && !HasFailure(); ++s) CheckAllDecoding(*backend_, s);
}

TEST_P(BackendTest, BagsPoolToTheBit) {
  const uint64_t seed = Seed(1);
  for (uint64_t s = seed; s < seed + 3; ++s) {
    for (const RowCodec codec : kCodecs) {
      for (const FloatType out : kOutTypes) {
        for (const uint32_t dim : kSuiteDims) {
          CheckPooling(*backend_, codec, out, dim, s % 2 == 0 ? 0 : 16, s);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(BackendTest, PartsOfEveryShapeDecodeAndPoolToTheBit) {
  const uint64_t seed = Seed(1);
  for (uint64_t s = seed; s < seed + 3 && !HasFailure(); ++s) CheckShapesOfParts(*backend_, s);
}

TEST_P(BackendTest, Edges) { CheckEdges(*backend_); }

TEST_P(BackendTest, AnySequenceLeavesTheCpusBytes) {
  const auto cpu = kernels::MakeCpuBackend();
  const uint64_t seed = Seed(1);
  for (uint64_t s = seed; s < seed + 100 && !HasFailure(); ++s) {
    const ScenarioOptions options = RandomScenario(s);
    const CacheBytes here = RunScenario(*backend_, options, s);
    EXPECT_TRUE(here == RunScenario(*cpu, options, s)) << "scenario " << s;
  }
}

TEST_P(BackendTest, ALongSequenceOfLargeCalls) {
  ScenarioOptions options;
  options.dim = 128;
  options.blocks = 37;
  options.rows = 4000;
  options.steps = 60;
  options.most_ids = 3000;
  const uint64_t seed = Seed(1);
  for (const uint32_t unknown_one_in : {0, 5}) {
    options.unknown_one_in = unknown_one_in;
    const CacheBytes here = RunScenario(*backend_, options, seed);
    EXPECT_TRUE(here == RunScenario(*kernels::MakeCpuBackend(), options, seed));
  }
}

INSTANTIATE_TEST_SUITE_P(, BackendTest, ::testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace edo::test
