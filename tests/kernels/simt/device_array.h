// Device memory of a test: allocated and filled, freed at the end, read back as a std::vector.
// Host code for either backend.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/cuda/runtime.h"

namespace edo::test {

template <class T>
class DeviceArray {
 public:
  DeviceArray(const std::vector<T>& values, const char* tag) : count_(values.size()) {
    void* p = nullptr;
    if (const int error = gpu::Malloc(&p, count_ * sizeof(T), tag); error != 0) {
      std::fprintf(stderr, "%s: %s\n", tag, gpu::ErrorText(error).c_str());
      std::abort();
    }
    p_ = static_cast<T*>(p);
    Write(values);
  }
  // Zeros.
  DeviceArray(size_t count, const char* tag) : DeviceArray(std::vector<T>(count), tag) {}
  ~DeviceArray() { gpu::Free(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return p_; }
  void Write(const std::vector<T>& values) {
    gpu::CopyAsync(p_, values.data(), values.size() * sizeof(T), gpu::Copy::kHostToDevice, nullptr);
    gpu::StreamSync(nullptr);
  }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    gpu::CopyAsync(values.data(), p_, count_ * sizeof(T), gpu::Copy::kDeviceToHost, nullptr);
    gpu::StreamSync(nullptr);
    return values;
  }

 private:
  T* p_ = nullptr;
  size_t count_;
};

}  // namespace edo::test
