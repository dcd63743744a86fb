// The functions that `g++ -fsanitize=thread` calls before every memory access of a kernel file
// (check build). They are linked instead of libtsan and hand device accesses to check.h. Host code
// in the same file calls them too and passes through.
#include <cstddef>
#include <cstdint>

#include "kernels/simt/check.h"
#include "kernels/simt/scheduler.h"

namespace {

using edo::simt::executor;
using edo::simt::check::AccessKind;

void Access(const void* address, const AccessKind& kind) {
  if (!edo::simt::in_kernel) return;
  const edo::simt::Fiber& fiber = executor.current->fiber;
  auto* p = static_cast<const char*>(address);
  if (p >= fiber.stack && p < fiber.stack + fiber.stack_bytes) return;  // a local variable
  const edo::simt::ExecutorSection section;
  if (executor.random.OneIn(executor.config.preempt_one_in)) {
    executor.current->last_call = kind.pc;
    edo::simt::YieldLane(executor.current);
  }
  edo::simt::check::Access(address, kind);
}

}  // namespace

#define EDO_TSAN_ACCESS(name, size, is_write, is_atomic) \
  void __tsan_##name(void* p) {                          \
    Access(p, {.bytes = size,                            \
               .writes = is_write,                       \
               .atomic = is_atomic,                      \
               .pc = __builtin_return_address(0)});      \
  }
// A volatile access is how nvcc spells a relaxed one, so it does not race with atomics.
#define EDO_TSAN_SIZE(size)                                         \
  EDO_TSAN_ACCESS(read##size, size, false, false)                   \
  EDO_TSAN_ACCESS(write##size, size, true, false)                   \
  EDO_TSAN_ACCESS(unaligned_read##size, size, false, false)         \
  EDO_TSAN_ACCESS(unaligned_write##size, size, true, false)         \
  EDO_TSAN_ACCESS(volatile_read##size, size, false, true)           \
  EDO_TSAN_ACCESS(volatile_write##size, size, true, true)           \
  EDO_TSAN_ACCESS(unaligned_volatile_read##size, size, false, true) \
  EDO_TSAN_ACCESS(unaligned_volatile_write##size, size, true, true)

// Host code of a kernel file may use std::atomic.
#define EDO_TSAN_ATOMIC(type, bits)                                                               \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {                                  \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                               \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int) {                           \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                               \
  type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) {                        \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                       \
  }                                                                                               \
  type __tsan_atomic##bits##_fetch_add(volatile type* p, type value, int) {                       \
    return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                               \
  type __tsan_atomic##bits##_fetch_sub(volatile type* p, type value, int) {                       \
    return __atomic_fetch_sub(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                               \
  type __tsan_atomic##bits##_fetch_and(volatile type* p, type value, int) {                       \
    return __atomic_fetch_and(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                               \
  type __tsan_atomic##bits##_fetch_or(volatile type* p, type value, int) {                        \
    return __atomic_fetch_or(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type value, \
                                                    int, int) {                                   \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,               \
                                       __ATOMIC_SEQ_CST);                                         \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type value,   \
                                                  int success, int failure) {                     \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, value, success, failure);   \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
EDO_TSAN_SIZE(1)
EDO_TSAN_SIZE(2)
EDO_TSAN_SIZE(4)
EDO_TSAN_SIZE(8)
EDO_TSAN_SIZE(16)
void __tsan_read_range(void* p, size_t bytes) {
  Access(p, {.bytes = bytes, .pc = __builtin_return_address(0)});
}
void __tsan_write_range(void* p, size_t bytes) {
  Access(p, {.bytes = bytes, .writes = true, .pc = __builtin_return_address(0)});
}
EDO_TSAN_ATOMIC(uint8_t, 8)
EDO_TSAN_ATOMIC(uint16_t, 16)
EDO_TSAN_ATOMIC(uint32_t, 32)
EDO_TSAN_ATOMIC(uint64_t, 64)
}  // extern "C"
