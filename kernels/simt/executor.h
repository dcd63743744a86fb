// The executor: runs a grid of lanes on the calling thread, one fiber a lane, interleaved by the
// configured policy. There is one device in a process. Whoever launches, copies or allocates holds
// DeviceMutex(), so host threads take turns; the functions of runtime.h do that by themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "kernels/simt/device_calls.h"
#include "kernels/simt/report.h"

namespace edo::simt {

struct KernelLaunch {
  void (*invoke)(const void* arguments) = nullptr;  // calls the kernel, once a lane
  std::shared_ptr<const void> arguments;            // kernel parameters; lanes may read them
  size_t argument_bytes = 0;
  const void* function = nullptr;  // for its name in reports
  Dim grid;
  Dim block;
  size_t dynamic_shared_bytes = 0;
};

std::recursive_mutex& DeviceMutex();

// True when CUDA would accept the shape of the launch.
bool IsValidShape(const KernelLaunch& launch);

// Runs one grid to its end or to its first bug. The shape must be valid and the device held.
Report RunGrid(const KernelLaunch& launch);

}  // namespace edo::simt
