// DeviceBuffers: pairs of device and pinned host memory for lookups on device, used again and
// again, so that a lookup whose rows are all cached allocates nothing. Safe from many threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "edo/status.h"
#include "kernels/backend.h"

namespace edo::engine {

class DeviceBuffers {
 public:
  // Memory of one lookup at a time. Whoever gives it back has waited for the work that uses it.
  struct Buffer {
    std::byte* device = nullptr;
    std::byte* pinned = nullptr;
    uint64_t bytes = 0;         // of pinned memory
    uint64_t device_bytes = 0;  // at least as many
    kernels::Event ready;       // free to be recorded by the owner
    kernels::Event done;
  };

  explicit DeviceBuffers(std::shared_ptr<kernels::Backend> backend)
      : backend_(std::move(backend)) {}
  ~DeviceBuffers() {
    for (auto& buffer : free_) Release(*buffer);
  }
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  kernels::Backend& backend() const { return *backend_; }

  // At least `bytes` of each kind, and `device_only` more on the device behind them.
  Result<std::unique_ptr<Buffer>> Take(uint64_t bytes, uint64_t device_only) {
    const uint64_t device_bytes = bytes + device_only;
    {
      const std::lock_guard lock(mutex_);
      // The smallest that is large enough: a small lookup shall not occupy a large one.
      auto found = free_.end();
      for (auto it = free_.begin(); it != free_.end(); ++it) {
        if ((*it)->bytes < bytes || (*it)->device_bytes < device_bytes) continue;
        if (found == free_.end() || (*it)->device_bytes < (*found)->device_bytes) found = it;
      }
      if (found != free_.end()) {
        kept_bytes_ -= (*found)->bytes + (*found)->device_bytes;
        auto buffer = std::move(*found);
        free_.erase(found);
        return buffer;
      }
    }
    auto buffer = std::make_unique<Buffer>();
    buffer->bytes = 64 << 10;
    while (buffer->bytes < bytes) buffer->bytes *= 2;
    buffer->device_bytes = buffer->bytes;
    while (buffer->device_bytes < device_bytes) buffer->device_bytes *= 2;
    const Status s = Fill(buffer.get());
    if (!s.ok()) {
      Release(*buffer);
      return s.WithContext("buffers of a lookup on device");
    }
    return buffer;
  }

  void Give(std::unique_ptr<Buffer> buffer) {
    constexpr uint64_t kMostKept = uint64_t{128} << 20;  // beyond that, what was needed once goes
    const uint64_t bytes = buffer->bytes + buffer->device_bytes;
    {
      const std::lock_guard lock(mutex_);
      if (kept_bytes_ + bytes <= kMostKept) {
        kept_bytes_ += bytes;
        free_.push_back(std::move(buffer));
        return;
      }
    }
    Release(*buffer);
  }

 private:
  Status Fill(Buffer* buffer) {
    EDO_ASSIGN_OR_RETURN(void* const device, backend_->Allocate(buffer->device_bytes));
    buffer->device = static_cast<std::byte*>(device);
    EDO_ASSIGN_OR_RETURN(void* const pinned, backend_->AllocatePinned(buffer->bytes));
    buffer->pinned = static_cast<std::byte*>(pinned);
    EDO_ASSIGN_OR_RETURN(buffer->ready, backend_->CreateEvent());
    EDO_ASSIGN_OR_RETURN(buffer->done, backend_->CreateEvent());
    return Status::Ok();
  }
  void Release(Buffer& buffer) {
    if (buffer.device != nullptr) backend_->Free(buffer.device, buffer.device_bytes);
    if (buffer.pinned != nullptr) backend_->FreePinned(buffer.pinned, buffer.bytes);
    backend_->DestroyEvent(buffer.ready);
    backend_->DestroyEvent(buffer.done);
  }

  const std::shared_ptr<kernels::Backend> backend_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> free_;  // guarded by mutex_, as is the next
  uint64_t kept_bytes_ = 0;
};

}  // namespace edo::engine
