// Schedules that the executor's tests run under. EDO_TEST_SEED=N starts the seeds at N, so that the
// first schedule is the one that a failure names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simt/config.h"
#include "kernels/simt/runtime.h"
#include "tests/support/test_util.h"

namespace edo::test {

inline constexpr int kSeeds = 20;

inline std::string ReplayText(const simt::Config& config) {
  return "EDO_TEST_SEED=" + std::to_string(config.seed) + " policy " +
         simt::PolicyName(config.policy) + " resident blocks " +
         std::to_string(config.resident_blocks) + " preempt 1 in " +
         std::to_string(config.preempt_one_in);
}

// `seeds` seeds for each policy; the number of resident blocks and pre-emption follow the seed.
inline std::vector<simt::Config> Schedules(const std::vector<simt::Policy>& policies,
                                           int seeds = kSeeds) {
  std::vector<simt::Config> schedules;
  const uint64_t first = Seed(1);
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(seeds); ++seed) {
    for (const simt::Policy policy : policies) {
      simt::Config config;
      config.seed = seed;
      config.policy = policy;
      config.preempt_one_in = seed % 2 == 0 ? 64 : 0;
      config.max_switches = 400'000;
      schedules.push_back(config);
    }
  }
  return schedules;
}

inline std::vector<simt::Policy> AllPolicies() {
  return {simt::Policy::kInOrder, simt::Policy::kReverse, simt::Policy::kRandom,
          simt::Policy::kStarve};
}

}  // namespace edo::test
