// The backend of a GPU over the portable runtime (runtime.h): memory, streams, events, and the
// kernels of this folder. Compiled by nvcc it is MakeCudaBackend(); compiled for the executor,
// which the tests do, it is MakeSimtBackend(), the same code to the line but for those two
// functions.
#include <utility>

#include "kernels/backend.h"
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/runtime.h"
#if !defined(__CUDACC__)
#include "kernels/cuda/simt_backend.h"
#endif

namespace edo::kernels {
namespace {

namespace bodies = GPU_BACKEND_NS;

class GpuBackend final : public Backend {
 public:
  GpuBackend(std::string_view name, const bodies::LaunchShape& shape)
      : name_(name), device_(gpu::DeviceName()), shape_(shape) {}

  std::string_view name() const override { return name_; }
  std::string device() const override { return device_; }
  bool synchronous() const override { return false; }

  Result<void*> Allocate(uint64_t bytes) override {
    void* memory = nullptr;
    EDO_RETURN_IF_ERROR(Allocated(gpu::Malloc(&memory, AtLeastOne(bytes), "device memory"), bytes));
    // Streams do not wait for the default stream, so the zeros must be there before this returns.
    const int error = gpu::MemsetAsync(memory, 0, AtLeastOne(bytes), nullptr);
    const Status s = Checked("zeroing memory", error != 0 ? error : gpu::StreamSync(nullptr));
    if (s.ok()) return memory;
    (void)gpu::Free(memory);
    return s;
  }
  void Free(void* memory, uint64_t /*bytes*/) override {
    if (memory != nullptr) (void)gpu::Free(memory);
  }
  Result<void*> AllocatePinned(uint64_t bytes) override {
    void* memory = nullptr;
    EDO_RETURN_IF_ERROR(Allocated(gpu::MallocHost(&memory, AtLeastOne(bytes)), bytes));
    return memory;
  }
  void FreePinned(void* memory, uint64_t /*bytes*/) override {
    if (memory != nullptr) (void)gpu::FreeHost(memory);
  }
  uint64_t FreeBytes() const override { return gpu::FreeBytes(); }

  Result<Stream> CreateStream() override {
    gpu::StreamHandle stream{};
    EDO_RETURN_IF_ERROR(Checked("creating a stream", gpu::StreamCreate(&stream)));
    return Stream{gpu::RawStream(stream)};
  }
  void DestroyStream(Stream stream) override {
    if (stream.handle != nullptr) (void)gpu::StreamDestroy(To(stream));
  }
  Result<Event> CreateEvent() override {
    gpu::EventHandle event{};
    EDO_RETURN_IF_ERROR(Checked("creating an event", gpu::EventCreate(&event)));
    return Event{event};
  }
  void DestroyEvent(Event event) override {
    if (event.handle != nullptr) (void)gpu::EventDestroy(To(event));
  }
  Status Record(Event event, Stream stream) override {
    return Checked("recording an event", gpu::EventRecord(To(event), To(stream)));
  }
  Status WaitFor(Stream stream, Event event) override {
    return Checked("waiting for an event", gpu::StreamWaitEvent(To(stream), To(event)));
  }
  Result<bool> IsDone(Event event) override {
    bool done = false;
    EDO_RETURN_IF_ERROR(Checked("asking for an event", gpu::EventQuery(To(event), &done)));
    return done;
  }
  Status Synchronize(Event event) override {
    return Checked("waiting for an event", gpu::EventSync(To(event)));
  }
  Status Synchronize(Stream stream) override {
    return Checked("waiting for a stream", gpu::StreamSync(To(stream)));
  }

  Status CopyToDevice(void* device, const void* host, uint64_t bytes, Stream stream) override {
    if (bytes == 0) return Status::Ok();
    return Checked("copying to the device",
                   gpu::CopyAsync(device, host, bytes, gpu::Copy::kHostToDevice, To(stream)));
  }
  Status CopyToHost(void* host, const void* device, uint64_t bytes, Stream stream) override {
    if (bytes == 0) return Status::Ok();
    return Checked("copying to the host",
                   gpu::CopyAsync(host, device, bytes, gpu::Copy::kDeviceToHost, To(stream)));
  }
  Status Zero(void* device, uint64_t bytes, Stream stream) override {
    if (bytes == 0) return Status::Ok();
    return Checked("zeroing memory", gpu::MemsetAsync(device, 0, bytes, To(stream)));
  }

