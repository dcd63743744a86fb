// The CUDA backend on the executor, for tests: the code of kernels/cuda, compiled for the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.h"

namespace edo::kernels {

// As LaunchShape in kernels/cuda/bodies.h. Results do not depend on it.
struct SimtLaunchShape {
  uint32_t most_blocks = 8192;
  uint32_t rows_a_warp = 0;
};
std::shared_ptr<Backend> MakeSimtBackend(const SimtLaunchShape& shape = {});

}  // namespace edo::kernels
