// Byte states and the shadow (check build). Every 8 bytes of device memory have a cell that keeps
// the last few accesses; a new access is compared with them. Eviction is random, so another seed
// may find a race that one seed loses.
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/simt/check.h"
#include "kernels/simt/device_memory.h"
#include "kernels/simt/text.h"

namespace edo::simt::check {
namespace {

constexpr size_t kCellBytes = 8;
constexpr uint32_t kTraces = 4;
// Freed ranges as large as this give their shadow back to the system.
constexpr size_t kReturnShadowBytes = 64 * 1024;

struct Cell {
  Trace traces[kTraces];
};

struct Shadow {
  Cell* cells;
  uint8_t* states;
};

const Shadow& TheShadow() {
  static const Shadow shadow = {
      reinterpret_cast<Cell*>(ReserveMemory(kDeviceRegionBytes / kCellBytes * sizeof(Cell))),
      reinterpret_cast<uint8_t*>(ReserveMemory(kDeviceRegionBytes))};
  return shadow;
}

size_t DeviceOffset(const void* p) {
  return static_cast<size_t>(static_cast<const char*>(p) - DeviceRegion());
}

using AddressRange = std::pair<const char*, const char*>;

// Code and constants of the program. A kernel may read constants that the compiler put there.
const std::vector<AddressRange>& ReadOnlySegments() {
  static const std::vector<AddressRange> segments = [] {
    std::vector<AddressRange> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& header = info->dlpi_phdr[i];
            if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
            auto* begin = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
            static_cast<std::vector<AddressRange>*>(out)->emplace_back(begin,
                                                                       begin + header.p_memsz);
          }
          return 0;
        },
        &found);
    return found;
  }();
  return segments;
}

std::string DescribeAccess(const AccessKind& kind) {
  return Format("%s%s of %zu bytes at %s", kind.atomic ? "atomic " : "",
                kind.writes ? "write" : "read", kind.bytes,
                SourceLine(ProgramOffset(kind.pc)).c_str());
}

[[noreturn]] void FailAccess(Bug bug, const void* p, const AccessKind& kind) {
  Fail(bug, [&] { return DescribeAccess(kind) + ": " + DescribeAddress(p); });
}

// Outside device memory a kernel may touch its own locals, read its parameters and constants.
void CheckHostAccess(const char* p, const AccessKind& kind) {
  const Lane& lane = *executor.current;
  if (p >= lane.fiber.stack && p < lane.fiber.stack + lane.fiber.stack_bytes) return;
  if (InFiberStacks(p)) FailAccess(Bug::kForeignStack, p, kind);
  if (!kind.writes) {
    auto* arguments = static_cast<const char*>(executor.launch->arguments.get());
    if (p >= arguments && p + kind.bytes <= arguments + executor.launch->argument_bytes) return;
    for (const auto& [begin, end] : ReadOnlySegments()) {
      if (p >= begin && p < end) return;
    }
  }
  FailAccess(Bug::kHostMemory, p, kind);
}

void CheckStates(const void* p, const AccessKind& kind) {
  uint8_t* states = TheShadow().states + DeviceOffset(p);
  for (size_t i = 0; i < kind.bytes; ++i) {
    switch (states[i]) {
      case kWritten:
        break;
      case kUnwritten:
        if (kind.writes) {
          states[i] = kWritten;
        } else if (executor.config.report_uninitialised) {
          FailAccess(Bug::kUninitialised, p, kind);
        }
        break;
      case kFreed:
        FailAccess(Bug::kUseAfterFree, p, kind);
      default:
        FailAccess(Bug::kOutOfBounds, p, kind);
    }
  }
}

std::string DescribeTrace(const Trace& trace) {
  const uint32_t in_block = trace.lane % executor.threads_a_block;
  return Format("%s%s at %s by block %u thread %u (warp %u lane %u)", trace.atomic ? "atomic " : "",
                trace.writes ? "write" : "read", SourceLine(trace.pc).c_str(),
                trace.lane / executor.threads_a_block, in_block, in_block / kWarpLanes,
                in_block % kWarpLanes);
}

