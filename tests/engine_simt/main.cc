// The engine's device tests with EDO_BACKEND=simt: the CUDA kernels on the executor.
#include <gtest/gtest.h>

#include "engine/backends.h"
#include "kernels/cuda/simt_backend.h"

int main(int argc, char** argv) {
  edo::engine::AddBackendForTests("simt",
                                  []() -> edo::Result<std::shared_ptr<edo::kernels::Backend>> {
                                    return edo::kernels::MakeSimtBackend();
                                  });
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
