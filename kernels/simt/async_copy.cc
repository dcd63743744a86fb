// cp.async: a copy is noted when it is issued and made when its group is waited for, so that
// reading the destination too early, or changing the source meanwhile, shows. Between the two the
// destination holds 0xCD. What a lane has not waited for when it returns never lands.
#include <cstring>

#include "kernels/simt/check.h"
#include "kernels/simt/device_memory.h"
#include "kernels/simt/state.h"
#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

constexpr int kInFlightFill = 0xCD;

void Land(const PendingCopy& copy, const void* pc) {
  const size_t copied = copy.bytes - copy.zero_bytes;
  if (copied != 0) check::Access(copy.source, {.bytes = copied, .pc = pc});
  check::Access(copy.destination, {.bytes = copy.bytes, .writes = true, .pc = pc});
  std::memcpy(copy.destination, copy.source, copied);
  std::memset(copy.destination + copied, 0, copy.zero_bytes);
}

}  // namespace

void AsyncCopy(void* destination, const void* source, size_t bytes, size_t zero_bytes) noexcept {
  const ExecutorSection section;
  Lane* lane = executor.current;
  const bool right_size = bytes == 4 || bytes == 8 || bytes == 16;
  const auto addresses =
      reinterpret_cast<uintptr_t>(destination) | reinterpret_cast<uintptr_t>(source);
  if (!right_size || zero_bytes > bytes || addresses % bytes != 0) {
    Fail(Bug::kMisaligned, [&] {
      return Format("async copy of %zu bytes, %zu of them zero, to %s from %s", bytes, zero_bytes,
                    DescribeAddress(destination).c_str(), DescribeAddress(source).c_str());
    });
  }
  check::Access(destination, {.bytes = bytes, .writes = true, .pc = __builtin_return_address(0)});
  check::SetState(destination, bytes, check::kUnwritten);  // nobody may read it before the wait
  std::memset(destination, kInFlightFill, bytes);
  lane->copies.push_back({static_cast<char*>(destination), static_cast<const char*>(source), bytes,
                          zero_bytes, lane->stage});
}

void AsyncCommit() noexcept { ++executor.current->stage; }

void AsyncWaitPrior(unsigned keep) noexcept {
  const ExecutorSection section;
  const void* pc = __builtin_return_address(0);
  Lane* lane = executor.current;
  std::erase_if(lane->copies, [&](const PendingCopy& copy) {
    if (copy.stage + keep >= lane->stage) return false;
    Land(copy, pc);
    return true;
  });
}

}  // namespace edo::simt
