#include "kernels/simt/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "kernels/simt/device_memory.h"

#if !defined(__x86_64__)
#error "kernels/simt switches fibers with x86-64 assembly"
#endif

// The six registers that a callee keeps, then the stack pointer. The return address stays on the
// stack and is jumped to: a `ret` would not match the processor's prediction of calls.
asm(R"(
.text
.p2align 4
.globl edo_simt_switch
.type edo_simt_switch,@function
edo_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size edo_simt_switch,.-edo_simt_switch

.globl edo_simt_fiber_start
.type edo_simt_fiber_start,@function
edo_simt_fiber_start:
  xorl %ebp, %ebp
  callq edo_simt_fiber_main
  ud2
.size edo_simt_fiber_start,.-edo_simt_fiber_start
)");
extern "C" void edo_simt_fiber_start();

namespace edo::simt {
namespace {

constexpr size_t kGuardBytes = 4096;
constexpr size_t kSlotBytes = kStackBytes + kGuardBytes;
constexpr size_t kSavedRegisters = 6;

char* stacks = nullptr;  // kMaxFibers slots: a guard page, then the stack

}  // namespace

void CreateFiber(size_t index, Fiber* fiber) {
  if (stacks == nullptr) stacks = ReserveMemory(kMaxFibers * kSlotBytes);
  if (index >= kMaxFibers) {
    std::fprintf(stderr, "simt: more than %zu resident lanes\n", kMaxFibers);
    std::abort();
  }
  char* guard = stacks + index * kSlotBytes;
  mprotect(guard, kGuardBytes, PROT_NONE);
  fiber->stack = guard + kGuardBytes;
  fiber->stack_bytes = kStackBytes;
  RestartFiber(fiber);
}

void RestartFiber(Fiber* fiber) {
  AsanUnpoison(fiber->stack, fiber->stack_bytes);
  fiber->asan_stack = nullptr;
  auto* top = reinterpret_cast<uint64_t*>(fiber->stack + fiber->stack_bytes);
  top -= 2;  // keeps the stack aligned as after a call
  top[0] = top[1] = 0;
  *--top = reinterpret_cast<uint64_t>(&edo_simt_fiber_start);
  for (size_t i = 0; i < kSavedRegisters; ++i) *--top = 0;
  fiber->stack_pointer = top;
}

Fiber CallersFiber() {
  Fiber fiber;
#if EDO_SIMT_ASAN
  // Asked once a thread: it reads /proc/self/maps for the main thread.
  static thread_local void* bottom = nullptr;
  static thread_local size_t bytes = 0;
  if (bottom == nullptr) {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
  }
  fiber.stack = static_cast<char*>(bottom);
  fiber.stack_bytes = bytes;
#endif
  return fiber;
}

bool InFiberStacks(const void* p) {
  auto* at = static_cast<const char*>(p);
  return stacks != nullptr && at >= stacks && at < stacks + kMaxFibers * kSlotBytes;
}

}  // namespace edo::simt
