#include "engine/backends.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "edo/store.h"

namespace edo {
namespace engine {
namespace {

// A driver is asked once; finding no device takes it up to a second.
const Result<std::shared_ptr<kernels::Backend>>& Cuda() {
  static const Result<std::shared_ptr<kernels::Backend>> cuda = kernels::MakeCudaBackend();
  return cuda;
}

std::map<std::string, BackendMaker, std::less<>>& TestBackends() {
  static std::map<std::string, BackendMaker, std::less<>> makers;
  return makers;
}

}  // namespace

void AddBackendForTests(std::string name, BackendMaker maker) {
  TestBackends()[std::move(name)] = std::move(maker);
}

Result<std::shared_ptr<kernels::Backend>> ChooseBackend(
    BackendKind kind, const std::shared_ptr<kernels::Backend>& cpu) {
  if (kind == BackendKind::kCpu) return cpu;
  if (kind == BackendKind::kCuda) {
    if (!Cuda().ok()) return Cuda().status().WithContext("backend cuda");
    return Cuda();
  }
  const char* const text = std::getenv("EDO_BACKEND");
  const std::string_view word = text == nullptr ? "" : text;
  if (word == "cpu") return cpu;
  if (word == "cuda") {
    if (!Cuda().ok()) return Cuda().status().WithContext("EDO_BACKEND=cuda");
    return Cuda();
  }
  if (word.empty() || word == "auto") {
    if (Cuda().ok()) return Cuda();
    return cpu;
  }
  const auto found = TestBackends().find(word);
  if (found != TestBackends().end()) return found->second();
  return Status::InvalidArgument("EDO_BACKEND='" + std::string(word) +
                                 "'; allowed are cpu, cuda and auto");
}

Result<std::shared_ptr<kernels::Backend>> DeviceOf(const StoreContext& context) {
  const std::lock_guard lock(context.device_mutex);
  if (context.device == nullptr) {
    EDO_ASSIGN_OR_RETURN(context.device, ChooseBackend(context.options.backend, context.cpu));
  }
  return context.device;
}

Result<std::shared_ptr<DeviceBuffers>> DeviceBuffersOf(const StoreContext& context) {
  EDO_ASSIGN_OR_RETURN(auto backend, DeviceOf(context));
  const std::lock_guard lock(context.device_mutex);
  if (context.device_buffers == nullptr) {
    context.device_buffers = std::make_shared<DeviceBuffers>(std::move(backend));
  }
  return context.device_buffers;
}

Result<kernels::Stream> CopyStreamOf(const StoreContext& context) {
  EDO_ASSIGN_OR_RETURN(auto backend, DeviceOf(context));
  const std::lock_guard lock(context.device_mutex);
  if (context.copy_stream.handle == nullptr) {
    EDO_ASSIGN_OR_RETURN(context.copy_stream, backend->CreateStream());
  }
  return context.copy_stream;
}

StoreContext::~StoreContext() {
  if (prefetcher) prefetcher->Close();
  if (copy_stream.handle != nullptr) device->DestroyStream(copy_stream);
}

}  // namespace engine

std::vector<BackendInfo> Backends() {
  std::vector<BackendInfo> infos;
  const auto cpu = kernels::MakeCpuBackend();
  infos.push_back({"cpu", true, cpu->device(), cpu->FreeBytes()});
  const auto& cuda = engine::Cuda();
  if (cuda.ok()) {
    infos.push_back({"cuda", true, (*cuda)->device(), (*cuda)->FreeBytes()});
  } else {
    infos.push_back({"cuda", false, std::string(cuda.status().message()), 0});
  }
  return infos;
}

}  // namespace edo
