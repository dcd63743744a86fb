#include "kernels/simt/config.h"

#include <mutex>

#include "kernels/simt/executor.h"
#include "kernels/simt/runtime.h"
#include "kernels/simt/state.h"

namespace edo::simt {

const char* PolicyName(Policy policy) {
  static constexpr const char* kNames[] = {"in-order", "reverse", "random", "starve"};
  return kNames[static_cast<size_t>(policy)];
}

void Configure(const Config& config) {
  std::lock_guard lock(DeviceMutex());
  executor.config = config;
  executor.statistics = Statistics{};
  executor.launches_since_configure = 0;
  SeedStreams(config.seed);
}

Config CurrentConfig() {
  std::lock_guard lock(DeviceMutex());
  return executor.config;
}

Statistics CurrentStatistics() {
  std::lock_guard lock(DeviceMutex());
  return executor.statistics;
}

bool IsCheckBuild() {
#if EDO_SIMT_CHECK
  return true;
#else
  return false;
#endif
}

}  // namespace edo::simt
