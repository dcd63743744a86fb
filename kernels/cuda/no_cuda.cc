// Stands for the CUDA backend in builds without nvcc.
#include "kernels/backend.h"

namespace edo::kernels {

Result<std::shared_ptr<Backend>> MakeCudaBackend() {
  return Status::Unsupported("this build has no CUDA (nvcc was not found)");
}

}  // namespace edo::kernels
