// gpu::Launch on the executor: packs the arguments, as kernel parameters are copied at the launch.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/simt/dialect_types.h"
#include "kernels/simt/runtime.h"

namespace edo::gpu {

// Enqueues kernel<<<grid, block, dynamic_shared_bytes, stream>>>(arguments...).
template <class... Parameters, class... Arguments>
int Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t dynamic_shared_bytes,
           StreamHandle stream, Arguments&&... arguments) {
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<std::decay_t<Parameters>...> arguments;
  };
  simt::KernelLaunch launch;
  launch.invoke = [](const void* p) {
    auto* call = static_cast<const Call*>(p);
    std::apply(call->kernel, call->arguments);
  };
  launch.arguments = std::make_shared<const Call>(
      Call{kernel, {static_cast<Parameters>(std::forward<Arguments>(arguments))...}});
  launch.argument_bytes = sizeof(Call);
  launch.function = reinterpret_cast<const void*>(kernel);
  launch.grid = {grid.x, grid.y, grid.z};
  launch.block = {block.x, block.y, block.z};
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  return simt::EnqueueKernel(stream, std::move(launch));
}

}  // namespace edo::gpu
