// The runtime calls that a host-side backend makes, portable between CUDA and the executor of
// kernels/simt: the CUDA runtime under nvcc, kernels/simt/runtime.h otherwise. Functions return 0
// or an error for ErrorText(). Safe from any thread, as CUDA's are.
#pragma once

#include "kernels/cuda/dialect.h"

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>
#include <string>

namespace edo::gpu {

using EventHandle = cudaEvent_t;
enum class Copy : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

// 0 also where there is no driver.
inline int DeviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
// Why no device can be used; empty when one can.
inline std::string WhyNoDevice() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  int driver = 0;
  cudaDriverGetVersion(&driver);  // stays 0 where there is none
  const auto version = [](int v) {
    return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
  };
  if (driver == 0) return "no NVIDIA driver was found";
  if (error == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is too old: it offers CUDA " + version(driver) +
           ", this build needs CUDA " + version(CUDART_VERSION) +
           (CUDART_VERSION >= 13000 ? " (driver 580 or later)" : "");
  }
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "no CUDA device was found";
  return cudaGetErrorString(error);
}
// The current device, in words.
inline std::string DeviceName() {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    return "unknown device";
  }
  return properties.name;
}
inline size_t FreeBytes() {
  size_t free_bytes = 0, all_bytes = 0;
  return cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess ? free_bytes : 0;
}
inline bool IsOutOfMemory(int error) { return error == cudaErrorMemoryAllocation; }
inline std::string ErrorText(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

// Device memory; `tag` names it in the executor's reports. Free waits for the device.
inline int Malloc(void** p, size_t bytes, const char* /*tag*/) { return cudaMalloc(p, bytes); }
inline int Free(void* p) { return cudaFree(p); }
// Pinned host memory: copies read and write it when they run, and kernels may use it.
inline int MallocHost(void** p, size_t bytes) { return cudaMallocHost(p, bytes); }
inline int FreeHost(void* p) { return cudaFreeHost(p); }

// Streams do not wait for the default stream.
inline int StreamCreate(StreamHandle* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
// Finishes its work.
inline int StreamDestroy(StreamHandle stream) {
  const cudaError_t error = cudaStreamSynchronize(stream);
  const cudaError_t destroyed = cudaStreamDestroy(stream);
  return error != cudaSuccess ? error : destroyed;
}
inline int StreamSync(StreamHandle stream) { return cudaStreamSynchronize(stream); }
// A stream that the caller of the library owns, and back.
inline StreamHandle AdoptStream(void* raw) { return static_cast<StreamHandle>(raw); }
inline void* RawStream(StreamHandle stream) { return stream; }

inline int EventCreate(EventHandle* event) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
inline int EventDestroy(EventHandle event) { return cudaEventDestroy(event); }
inline int EventRecord(EventHandle event, StreamHandle stream) {
  return cudaEventRecord(event, stream);
}
inline int StreamWaitEvent(StreamHandle stream, EventHandle event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
inline int EventQuery(EventHandle event, bool* done) {
  const cudaError_t state = cudaEventQuery(event);
  *done = state == cudaSuccess;
  if (state != cudaErrorNotReady) return state;
  cudaGetLastError();  // "not ready" is no error to find later
  return 0;
}
inline int EventSync(EventHandle event) { return cudaEventSynchronize(event); }
inline int DeviceSync() { return cudaDeviceSynchronize(); }

// Pageable host memory is copied within the call, pinned memory when the stream gets there.
inline int CopyAsync(void* to, const void* from, size_t bytes, Copy kind, StreamHandle stream) {
  constexpr cudaMemcpyKind kKinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                       cudaMemcpyDeviceToDevice};
  return cudaMemcpyAsync(to, from, bytes, kKinds[static_cast<size_t>(kind)], stream);
}
inline int MemsetAsync(void* p, int value, size_t bytes, StreamHandle stream) {
  return cudaMemsetAsync(p, value, bytes, stream);
}

}  // namespace edo::gpu

#else
#include "kernels/simt/runtime.h"
#endif
