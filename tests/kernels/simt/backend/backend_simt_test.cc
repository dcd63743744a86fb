// The CUDA kernels on the executor through backend_suite.h: small calls under 20 seeds of every
// policy in the check build (which also reports races, bounds and unwritten memory), large ones in
// the fast build. Each schedule draws its own codecs, dimensions, grids and rows a warp.
#include <gtest/gtest.h>

#include "kernels/cuda/simt_backend.h"
#include "tests/kernels/backend_suite.h"
#include "tests/kernels/simt/schedules.h"
#include "tests/support/test_util.h"

namespace edo::test {
namespace {

using kernels::MakeSimtBackend;
using kernels::RowCodec;
using kernels::SimtLaunchShape;
using simt::Policy;

// Small grids make blocks go round; 8, 16 and 32 rows a warp are all legal.
SimtLaunchShape ShapeFor(uint64_t seed) {
  return {.most_blocks = seed % 3 == 0   ? 1u
                         : seed % 3 == 1 ? 2u
                                         : 8192u,
          .rows_a_warp = std::vector<uint32_t>{0, 8, 16, 32}[seed % 4]};
}

// Runs `check(backend, seed)` under each schedule, until one fails.
template <class Check>
void UnderSchedules(const std::vector<simt::Config>& schedules, Check check) {
  for (simt::Config config : schedules) {
    SCOPED_TRACE(ReplayText(config));
    config.max_switches = uint64_t{1} << 28;
    config.resident_blocks = 1 + static_cast<int>(config.seed % 5);
    simt::Configure(config);
    const auto backend = MakeSimtBackend(ShapeFor(config.seed));
    check(*backend, config.seed);
    const std::string report = simt::TakeReport().text;
    EXPECT_EQ(report, "");
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SimtBackend, MemoryStreamsAndCopies) {
  UnderSchedules(Schedules(AllPolicies(), 3),
                 [](kernels::Backend& backend, uint64_t) { CheckPlumbing(backend); });
}

TEST(SimtBackend, AnySequenceLeavesTheCpusBytes) {
  const auto cpu = kernels::MakeCpuBackend();
  UnderSchedules(Schedules(AllPolicies()), [&](kernels::Backend& backend, uint64_t seed) {
    for (uint64_t draw = 4 * seed; draw < 4 * seed + 4 && !::testing::Test::HasFailure(); ++draw) {
      const ScenarioOptions options = RandomScenario(draw);
      const CacheBytes here = RunScenario(backend, options, draw);
      EXPECT_TRUE(here == RunScenario(*cpu, options, draw)) << "scenario " << draw;
    }
  });
}

TEST(SimtBackend, Edges) {
  UnderSchedules(Schedules({Policy::kInOrder, Policy::kRandom, Policy::kStarve}, 2),
                 [](kernels::Backend& backend, uint64_t) { CheckEdges(backend); });
}

TEST(SimtBackend, DecodesToTheBit) {
  UnderSchedules(Schedules(AllPolicies()), [](kernels::Backend& backend, uint64_t seed) {
    for (uint64_t i = 0; i < 6; ++i) {
      const uint64_t draw = seed * 7 + i * 5;
      CheckDecoding(backend, kCodecs[draw % kCodecs.size()], kOutTypes[draw % 3],
                    kSuiteDims[draw % kSuiteDims.size()], draw % 2 == 0 ? 0 : 16, draw);
    }
  });
}

TEST(SimtBackend, BagsPoolToTheBit) {
  UnderSchedules(Schedules(AllPolicies()), [](kernels::Backend& backend, uint64_t seed) {
    const uint64_t draw = seed * 3;
    CheckPooling(backend, kCodecs[seed % kCodecs.size()], kOutTypes[draw / 3 % 3],
                 kSuiteDims[draw % kSuiteDims.size()], seed % 2 == 0 ? 0 : 16, seed);
  });
}

TEST(SimtBackend, EveryCodecOutputAndDimensionDecodesToTheBit) {
  UnderSchedules(Schedules({Policy::kInOrder, Policy::kRandom, Policy::kStarve}, 1),
                 [](kernels::Backend& backend, uint64_t seed) { CheckAllDecoding(backend, seed); });
}

TEST(SimtBackend, PartsOfEveryShapeDecodeAndPoolToTheBit) {
  UnderSchedules(
      Schedules({Policy::kRandom, Policy::kStarve}, 1),
      [](kernels::Backend& backend, uint64_t seed) { CheckShapesOfParts(backend, seed); });
}

TEST(SimtBackend, EveryCodecAndDimensionPoolsToTheBit) {
  UnderSchedules(Schedules({Policy::kInOrder, Policy::kStarve}, 3), [](kernels::Backend& backend,
                                                                       uint64_t seed) {
    for (const RowCodec codec : kCodecs) {
      for (const uint32_t dim : kSuiteDims) {
        const uint64_t draw = seed + dim * 4 + static_cast<uint64_t>(codec);
        CheckPooling(backend, codec, kOutTypes[draw % 3], dim, draw % 2 == 0 ? 0 : 32, draw);
      }
    }
  });
}

TEST(SimtBackend, ALongSequenceOfLargeCalls) {
  if (simt::IsCheckBuild()) GTEST_SKIP() << "large calls run in the fast build";
  ScenarioOptions options;
  options.dim = 128;
  options.blocks = 37;
  options.rows = 4000;
  options.steps = 40;
  options.most_ids = 3000;
  options.unknown_one_in = 5;
  UnderSchedules(Schedules({Policy::kInOrder, Policy::kRandom, Policy::kStarve}, 1),
                 [&](kernels::Backend& backend, uint64_t seed) {
                   const CacheBytes here = RunScenario(backend, options, seed);
                   EXPECT_TRUE(here == RunScenario(*kernels::MakeCpuBackend(), options, seed));
                 });
}

}  // namespace
}  // namespace edo::test