[[noreturn]] void FailRace(const Trace& now, const Trace& before, const void* p) {
  Fail(Bug::kRace, [&] {
    return Format("%s\n    conflicts with %s\n    on %s, with no synchronisation between",
                  DescribeTrace(now).c_str(), DescribeTrace(before).c_str(),
                  DescribeAddress(p).c_str());
  });
}

bool Conflicts(const Trace& a, const Trace& b) {
  return (a.bytes & b.bytes) != 0 && (a.writes || b.writes) && !(a.atomic && b.atomic);
}

// Compares an access with those that the cell remembers, and remembers it.
void CheckCell(Cell* cell, const Trace& now, const void* p) {
  const Lane& lane = *executor.current;
  Trace* same = nullptr;        // of this lane and of the same kind
  Trace* unused = nullptr;      // of another launch
  Trace* superseded = nullptr;  // ordered before, and of no byte that this one leaves out
  for (Trace& trace : cell->traces) {
    if (trace.launch != now.launch || trace.bytes == 0) {
      unused = &trace;
      continue;
    }
    if (trace.lane == now.lane) {
      const bool same_kind =
          trace.bytes == now.bytes && trace.writes == now.writes && trace.atomic == now.atomic;
      if (same_kind) same = &trace;
      continue;
    }
    const bool ordered = IsOrdered(trace, lane);
    if (!ordered && Conflicts(trace, now)) FailRace(now, trace, p);
    if (ordered && (trace.bytes & ~now.bytes) == 0) superseded = &trace;
  }
  Trace* place = same != nullptr ? same : unused != nullptr ? unused : superseded;
  if (place == nullptr) place = &cell->traces[executor.random.Below(kTraces)];
  *place = now;
}

void CheckRaces(const char* p, const AccessKind& kind) {
  const Lane& lane = *executor.current;
  Trace now;
  now.lane = lane.index_in_grid;
  now.clock = lane.clock.own;
  now.launch = executor.launch_id;
  now.pc = ProgramOffset(kind.pc);
  now.barriers = static_cast<uint16_t>(lane.clock.barriers);
  now.writes = kind.writes;
  now.atomic = kind.atomic;
  size_t at = DeviceOffset(p);
  const size_t end = at + kind.bytes;
  while (at < end) {
    const size_t first = at % kCellBytes;
    const size_t count = std::min(kCellBytes - first, end - at);
    now.bytes = static_cast<uint8_t>(((1u << count) - 1) << first);
    CheckCell(&TheShadow().cells[at / kCellBytes], now, p);
    at += count;
  }
}

}  // namespace

void SetState(const void* p, size_t bytes, ByteState state) {
  std::memset(TheShadow().states + DeviceOffset(p), state, bytes);
  if (state == kFreed && bytes >= kReturnShadowBytes) {
    constexpr size_t kPage = 4096;
    auto begin = reinterpret_cast<uintptr_t>(TheShadow().cells + DeviceOffset(p) / kCellBytes);
    const auto end = begin + bytes / kCellBytes * sizeof(Cell);
    begin = (begin + kPage - 1) / kPage * kPage;
    madvise(reinterpret_cast<void*>(begin), (end - begin) / kPage * kPage, MADV_DONTNEED);
  }
}

void ForgetShared(char* p, size_t bytes) {
  const size_t at = DeviceOffset(p);
  Cell* cells = TheShadow().cells + at / kCellBytes;
  std::fill(cells, cells + bytes / kCellBytes + 1, Cell{});
  std::memset(TheShadow().states + at, kNoMemory, bytes);
}

void Access(const void* address, const AccessKind& kind) {
  auto* p = static_cast<const char*>(address);
  if (DeviceOffset(p) >= kDeviceRegionBytes) return CheckHostAccess(p, kind);
  ++executor.statistics.accesses;
  CheckStates(p, kind);
  const bool power_of_two = (kind.bytes & (kind.bytes - 1)) == 0;
  if (kind.bytes <= 16 && power_of_two && DeviceOffset(p) % kind.bytes != 0) {
    FailAccess(Bug::kMisaligned, p, kind);
  }
  CheckRaces(p, kind);
}

}  // namespace edo::simt::check