  Status ProbeGather(const ProbeGatherArgs& args, Stream stream) override {
    return Checked("ProbeGather", bodies::ProbeGather(args, shape_, To(stream)));
  }
  Status ProbePool(const ProbePoolArgs& args, Stream stream) override {
    return Checked("ProbePool", bodies::ProbePool(args, shape_, To(stream)));
  }
  Status Pool(const PoolArgs& args, Stream stream) override {
    return Checked("Pool", bodies::Pool(args, shape_, To(stream)));
  }
  Status Gather(const GatherArgs& args, Stream stream) override {
    return Checked("Gather", bodies::Gather(args, shape_, To(stream)));
  }
  Status ChooseSlots(const FillArgs& args, Stream stream) override {
    return Checked("ChooseSlots", bodies::ChooseSlots(args, shape_, To(stream)));
  }
  Status WriteSlots(const FillArgs& args, Stream stream) override {
    return Checked("WriteSlots", bodies::WriteSlots(args, shape_, To(stream)));
  }
  Status PublishSlots(const FillArgs& args, Stream stream) override {
    return Checked("PublishSlots", bodies::PublishSlots(args, shape_, To(stream)));
  }
  Status InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last,
                         Stream stream) override {
    return Checked("InvalidateRange",
                   bodies::InvalidateRange(blocks, first, last, shape_, To(stream)));
  }
  Status Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count,
                    Stream stream) override {
    return Checked("Invalidate", bodies::Invalidate(blocks, positions, count, shape_, To(stream)));
  }
  Status Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
             uint8_t* done, Stream stream) override {
    return Checked("Pin", bodies::Pin(blocks, positions, count, delta, done, shape_, To(stream)));
  }
  Status Foresee(const BlockView& blocks, const uint64_t* positions, const uint32_t* next_use,
                 uint32_t count, Stream stream) override {
    return Checked("Foresee",
                   bodies::Foresee(blocks, positions, next_use, count, shape_, To(stream)));
  }
  Status AgeScores(const BlockView& blocks, uint32_t clock, Stream stream) override {
    return Checked("AgeScores", bodies::AgeScores(blocks, clock, shape_, To(stream)));
  }

 private:
  static gpu::StreamHandle To(Stream stream) { return gpu::AdoptStream(stream.handle); }
  static gpu::EventHandle To(Event event) { return static_cast<gpu::EventHandle>(event.handle); }
  static size_t AtLeastOne(uint64_t bytes) { return bytes == 0 ? 1 : bytes; }
  Status Checked(const char* what, int error) const {
    if (error == 0) return Status::Ok();
    return Status::IoError(std::string(name_) + ": " + what + ": " + gpu::ErrorText(error));
  }
  Status Allocated(int error, uint64_t bytes) const {
    if (error == 0 || !gpu::IsOutOfMemory(error)) return Checked("allocating memory", error);
    return Status::NoSpace(std::string(name_) + ": cannot get " + std::to_string(bytes) +
                           " bytes of memory; " + std::to_string(FreeBytes()) + " are free");
  }

  const std::string_view name_;
  const std::string device_;
  const bodies::LaunchShape shape_;
};

}  // namespace

#if defined(__CUDACC__)
Result<std::shared_ptr<Backend>> MakeCudaBackend() {
  const std::string why = gpu::WhyNoDevice();
  if (!why.empty()) return Status::Unsupported("CUDA: " + why);
  return std::shared_ptr<Backend>(std::make_shared<GpuBackend>("cuda", bodies::LaunchShape{}));
}
#else
std::shared_ptr<Backend> MakeSimtBackend(const SimtLaunchShape& shape) {
  return std::make_shared<GpuBackend>("simt",
                                      bodies::LaunchShape{shape.most_blocks, shape.rows_a_warp});
}
#endif

}  // namespace edo::kernels
