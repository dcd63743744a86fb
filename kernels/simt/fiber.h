// A fiber: a stack of its own and the place where it stopped. Switching saves the registers that a
// call must keep, so it costs a few nanoseconds and no system call. Stacks come from one reserved
// region with a guard page each, and are kept for the life of the process. Fibers of a launch run
// on the thread that launches; nothing here locks. x86-64 only.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define EDO_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EDO_SIMT_ASAN 1
#endif
#endif
#if EDO_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// The entry of every fiber (executor.cc). Never returns.
extern "C" void edo_simt_fiber_main();
// Saves the registers on the current stack, its pointer in *save, and continues at `target`.
extern "C" void edo_simt_switch(void** save, void* target);

namespace edo::simt {

inline constexpr size_t kStackBytes = 64 * 1024;
inline constexpr size_t kMaxFibers = 16384;

struct Fiber {
  char* stack = nullptr;  // lowest address
  size_t stack_bytes = 0;
  void* stack_pointer = nullptr;
  void* asan_stack = nullptr;  // what AddressSanitizer keeps for a fiber that is not running
};

// Gives the fiber stack number `index` (< kMaxFibers, each used once) and makes it ready to start.
void CreateFiber(size_t index, Fiber* fiber);
// Forgets where the fiber stopped: it will start at edo_simt_fiber_main again.
void RestartFiber(Fiber* fiber);
// Describes the stack that the caller runs on, to switch away from and back to.
Fiber CallersFiber();
// True when `p` lies on the stack of any fiber.
bool InFiberStacks(const void* p);

// Must be the first thing that a fiber does when it is entered from its start.
inline void FinishFirstSwitch() {
#if EDO_SIMT_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

inline void SwitchFiber(Fiber* from, Fiber* to) {
#if EDO_SIMT_ASAN
  __sanitizer_start_switch_fiber(&from->asan_stack, to->stack, to->stack_bytes);
#endif
  edo_simt_switch(&from->stack_pointer, to->stack_pointer);
#if EDO_SIMT_ASAN
  __sanitizer_finish_switch_fiber(from->asan_stack, nullptr, nullptr);
#endif
}

// Tell AddressSanitizer what may be touched; nothing in other builds.
inline void AsanPoison([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#if EDO_SIMT_ASAN
  __asan_poison_memory_region(p, bytes);
#endif
}
inline void AsanUnpoison([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#if EDO_SIMT_ASAN
  __asan_unpoison_memory_region(p, bytes);
#endif
}

}  // namespace edo::simt
