// What device code calls: the dialect headers turn CUDA's names into these. Called on a lane's
// fiber while the launch holds the device; a call may switch to other lanes before it returns.
#pragma once

#include <cstddef>
#include <cstdint>

// Dialect functions that touch memory or name a source line are part of the kernel's own code: a
// report then finds the kernel's line.
#define EDO_SIMT_INLINE inline __attribute__((always_inline))

namespace edo::simt {

// The source line of a call, for reports.
struct Site {
  const char* file = "";
  int line = 0;
};

struct Dim {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

// `const`: these never change within one lane's code, so the compiler may reuse them.
Dim ThreadIdx() noexcept __attribute__((const));
Dim BlockIdx() noexcept __attribute__((const));
Dim BlockDim() noexcept __attribute__((const));
Dim GridDim() noexcept __attribute__((const));

// ---- warp collectives (collectives.cc)
// -----------------------------------------------------------
enum class Collective : uint8_t {
  kSyncWarp,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kBallot,
  kAny,
  kAll,
  kMatchAny,
  kMatchAll,
  kReduceAdd,
  kReduceMinUnsigned,
  kReduceMaxUnsigned,
  kReduceMinSigned,
  kReduceMaxSigned,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
};
struct CollectiveCall {
  Collective operation;
  int value_bytes = 0;    // all lanes must agree
  uint64_t value = 0;     // zero extended
  uint32_t argument = 0;  // shuffles: source lane or distance
  uint32_t width = 32;    // shuffles: lanes a segment
};
// Waits for all lanes that `mask` names, then returns this lane's result.
uint64_t RunCollective(const CollectiveCall& call, uint32_t mask, Site site) noexcept;

// ---- block barriers (barriers.cc)
// ----------------------------------------------------------------
enum class Barrier : uint8_t { kPlain, kCount, kAnd, kOr };
int SyncThreads(Barrier kind, int predicate, Site site) noexcept;
void ThreadFence() noexcept;

// ---- atomics (atomics.cc), all relaxed
// -----------------------------------------------------------
enum class AtomicOperation : uint8_t {
  kAdd,
  kSubtract,
  kExchange,
  kMinUnsigned,
  kMaxUnsigned,
  kMinSigned,
  kMaxSigned,
  kAnd,
  kOr,
  kXor,
  kIncrement,
  kDecrement,
  kAddFloat,
};
uint32_t Atomic32(AtomicOperation operation, uint32_t* p, uint32_t value) noexcept;
uint64_t Atomic64(AtomicOperation operation, uint64_t* p, uint64_t value) noexcept;
uint32_t CompareAndSwap32(uint32_t* p, uint32_t expected, uint32_t value) noexcept;
uint64_t CompareAndSwap64(uint64_t* p, uint64_t expected, uint64_t value) noexcept;
// `bytes` is 2, 4 or 8.
uint64_t LoadRelaxed(const void* p, size_t bytes) noexcept;
void StoreRelaxed(void* p, size_t bytes, uint64_t value) noexcept;

// ---- shared memory (shared_memory.cc)
// ------------------------------------------------------------
struct SharedDeclaration {
  const void* key;  // one address per declaration
  size_t bytes;
  size_t alignment;
  const char* name;
};
void* SharedStatic(const SharedDeclaration& declaration) noexcept;
void* SharedDynamic() noexcept;

// ---- cp.async (async_copy.cc)
// -------------------------------------------------------------------- The last `zero_bytes` of the
// destination become zero instead of a copy.
void AsyncCopy(void* destination, const void* source, size_t bytes, size_t zero_bytes) noexcept;
void AsyncCommit() noexcept;
void AsyncWaitPrior(unsigned keep) noexcept;

// ---- the rest (executor.cc)
// ---------------------------------------------------------------------- Lets other lanes run.
void GiveWay() noexcept;
[[noreturn]] void ReportMisaligned(const void* p, size_t bytes) noexcept;
[[noreturn]] void ReportTrap(Site site) noexcept;

}  // namespace edo::simt
