#include "kernels/simt/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/simt/check.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/shared_memory.h"
#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kRedZoneBytes = 256;
// Until this much has been handed out, freed memory is never used again.
constexpr size_t kQuarantineBytes = kHeapBytes / 2;

struct Allocation {
  size_t bytes;     // as asked for
  size_t capacity;  // rounded up
  MemoryKind kind;
  const char* tag;
  bool live;
};

std::map<const char*, Allocation> allocations;  // by address; freed ones stay until used again
std::multimap<size_t, char*> free_list;         // by capacity
size_t heap_used = 0;

// A freed place that is large enough, or null.
char* TakeFreed(size_t* capacity) {
  const auto found = free_list.lower_bound(*capacity);
  if (found == free_list.end()) return nullptr;
  *capacity = found->first;
  char* p = found->second;
  free_list.erase(found);
  return p;
}

char* TakeFresh(size_t capacity) {
  char* p = DeviceRegion() + heap_used + kRedZoneBytes;
  heap_used += capacity + kRedZoneBytes;
  return p;
}

// The live or freed allocation that `p` lies in or after; end() when there is none.
auto AllocationAt(const char* p) {
  auto next = allocations.upper_bound(p);
  return next == allocations.begin() ? allocations.end() : std::prev(next);
}

}  // namespace

char* ReserveMemory(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    std::perror("simt: mmap");
    std::abort();
  }
  return static_cast<char*>(p);
}

char* DeviceRegion() {
  static char* const region = ReserveMemory(kDeviceRegionBytes);
  return region;
}

void* DeviceAllocate(size_t bytes, MemoryKind kind, const char* tag) {
  if (bytes > kHeapBytes) return nullptr;
  size_t capacity = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  const size_t fresh_end = heap_used + capacity + 2 * kRedZoneBytes;
  char* p = nullptr;
  if (fresh_end > kQuarantineBytes) p = TakeFreed(&capacity);
  if (p == nullptr) {
    if (fresh_end > kHeapBytes) return nullptr;
    p = TakeFresh(capacity);
  }
  allocations[p] = {bytes, capacity, kind, tag, true};
  AsanUnpoison(p, bytes);
  std::memset(p, 0xFF, bytes);  // as floats NaN, as an id an unlikely one
  AsanPoison(p - kRedZoneBytes, kRedZoneBytes);
  AsanPoison(p + bytes, capacity - bytes + kRedZoneBytes);
  check::SetState(p - kRedZoneBytes, kRedZoneBytes, check::kRedZone);
  check::SetState(p, bytes, check::kUnwritten);
  check::SetState(p + bytes, capacity - bytes + kRedZoneBytes, check::kRedZone);
  return p;
}

size_t FreshBytes() { return heap_used < kHeapBytes ? kHeapBytes - heap_used : 0; }

void DeviceFree(void* p) {
  if (p == nullptr) return;
  const auto found = allocations.find(static_cast<char*>(p));
  if (found == allocations.end() || !found->second.live) {
    std::fprintf(stderr, "simt: free of %s, which is not allocated\n", DescribeAddress(p).c_str());
    std::abort();
  }
  Allocation& allocation = found->second;
  allocation.live = false;
  std::memset(p, 0xDD, allocation.bytes);
  check::SetState(p, allocation.bytes, check::kFreed);
  AsanPoison(p, allocation.capacity);
  free_list.emplace(allocation.capacity, static_cast<char*>(p));
}

bool IsDeviceRange(const void* p, size_t bytes) {
  auto* at = static_cast<const char*>(p);
  const auto found = AllocationAt(at);
  return found != allocations.end() && found->second.live &&
         at + bytes <= found->first + found->second.bytes;
}

bool IsPinnedHost(const void* p) {
  const auto found = AllocationAt(static_cast<const char*>(p));
  return found != allocations.end() && found->second.kind == MemoryKind::kPinnedHost &&
         IsDeviceRange(p, 1);
}

void MarkWritten(const void* p, size_t bytes) {
  auto* at = static_cast<const char*>(p);
  if (at >= DeviceRegion() && at < DeviceRegion() + kHeapBytes) {
    check::SetState(p, bytes, check::kWritten);
  }
}

std::string DescribeAddress(const void* p) {
  auto* at = static_cast<const char*>(p);
  const std::string shared = DescribeShared(at);
  if (!shared.empty()) return shared;
  if (at >= DeviceRegion() && at < DeviceRegion() + kHeapBytes && !allocations.empty()) {
    // Past its end, the nearer of two neighbours is the one that was meant.
    const auto next = allocations.upper_bound(at);
    auto best = next == allocations.begin() ? next : std::prev(next);
    if (next != allocations.end() && best != next) {
      const char* end = best->first + best->second.bytes;
      if (at >= end && next->first - at < at - end) best = next;
    }
    return Format("device `%s` (%zu bytes%s) %+td", best->second.tag, best->second.bytes,
                  best->second.live ? "" : ", freed", at - best->first);
  }
  return Format("address %p", p);
}

}  // namespace edo::simt
