#include "kernels/simt/runtime.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/simt/device_memory.h"
#include "kernels/simt/random.h"
#include "kernels/simt/state.h"
#include "kernels/simt/text.h"

namespace edo::gpu {

// Shared with queued work, so that an event may be destroyed while a stream still waits for it.
struct EventState {
  uint64_t recorded = 0;
  uint64_t reached = 0;
};
struct Event {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

struct Work {
  std::function<void()> run;                // may be empty
  std::shared_ptr<const EventState> after;  // null: ready at once
  uint64_t after_record = 0;
};
struct Stream {
  std::deque<Work> queue;
};

namespace {

using simt::Bug;
using simt::DeviceMutex;
using simt::Report;

// Numbers as CUDA's, so that texts and tests need not care.
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidConfiguration = 9;
constexpr int kFirstBug = 700;  // + Bug

constexpr int kNotThereYet = 0xA5;  // fills the target of a device-to-host copy

// All of this is guarded by DeviceMutex().
Stream default_stream;
std::vector<Stream*> streams = {&default_stream};  // in order of creation
Report sticky;
simt::Random random_order;

Stream& Resolve(StreamHandle stream) { return stream != nullptr ? *stream : default_stream; }

int StickyError() {
  return sticky.bug == Bug::kNone ? 0 : kFirstBug + static_cast<int>(sticky.bug);
}

int Stick(Bug bug, const std::string& text) {
  if (sticky.bug == Bug::kNone) sticky = {bug, std::string(simt::BugName(bug)) + ": " + text};
  return StickyError();
}

bool IsReady(const Stream& stream) {
  if (stream.queue.empty()) return false;
  const Work& first = stream.queue.front();
  return first.after == nullptr || first.after->reached >= first.after_record;
}

// Runs the next work of a random stream. False when no stream has any.
bool RunSomething() {
  std::vector<Stream*> ready;
  for (Stream* stream : streams) {
    if (IsReady(*stream)) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  Stream* chosen = ready[random_order.Below(static_cast<uint32_t>(ready.size()))];
  const Work work = std::move(chosen->queue.front());
  chosen->queue.pop_front();
  if (work.run) work.run();
  return true;
}

template <class Condition>
void RunUntil(Condition condition) {
  while (!condition()) {
    // Waits name records that were enqueued before them, so something can always run.
    if (!RunSomething()) {
      std::fprintf(stderr, "simt: streams wait for each other\n");
      std::abort();
    }
  }
}

bool IsIdle() {
  return std::all_of(streams.begin(), streams.end(),
                     [](const Stream* stream) { return stream->queue.empty(); });
}

void Enqueue(StreamHandle stream, Work work) {
  Resolve(stream).queue.push_back(std::move(work));
  if (random_order.OneIn(simt::executor.config.eager_one_in)) RunSomething();
}

// A range of a copy or memset that must be device (or pinned) memory.
bool CheckRange(const char* what, const void* p, size_t bytes) {
  if (bytes == 0 || simt::IsDeviceRange(p, bytes)) return true;
  Stick(simt::IsDeviceRange(p, 1) ? Bug::kOutOfBounds : Bug::kHostMemory,
        simt::Format("%s of %zu bytes: %s", what, bytes, simt::DescribeAddress(p).c_str()));
  return false;
}

int CopyFromPageable(void* to, const void* from, size_t bytes, StreamHandle stream) {
  auto* begin = static_cast<const char*>(from);
  auto staged = std::make_shared<const std::vector<char>>(begin, begin + bytes);
  Enqueue(stream, {.run = [=] {
            std::memcpy(to, staged->data(), bytes);
            simt::MarkWritten(to, bytes);
          }});
  return StickyError();
}

// The target holds a pattern until the copy runs: a host that reads too early sees it. Earlier work
// may still use the target, so the pattern is part of the stream unless everything is idle.
void SpoilTarget(void* to, size_t bytes, StreamHandle stream) {
  if (IsIdle()) {
    std::memset(to, kNotThereYet, bytes);
  } else {
    Resolve(stream).queue.push_back({.run = [=] { std::memset(to, kNotThereYet, bytes); }});
  }
}

}  // namespace

int DeviceCount() { return 1; }
std::string WhyNoDevice() { return ""; }
std::string DeviceName() { return "SIMT executor"; }
size_t FreeBytes() {
  std::lock_guard lock(DeviceMutex());
  return simt::FreshBytes();
}
bool IsOutOfMemory(int error) { return error == kOutOfMemory; }

std::string ErrorText(int error) {
  std::lock_guard lock(DeviceMutex());
  if (error != 0 && error == StickyError()) return sticky.text;
  switch (error) {
    case 0:
      return "no error";
    case kInvalidValue:
      return "invalid argument";
    case kOutOfMemory:
      return "out of memory";
    case kInvalidConfiguration:
      return "invalid configuration argument";
  }
  return error > kFirstBug ? simt::BugName(static_cast<Bug>(error - kFirstBug)) : "unknown error";
}

int Malloc(void** p, size_t bytes, const char* tag) {
  std::lock_guard lock(DeviceMutex());
  *p = simt::DeviceAllocate(bytes, simt::MemoryKind::kDevice, tag);
  return *p != nullptr ? StickyError() : kOutOfMemory;
}

int Free(void* p) {
  std::lock_guard lock(DeviceMutex());
  const int error = DeviceSync();
  simt::DeviceFree(p);
  return error;
}

int MallocHost(void** p, size_t bytes) {
  std::lock_guard lock(DeviceMutex());
  *p = simt::DeviceAllocate(bytes, simt::MemoryKind::kPinnedHost, "pinned host memory");
  if (*p == nullptr) return kOutOfMemory;
  simt::MarkWritten(*p, bytes);  // the host writes it unseen
  return StickyError();
}

int FreeHost(void* p) { return Free(p); }

int StreamCreate(StreamHandle* stream) {
  std::lock_guard lock(DeviceMutex());
  *stream = new Stream;
  streams.push_back(*stream);
  return StickyError();
}

int StreamDestroy(StreamHandle stream) {
  std::lock_guard lock(DeviceMutex());
  const int error = StreamSync(stream);
  std::erase(streams, stream);
  delete stream;
  return error;
}

int StreamSync(StreamHandle stream) {
  std::lock_guard lock(DeviceMutex());
  RunUntil([&] { return Resolve(stream).queue.empty(); });
  return StickyError();
}

StreamHandle AdoptStream(void* raw) {
  std::lock_guard lock(DeviceMutex());
  auto* stream = static_cast<Stream*>(raw);
  assert(stream == nullptr || std::find(streams.begin(), streams.end(), stream) != streams.end());
  return stream;
}

void* RawStream(StreamHandle stream) { return stream; }

int EventCreate(EventHandle* event) {
  *event = new Event;
  return 0;
}

int EventDestroy(EventHandle event) {
  delete event;
  return 0;
}

int EventRecord(EventHandle event, StreamHandle stream) {
  std::lock_guard lock(DeviceMutex());
  const auto state = event->state;
  const uint64_t record = ++state->recorded;
  Enqueue(stream, {.run = [=] { state->reached = std::max(state->reached, record); }});
  return StickyError();
}

int StreamWaitEvent(StreamHandle stream, EventHandle event) {
  std::lock_guard lock(DeviceMutex());
  Enqueue(stream, {.after = event->state, .after_record = event->state->recorded});
  return StickyError();
}

int EventQuery(EventHandle event, bool* done) {
  std::lock_guard lock(DeviceMutex());
  const EventState& state = *event->state;
  for (uint32_t steps = random_order.Below(5); steps > 0 && state.reached < state.recorded;
       --steps) {
    RunSomething();  // time passes
  }
  *done = state.reached >= state.recorded;
  return StickyError();
}

int EventSync(EventHandle event) {
  std::lock_guard lock(DeviceMutex());
  const EventState& state = *event->state;
  RunUntil([&] { return state.reached >= state.recorded; });
  return StickyError();
}

int DeviceSync() {
  std::lock_guard lock(DeviceMutex());
  RunUntil(IsIdle);
  return StickyError();
}

int CopyAsync(void* to, const void* from, size_t bytes, Copy kind, StreamHandle stream) {
  std::lock_guard lock(DeviceMutex());
  const bool from_device = kind != Copy::kHostToDevice;
  const bool to_device = kind != Copy::kDeviceToHost;
  if (from_device && !CheckRange("copy from", from, bytes)) return StickyError();
  if (to_device && !CheckRange("copy to", to, bytes)) return StickyError();
  if (bytes == 0) return StickyError();
  if (!from_device && !simt::IsPinnedHost(from)) return CopyFromPageable(to, from, bytes, stream);
  if (!to_device) SpoilTarget(to, bytes, stream);
  Enqueue(stream, {.run = [=] {
            std::memcpy(to, from, bytes);
            simt::MarkWritten(to, bytes);
          }});
  return !to_device && !simt::IsPinnedHost(to) ? StreamSync(stream) : StickyError();
}

int MemsetAsync(void* p, int value, size_t bytes, StreamHandle stream) {
  std::lock_guard lock(DeviceMutex());
  if (!CheckRange("memset", p, bytes)) return StickyError();
  Enqueue(stream, {.run = [=] {
            std::memset(p, value, bytes);
            simt::MarkWritten(p, bytes);
          }});
  return StickyError();
}

}  // namespace edo::gpu

namespace edo::simt {

int EnqueueKernel(gpu::StreamHandle stream, KernelLaunch launch) {
  std::lock_guard lock(DeviceMutex());
  if (!IsValidShape(launch)) return gpu::kInvalidConfiguration;
  gpu::Enqueue(stream, {.run = [launch = std::move(launch)] {
                 if (gpu::sticky.bug != Bug::kNone)
                   return;  // copies still run after an error, kernels do not
                 gpu::sticky = RunGrid(launch);
               }});
  return gpu::StickyError();
}

Report TakeReport() {
  std::lock_guard lock(DeviceMutex());
  gpu::DeviceSync();
  return std::exchange(gpu::sticky, Report{});
}

void SeedStreams(uint64_t seed) {
  std::lock_guard lock(DeviceMutex());
  gpu::random_order = Random(seed);
}

}  // namespace edo::simt
