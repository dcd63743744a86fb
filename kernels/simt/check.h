// What the check build verifies at every memory access: that the bytes exist and were written, that
// the access is aligned, and that nothing conflicts with it without being ordered (happens-before).
// The executor reports here what orders lanes; tsan_runtime.cc reports plain accesses. In the fast
// build all of it is nothing. Private to the executor's files; the device is held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simt/state.h"

namespace edo::simt::check {

// What is known of a byte of device memory.
enum ByteState : uint8_t { kNoMemory, kUnwritten, kWritten, kFreed, kRedZone };

struct AccessKind {
  size_t bytes = 0;
  bool writes = false;
  bool atomic = false;
  const void* pc = nullptr;  // return address in the kernel
};

struct AtomicKind {
  size_t bytes = 0;
  bool reads = false;
  bool writes = false;
  const void* pc = nullptr;
};

// One access as the shadow keeps it: who, when, what.
struct Trace {
  uint32_t lane = 0;      // index in the grid
  uint32_t clock = 0;     // the lane's own
  uint32_t launch = 0;    // traces of other launches are void
  uint32_t pc = 0;        // ProgramOffset()
  uint16_t barriers = 0;  // passed by the lane's block, low bits
  uint8_t bytes = 0;      // which of the 8 bytes of the cell, one bit each
  uint8_t writes : 1 = 0;
  uint8_t atomic : 1 = 0;
};

#if EDO_SIMT_CHECK

// Byte states (shadow.cc). SetState takes any range of device memory.
void SetState(const void* p, size_t bytes, ByteState state);
void ForgetShared(char* p, size_t bytes);
// The current lane touches memory. Ends the launch when it must not.
void Access(const void* p, const AccessKind& kind);

// Order (clocks.cc).
void StartLaunch();
void StartLane(Lane* lane);
void OrderWarp(Warp* warp, uint32_t mask);
void OrderBlock(Block* block);
void ReleaseFence(Lane* lane);
void AcquireFence(Lane* lane);
// An access and, with fences, an edge of the order.
void Atomic(void* p, const AtomicKind& kind);
// True when the current lane can rely on `trace` having happened.
bool IsOrdered(const Trace& trace, const Lane& lane);

#else

inline void SetState(const void*, size_t, ByteState) {}
inline void ForgetShared(char*, size_t) {}
inline void Access(const void*, const AccessKind&) {}
inline void StartLaunch() {}
inline void StartLane(Lane*) {}
inline void OrderWarp(Warp*, uint32_t) {}
inline void OrderBlock(Block*) {}
inline void ReleaseFence(Lane*) {}
inline void AcquireFence(Lane*) {}
inline void Atomic(void*, const AtomicKind&) {}

#endif

}  // namespace edo::simt::check
