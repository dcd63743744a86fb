// Which backend a store computes with, and which there are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edo/options.h"
#include "edo/status.h"
#include "engine/device_buffers.h"
#include "engine/store_context.h"
#include "kernels/backend.h"

namespace edo::engine {

using BackendMaker = std::function<Result<std::shared_ptr<kernels::Backend>>()>;

// The backend of `kind`. kAuto: the one that the environment variable EDO_BACKEND names ("cpu",
// "cuda", "auto"), else CUDA where there is a device, else `cpu`. kUnsupported when what was forced
// is not there, kInvalidArgument for a word that is none. One CUDA backend serves the process.
Result<std::shared_ptr<kernels::Backend>> ChooseBackend(
    BackendKind kind, const std::shared_ptr<kernels::Backend>& cpu);

// The backend of a store's lookups on device, chosen when it is first needed.
Result<std::shared_ptr<kernels::Backend>> DeviceOf(const StoreContext& context);

// The buffers of those lookups.
Result<std::shared_ptr<DeviceBuffers>> DeviceBuffersOf(const StoreContext& context);

// The stream on which rows read ahead are copied to a store's device, beside the streams of
// lookups.
Result<kernels::Stream> CopyStreamOf(const StoreContext& context);

// For test builds: makes EDO_BACKEND=`name` mean `maker`. Before any store is opened.
void AddBackendForTests(std::string name, BackendMaker maker);

}  // namespace edo::engine
