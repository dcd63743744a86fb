// Streams, events, copies and memory on the executor; kernels/cuda/runtime.h has the same functions
// over the CUDA runtime. A stream is a queue that is worked off when the host waits (or, by chance,
// when something is enqueued), streams among each other in seeded random order, so that a missing
// event, a missing wait or a staging buffer that is reused too early changes results for some
// seeds. Safe from any thread. Functions return 0 or an error for ErrorText().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/simt/executor.h"
#include "kernels/simt/report.h"

namespace edo::gpu {

struct Stream;
struct Event;
using StreamHandle = Stream*;  // null: the default stream
using EventHandle = Event*;
enum class Copy : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

int DeviceCount();          // 1
std::string WhyNoDevice();  // "": there is one
std::string DeviceName();
size_t FreeBytes();  // never handed out yet
bool IsOutOfMemory(int error);
std::string ErrorText(int error);

// Device memory; `tag` names it in reports and must outlive it. Free waits for the device.
int Malloc(void** p, size_t bytes, const char* tag);
int Free(void* p);
// Pinned host memory: copies read and write it when they run, and kernels may use it.
int MallocHost(void** p, size_t bytes);
int FreeHost(void* p);

int StreamCreate(StreamHandle* stream);
int StreamDestroy(StreamHandle stream);  // finishes its work
int StreamSync(StreamHandle stream);
// A stream that the caller of the library owns, and back.
StreamHandle AdoptStream(void* raw);
void* RawStream(StreamHandle stream);

int EventCreate(EventHandle* event);
int EventDestroy(EventHandle event);
int EventRecord(EventHandle event, StreamHandle stream);
int StreamWaitEvent(StreamHandle stream, EventHandle event);
int EventQuery(EventHandle event, bool* done);
int EventSync(EventHandle event);
int DeviceSync();

// Pageable host memory is copied within the call, pinned memory when the stream gets there.
int CopyAsync(void* to, const void* from, size_t bytes, Copy kind, StreamHandle stream);
int MemsetAsync(void* p, int value, size_t bytes, StreamHandle stream);

}  // namespace edo::gpu

namespace edo::simt {

int EnqueueKernel(gpu::StreamHandle stream, KernelLaunch launch);

// After a bug, kernels no longer run and every call returns the error, until this finishes what is
// queued, returns the report (kNone when there was no bug) and clears it.
Report TakeReport();

// Restarts the random order of streams; Configure() does it.
void SeedStreams(uint64_t seed);

}  // namespace edo::simt
