// Lookups whose output lies in device memory: the probe of the device's cache is enqueued at once,
// what it lacks is read, copied up and decoded by Finish. The contract is in edo/table.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "edo/table.h"
#include "engine/device_buffers.h"
#include "engine/table_impl.h"

namespace edo::engine {

// What to look up: rows by number on the device, or keys that the host has resolved.
struct DeviceQuery {
  uint64_t count = 0;
  LookupOptions options{};
  void* out = nullptr;
  void* stream = nullptr;
  const uint64_t* device_rows = nullptr;  // (count); null: `keys` has them
  Resolved keys{};
  std::optional<DeviceBags> device_bags{};  // pooled, offsets on the device
  std::optional<Bags> host_bags{};          // pooled, offsets on the host; checked already
};

// Enqueues the probe. `table` must outlive the result.
Result<std::unique_ptr<DeviceLookup>> StartDeviceLookup(const TableImpl* table,
                                                        std::shared_ptr<DeviceBuffers> buffers,
                                                        DeviceQuery query);

}  // namespace edo::engine
