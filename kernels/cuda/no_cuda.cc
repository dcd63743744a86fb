// Stands for the CUDA backend in builds without nvcc.
#include "kernels/backend.h"

namespace edo::kernels {

Result<std::shared_ptr<Backend>> MakeCudaBackend() {
  return Status::Unsupported("this build has no CUDA (nvcc was not found when it was configured, or EDO_CUDA=OFF)");
}

}  // namespace edo::kernels
