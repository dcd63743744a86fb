// How the CPU bodies touch what readers and a fill share: low tags and scores. A reader on one
// thread may run beside a fill on another; everything else in a block is written only while no
// reader can see it (row_layout.h, I2).
#pragma once

#include <atomic>
#include <cstring>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/simd.h"
#include "kernels/row_layout.h"
#include "kernels/score.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace edo::kernels {

// Slots of a block whose low tag is `tag`, as a bit mask; loads with acquire order.
EDO_SIMD_INLINE uint32_t MatchTags(uint16_t* tags, uint16_t tag) {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
  // Vector loads: aligned 16-bit elements are never torn, and on x86 every load is an acquire.
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(tag));
  const auto* at = reinterpret_cast<const __m128i*>(tags);
  const __m128i a = _mm_packs_epi16(_mm_cmpeq_epi16(_mm_load_si128(at), wanted),
                                    _mm_cmpeq_epi16(_mm_load_si128(at + 1), wanted));
  const __m128i b = _mm_packs_epi16(_mm_cmpeq_epi16(_mm_load_si128(at + 2), wanted),
                                    _mm_cmpeq_epi16(_mm_load_si128(at + 3), wanted));
  const uint32_t mask = static_cast<uint32_t>(_mm_movemask_epi8(a)) |
                        static_cast<uint32_t>(_mm_movemask_epi8(b)) << 16;
  std::atomic_signal_fence(std::memory_order_acquire);
  return mask;
#else
  uint32_t mask = 0;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const uint16_t found = std::atomic_ref<uint16_t>(tags[slot]).load(std::memory_order_acquire);
    mask |= uint32_t{found == tag} << slot;
  }
  return mask;
#endif
}

EDO_SIMD_INLINE uint16_t LoadTag(uint16_t* tag) {
  return std::atomic_ref<uint16_t>(*tag).load(std::memory_order_relaxed);
}
// Clears a tag. What must not come before it is ordered by the caller's epoch.
EDO_SIMD_INLINE void ClearTag(uint16_t* tag) {
  std::atomic_ref<uint16_t>(*tag).store(0, std::memory_order_relaxed);
}
// Everything written to the slot before becomes visible to whoever sees the tag.
EDO_SIMD_INLINE void PublishTag(uint16_t* tag, uint16_t value) {
  std::atomic_ref<uint16_t>(*tag).store(value, std::memory_order_release);
}

EDO_SIMD_INLINE uint32_t HighTag(const std::byte* entry) {
  uint32_t tag;
  std::memcpy(&tag, entry + kEntryHighTag, sizeof tag);
  return tag;
}
EDO_SIMD_INLINE std::atomic_ref<uint16_t> Score(std::byte* entry) {
  return std::atomic_ref<uint16_t>(*reinterpret_cast<uint16_t*>(entry + kEntryScore));
}

// A hit. Two readers may lose one of their hits to each other: the score is an estimate.
EDO_SIMD_INLINE void TouchScore(std::byte* entry, uint32_t clock) {
  const auto score = Score(entry);
  const uint16_t old = score.load(std::memory_order_relaxed);
  const uint16_t touched = Touch(old, clock);
  if (touched != old) score.store(touched, std::memory_order_relaxed);
}

// The slot that holds `place`, or kSlots. `candidates` = MatchTags of its low tag.
EDO_SIMD_INLINE uint32_t FindSlot(const BlockView& blocks, const Place& place,
                                  uint32_t candidates) {
  while (candidates != 0) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(candidates));
    if (HighTag(blocks.Entry(place.block, slot)) == place.high_tag) return slot;
    candidates &= candidates - 1;
  }
  return kSlots;
}

// Decodes values [first, first + count) of a slot's row, cell by cell where it is cut: then its
// values stand alone. `first` and the values of a cell are even.
EDO_SIMD_INLINE void DecodeSlot(const BlockView& blocks, uint64_t block, uint32_t slot,
                                const RowFormat& format, uint32_t first, uint32_t count,
                                DecodeRowFunction decode, uint32_t out_value_bytes,
                                std::byte* out) {
  const std::byte* const payload = blocks.Payload(block);
  const std::byte* const side = blocks.Entry(block, slot) + kEntrySide;
  if (blocks.shape.columns == 1) {
    decode(format, payload + blocks.CodeOffset(slot, 0), side, first, count, out);
    return;
  }
  const uint32_t cell_values = blocks.shape.cell_bytes * 8 / format.value_bits();
  for (uint32_t at = first; at < first + count;) {
    const uint32_t cell = at / cell_values;
    const uint32_t end = (cell + 1) * cell_values;
    const uint32_t piece = (end < first + count ? end : first + count) - at;
    // Where the row would begin if this cell had its neighbours beside it. A cell's place is never
    // before its column (morton.h), so that is inside the payload.
    const uint32_t skipped = cell * blocks.shape.cell_bytes;
    decode(format, payload + blocks.CodeOffset(slot, skipped) - skipped, side, at, piece,
           out + size_t{at - first} * out_value_bytes);
    at += piece;
  }
}

// Every line that the row touches: a row may begin anywhere in its first.
EDO_SIMD_INLINE void PrefetchRow(const std::byte* row, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
  if (bytes != 0) __builtin_prefetch(row + bytes - 1);
}

}  // namespace edo::kernels
