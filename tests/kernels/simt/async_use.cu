#include "kernels/cuda/runtime.h"
#include "tests/kernels/simt/async_use.h"

namespace edo::test {
namespace {

constexpr unsigned kCount = 256;
constexpr size_t kBytes = kCount * sizeof(int);
constexpr int kRounds = 6;

__global__ void AddAll(int* p, int by) { p[blockIdx.x * blockDim.x + threadIdx.x] += by; }

}  // namespace

bool PipelineIsRight(AsyncMistake mistake) {
  gpu::StreamHandle copies{}, kernels{};
  gpu::EventHandle staged{}, done{};
  gpu::StreamCreate(&copies);
  gpu::StreamCreate(&kernels);
  gpu::EventCreate(&staged);
  gpu::EventCreate(&done);
  void *staging_memory = nullptr, *result_memory = nullptr, *device_memory = nullptr;
  gpu::MallocHost(&staging_memory, kBytes);
  gpu::MallocHost(&result_memory, kBytes);
  gpu::Malloc(&device_memory, kBytes, "rows");
  int* staging = static_cast<int*>(staging_memory);
  int* result = static_cast<int*>(result_memory);
  int* rows = static_cast<int*>(device_memory);

  bool right = true;
  for (int round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kCount; ++i) staging[i] = static_cast<int>(i) * 10 + round;
    if (round > 0) gpu::StreamWaitEvent(copies, done);  // rows may be overwritten
    gpu::CopyAsync(rows, staging, kBytes, gpu::Copy::kHostToDevice, copies);
    gpu::EventRecord(staged, copies);
    if (mistake == AsyncMistake::kStagingReused) {
      for (unsigned i = 0; i < kCount; ++i) staging[i] = -1;
    }
    if (mistake != AsyncMistake::kNoEvent) gpu::StreamWaitEvent(kernels, staged);
    gpu::Launch(AddAll, dim3(kCount / 128), dim3(128), 0, kernels, rows, 5);
    gpu::CopyAsync(result, rows, kBytes, gpu::Copy::kDeviceToHost, kernels);
    gpu::EventRecord(done, kernels);
    if (mistake != AsyncMistake::kResultReadTooSoon) gpu::EventSync(done);
    for (unsigned i = 0; i < kCount; ++i) {
      right = right && result[i] == static_cast<int>(i) * 10 + round + 5;
    }
    gpu::EventSync(staged);
  }

  gpu::StreamDestroy(copies);
  gpu::StreamDestroy(kernels);
  gpu::EventDestroy(staged);
  gpu::EventDestroy(done);
  gpu::FreeHost(staging);
  gpu::FreeHost(result);
  gpu::Free(rows);
  return right;
}

}  // namespace edo::test
