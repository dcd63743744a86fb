// Atomics and relaxed accesses. Lanes never run at the same time, so plain loads and stores do;
// what matters is the chance to run another lane before each of them, and what check builds learn.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/simt/check.h"
#include "kernels/simt/device_memory.h"
#include "kernels/simt/scheduler.h"
#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

void BeforeAtomic(const void* p, size_t bytes, const void* pc) {
  ++executor.statistics.atomics;
  executor.current->last_call = pc;
  if (reinterpret_cast<uintptr_t>(p) % bytes != 0) {
    Fail(Bug::kMisaligned,
         [&] { return Format("atomic of %zu bytes: %s", bytes, DescribeAddress(p).c_str()); });
  }
  if (executor.random.OneIn(executor.config.atomic_yield_one_in)) YieldLane(executor.current);
}

template <class Float, class Word>
Word AddFloat(Word a, Word b) {
  Float x, y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  x += y;
  Word sum;
  std::memcpy(&sum, &x, sizeof sum);
  return sum;
}

template <class Word>
Word Updated(AtomicOperation operation, Word old, Word value) {
  using Signed = std::make_signed_t<Word>;
  using Float = std::conditional_t<sizeof(Word) == 4, float, double>;
  const auto signed_old = static_cast<Signed>(old);
  const auto signed_value = static_cast<Signed>(value);
  switch (operation) {
    case AtomicOperation::kAdd:
      return old + value;
    case AtomicOperation::kSubtract:
      return old - value;
    case AtomicOperation::kExchange:
      return value;
    case AtomicOperation::kMinUnsigned:
      return std::min(old, value);
    case AtomicOperation::kMaxUnsigned:
      return std::max(old, value);
    case AtomicOperation::kMinSigned:
      return static_cast<Word>(std::min(signed_old, signed_value));
    case AtomicOperation::kMaxSigned:
      return static_cast<Word>(std::max(signed_old, signed_value));
    case AtomicOperation::kAnd:
      return old & value;
    case AtomicOperation::kOr:
      return old | value;
    case AtomicOperation::kXor:
      return old ^ value;
    case AtomicOperation::kIncrement:
      return old >= value ? 0 : old + 1;
    case AtomicOperation::kDecrement:
      return old == 0 || old > value ? value : old - 1;
    case AtomicOperation::kAddFloat:
      return AddFloat<Float>(old, value);
  }
  return old;
}

template <class Word>
Word Apply(AtomicOperation operation, Word* p, Word value, const void* pc) {
  BeforeAtomic(p, sizeof(Word), pc);
  check::Atomic(p, {.bytes = sizeof(Word), .reads = true, .writes = true, .pc = pc});
  const Word old = *p;
  *p = Updated(operation, old, value);
  return old;
}

template <class Word>
Word CompareAndSwap(Word* p, Word expected, Word value, const void* pc) {
  BeforeAtomic(p, sizeof(Word), pc);
  // Checked as a read first: the comparison must not touch memory that is not there.
  check::Atomic(p, {.bytes = sizeof(Word), .reads = true, .writes = false, .pc = pc});
  const Word old = *p;
  if (old != expected) return old;
  check::Atomic(p, {.bytes = sizeof(Word), .reads = true, .writes = true, .pc = pc});
  *p = value;
  return old;
}

}  // namespace

uint32_t Atomic32(AtomicOperation operation, uint32_t* p, uint32_t value) noexcept {
  const ExecutorSection section;
  return Apply(operation, p, value, __builtin_return_address(0));
}
uint64_t Atomic64(AtomicOperation operation, uint64_t* p, uint64_t value) noexcept {
  const ExecutorSection section;
  return Apply(operation, p, value, __builtin_return_address(0));
}
uint32_t CompareAndSwap32(uint32_t* p, uint32_t expected, uint32_t value) noexcept {
  const ExecutorSection section;
  return CompareAndSwap(p, expected, value, __builtin_return_address(0));
}
uint64_t CompareAndSwap64(uint64_t* p, uint64_t expected, uint64_t value) noexcept {
  const ExecutorSection section;
  return CompareAndSwap(p, expected, value, __builtin_return_address(0));
}

uint64_t LoadRelaxed(const void* p, size_t bytes) noexcept {
  const ExecutorSection section;
  BeforeAtomic(p, bytes, __builtin_return_address(0));
  check::Atomic(
      const_cast<void*>(p),
      {.bytes = bytes, .reads = true, .writes = false, .pc = __builtin_return_address(0)});
  uint64_t value = 0;
  std::memcpy(&value, p, bytes);  // little endian: the low bytes
  return value;
}

void StoreRelaxed(void* p, size_t bytes, uint64_t value) noexcept {
  const ExecutorSection section;
  BeforeAtomic(p, bytes, __builtin_return_address(0));
  check::Atomic(
      p, {.bytes = bytes, .reads = false, .writes = true, .pc = __builtin_return_address(0)});
  std::memcpy(p, &value, bytes);
}

}  // namespace edo::simt
