// The CPU backend: kernels run in the caller's thread and are done when they return; streams and
// events are names only.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/backend.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels {
namespace {

// Anonymous mappings: pages hold zeros and cost nothing before they are touched, so a cache may be
// made as large as its budget at once. Huge pages save most of the misses of the TLB.
Result<void*> Map(uint64_t bytes) {
  constexpr uint64_t kHugePage = uint64_t{2} << 20;
  void* const memory = mmap(nullptr, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Status::NoSpace("cannot get " + std::to_string(bytes) +
                           " bytes of memory: " + std::strerror(errno));
  }
  if (bytes >= kHugePage) (void)madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(std::shared_ptr<Backend> pinned_by) : pinned_by_(std::move(pinned_by)) {}

  std::string_view name() const override { return "cpu"; }
  std::string device() const override {
    return std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " processors";
  }
  bool synchronous() const override { return true; }

  Result<void*> Allocate(uint64_t bytes) override {
    if (pinned_by_ == nullptr) return Map(bytes);
    EDO_ASSIGN_OR_RETURN(void* const memory, pinned_by_->AllocatePinned(bytes));
    if (bytes > 0) std::memset(memory, 0, bytes);
    return memory;
  }
  void Free(void* memory, uint64_t bytes) override {
    if (memory == nullptr) return;
    if (pinned_by_ != nullptr) return pinned_by_->FreePinned(memory, bytes);
    Unmap(memory, bytes);
  }
  Result<void*> AllocatePinned(uint64_t bytes) override { return Map(bytes); }
  void FreePinned(void* memory, uint64_t bytes) override {
    if (memory != nullptr) Unmap(memory, bytes);
  }
  uint64_t FreeBytes() const override {
    return static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }

  Result<Stream> CreateStream() override { return Stream{}; }
  void DestroyStream(Stream /*stream*/) override {}
  Result<Event> CreateEvent() override { return Event{}; }
  void DestroyEvent(Event /*event*/) override {}
  Status Record(Event /*event*/, Stream /*stream*/) override { return Status::Ok(); }
  Status WaitFor(Stream /*stream*/, Event /*event*/) override { return Status::Ok(); }
  Result<bool> IsDone(Event /*event*/) override { return true; }
  Status Synchronize(Event /*event*/) override { return Status::Ok(); }
  Status Synchronize(Stream /*stream*/) override { return Status::Ok(); }

  Status CopyToDevice(void* device, const void* host, uint64_t bytes, Stream) override {
    return Copy(device, host, bytes);
  }
  Status CopyToHost(void* host, const void* device, uint64_t bytes, Stream) override {
    return Copy(host, device, bytes);
  }
  Status Zero(void* device, uint64_t bytes, Stream) override {
    if (bytes > 0) std::memset(device, 0, bytes);
    return Status::Ok();
  }

  Status ProbeGather(const ProbeGatherArgs& args, Stream) override {
    cpu::ProbeGather(args);
    return Status::Ok();
  }
  Status ProbePool(const ProbePoolArgs& args, Stream) override {
    cpu::ProbePool(args);
    return Status::Ok();
  }
  Status Pool(const PoolArgs& args, Stream) override {
    cpu::Pool(args);
    return Status::Ok();
  }
  Status Gather(const GatherArgs& args, Stream) override {
    cpu::Gather(args);
    return Status::Ok();
  }
  Status ChooseSlots(const FillArgs& args, Stream) override {
    cpu::ChooseSlots(args);
    return Status::Ok();
  }
  Status WriteSlots(const FillArgs& args, Stream) override {
    cpu::WriteSlots(args);
    return Status::Ok();
  }
  Status PublishSlots(const FillArgs& args, Stream) override {
    cpu::PublishSlots(args);
    return Status::Ok();
  }
  Status InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last, Stream) override {
    cpu::InvalidateRange(blocks, first, last);
    return Status::Ok();
  }
  Status Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count,
                    Stream) override {
    cpu::Invalidate(blocks, positions, count);
    return Status::Ok();
  }
  Status Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
             uint8_t* done, Stream) override {
    cpu::Pin(blocks, positions, count, delta, done);
    return Status::Ok();
  }
  Status Foresee(const BlockView& blocks, const uint64_t* positions, const uint32_t* next_use,
                 uint32_t count, Stream) override {
    cpu::Foresee(blocks, positions, next_use, count);
    return Status::Ok();
  }
  Status AgeScores(const BlockView& blocks, uint32_t clock, Stream) override {
    cpu::AgeScores(blocks, clock);
    return Status::Ok();
  }

 private:
  static void Unmap(void* memory, uint64_t bytes) { munmap(memory, bytes == 0 ? 1 : bytes); }
  static Status Copy(void* to, const void* from, uint64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return Status::Ok();
  }

  const std::shared_ptr<Backend> pinned_by_;  // null: ordinary memory
};

}  // namespace

std::shared_ptr<Backend> MakeCpuBackend(std::shared_ptr<Backend> pinned_by) {
  return std::make_shared<CpuBackend>(std::move(pinned_by));
}

}  // namespace edo::kernels
