// Barriers, fences, shuffles, votes, matches and reductions. The source line of each call comes in
// by default arguments: lanes that meet must come from the same one.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simt/device_calls.h"

#define EDO_SIMT_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace edo::simt {

template <class T>
uint64_t ToBits(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T FromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T Shuffle(Collective operation, unsigned mask, T value, uint32_t argument, int width, Site site) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles 4 or 8 bytes");
  return FromBits<T>(RunCollective({.operation = operation,
                                    .value_bytes = sizeof(T),
                                    .value = ToBits(value),
                                    .argument = argument,
                                    .width = static_cast<uint32_t>(width)},
                                   mask, site));
}
inline unsigned Vote(Collective operation, unsigned mask, int predicate, Site site) {
  return static_cast<unsigned>(RunCollective(
      {.operation = operation, .value_bytes = 4, .value = predicate != 0}, mask, site));
}
template <class T>
unsigned Match(Collective operation, unsigned mask, T value, Site site) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA matches 4 or 8 bytes");
  return static_cast<unsigned>(RunCollective(
      {.operation = operation, .value_bytes = sizeof(T), .value = ToBits(value)}, mask, site));
}
template <class T>
T Reduction(Collective operation, unsigned mask, T value, Site site) {
  return static_cast<T>(RunCollective(
      {.operation = operation, .value_bytes = 4, .value = ToBits(value)}, mask, site));
}

}  // namespace edo::simt

// ---- barriers and fences
// -------------------------------------------------------------------------
inline void __syncthreads(EDO_SIMT_SITE) {
  ::edo::simt::SyncThreads(::edo::simt::Barrier::kPlain, 0, {file, line});
}
inline int __syncthreads_count(int predicate, EDO_SIMT_SITE) {
  return ::edo::simt::SyncThreads(::edo::simt::Barrier::kCount, predicate, {file, line});
}
inline int __syncthreads_and(int predicate, EDO_SIMT_SITE) {
  return ::edo::simt::SyncThreads(::edo::simt::Barrier::kAnd, predicate, {file, line});
}
inline int __syncthreads_or(int predicate, EDO_SIMT_SITE) {
  return ::edo::simt::SyncThreads(::edo::simt::Barrier::kOr, predicate, {file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, EDO_SIMT_SITE) {
  ::edo::simt::RunCollective({.operation = ::edo::simt::Collective::kSyncWarp}, mask, {file, line});
}
inline void __threadfence() { ::edo::simt::ThreadFence(); }
inline void __threadfence_block() { ::edo::simt::ThreadFence(); }  // stronger than CUDA's
inline void __threadfence_system() { ::edo::simt::ThreadFence(); }

// ---- shuffles
// ------------------------------------------------------------------------------------
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, EDO_SIMT_SITE) {
  return ::edo::simt::Shuffle(::edo::simt::Collective::kShuffle, mask, value,
                              static_cast<uint32_t>(source), width, {file, line});
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, EDO_SIMT_SITE) {
  return ::edo::simt::Shuffle(::edo::simt::Collective::kShuffleUp, mask, value, distance, width,
                              {file, line});
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, EDO_SIMT_SITE) {
  return ::edo::simt::Shuffle(::edo::simt::Collective::kShuffleDown, mask, value, distance, width,
                              {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, EDO_SIMT_SITE) {
  return ::edo::simt::Shuffle(::edo::simt::Collective::kShuffleXor, mask, value,
                              static_cast<uint32_t>(lanes), width, {file, line});
}

// ---- votes and matches
// ---------------------------------------------------------------------------
inline unsigned __ballot_sync(unsigned mask, int predicate, EDO_SIMT_SITE) {
  return ::edo::simt::Vote(::edo::simt::Collective::kBallot, mask, predicate, {file, line});
}
inline int __any_sync(unsigned mask, int predicate, EDO_SIMT_SITE) {
  return ::edo::simt::Vote(::edo::simt::Collective::kAny, mask, predicate, {file, line}) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EDO_SIMT_SITE) {
  return ::edo::simt::Vote(::edo::simt::Collective::kAll, mask, predicate, {file, line}) != 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, EDO_SIMT_SITE) {
  return ::edo::simt::Match(::edo::simt::Collective::kMatchAny, mask, value, {file, line});
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate, EDO_SIMT_SITE) {
  const unsigned equal =
      ::edo::simt::Match(::edo::simt::Collective::kMatchAll, mask, value, {file, line});
  *predicate = equal != 0;
  return equal;
}

// ---- reductions (sm_80 and later)
// ----------------------------------------------------------------
#define EDO_SIMT_REDUCE(name, T, operation)                                                       \
  inline T name(unsigned mask, T value, EDO_SIMT_SITE) {                                          \
    return ::edo::simt::Reduction(::edo::simt::Collective::operation, mask, value, {file, line}); \
  }
EDO_SIMT_REDUCE(__reduce_add_sync, unsigned, kReduceAdd)
EDO_SIMT_REDUCE(__reduce_add_sync, int, kReduceAdd)
EDO_SIMT_REDUCE(__reduce_min_sync, unsigned, kReduceMinUnsigned)
EDO_SIMT_REDUCE(__reduce_min_sync, int, kReduceMinSigned)
EDO_SIMT_REDUCE(__reduce_max_sync, unsigned, kReduceMaxUnsigned)
EDO_SIMT_REDUCE(__reduce_max_sync, int, kReduceMaxSigned)
EDO_SIMT_REDUCE(__reduce_and_sync, unsigned, kReduceAnd)
EDO_SIMT_REDUCE(__reduce_or_sync, unsigned, kReduceOr)
EDO_SIMT_REDUCE(__reduce_xor_sync, unsigned, kReduceXor)
#undef EDO_SIMT_REDUCE
