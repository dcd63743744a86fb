// Device memory: one reserved region with a heap for allocations and pinned host memory, and a
// window of shared memory for every resident block. Freed memory is kept out of use for long, and
// allocations have red zones, so that check builds and AddressSanitizer see stray accesses. New
// memory is filled with 0xFF, freed memory with 0xDD. Callers hold the device (executor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace edo::simt {

inline constexpr size_t kHeapBytes = size_t{1} << 30;
inline constexpr size_t kSharedWindowBytes = 256 * 1024;
inline constexpr size_t kMaxResidentBlocks = 256;
inline constexpr size_t kSharedBytes = kMaxResidentBlocks * kSharedWindowBytes;

// Address space that costs memory only where it is touched. Ends the process when refused.
char* ReserveMemory(size_t bytes);

// The whole region: the heap, then the shared windows. Reserved at the first call.
char* DeviceRegion();
inline constexpr size_t kDeviceRegionBytes = kHeapBytes + kSharedBytes;
inline char* SharedWindow(size_t slot) {
  return DeviceRegion() + kHeapBytes + slot * kSharedWindowBytes;
}

enum class MemoryKind : uint8_t { kDevice, kPinnedHost };
// `tag` names the allocation in reports and must outlive it. Null when the heap is full.
void* DeviceAllocate(size_t bytes, MemoryKind kind, const char* tag);
void DeviceFree(void* p);
// Bytes of the heap that were never handed out.
size_t FreshBytes();
// True when [p, p + bytes) lies in one live allocation.
bool IsDeviceRange(const void* p, size_t bytes);
bool IsPinnedHost(const void* p);
// For check builds: a copy or a memset has written this.
void MarkWritten(const void* p, size_t bytes);

// "device `tags` (1024 bytes) +512", "shared `s` (512 bytes) +516" or "address 0x...".
std::string DescribeAddress(const void* p);

}  // namespace edo::simt
