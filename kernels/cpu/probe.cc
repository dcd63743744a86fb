// CPU body of ProbeGather. A random row costs three dependent trips to memory - tags, then entry
// and codes - so the batch goes through three stages, a group of rows apart: each stage asks for
// the lines that the next one reads.
#include <algorithm>
#include <cstring>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/block_access.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels::cpu {
namespace {

constexpr uint32_t kGroup = 8;             // rows a stage; two groups are in flight
constexpr uint32_t kPrefetchBytes = 1024;  // of a long row; the rest streams behind it

struct Probe {
  std::byte* header = nullptr;  // of the row's block; null: not one of the tier's rows
  std::byte* entry = nullptr;   // of the slot that its low tag names; null: none
  uint32_t block = 0;
  uint32_t slot = 0;
  uint32_t high_tag = 0;
  uint16_t low_tag = 0;
};

// A class without memory: nothing is resident.
void MissAll(const ProbeGatherArgs& args) {
  const uint64_t row_bytes = uint64_t{args.format.dim} * FloatTypeBytes(args.out.type);
  const uint64_t out_stride = args.out.stride * FloatTypeBytes(args.out.type);
  auto* const out = static_cast<std::byte*>(args.out.values);
  for (uint32_t i = 0; i < args.query.count; ++i) {
    const RowMark mark = MarkOfNumber(args.query, args.query.rows[i]);
    if (mark == RowMark::kElsewhere) {
      ++args.counts->elsewhere;
      continue;
    }
    if (args.marks != nullptr) args.marks[i] = mark;
    if (mark == RowMark::kMissed) {
      args.misses[args.counts->misses++] = i;
    } else {
      ++args.counts->absent;
      if (args.zero_absent) std::memset(out + i * out_stride, 0, row_bytes);
    }
  }
}

}  // namespace

void ProbeGather(const ProbeGatherArgs& args) {
  if (args.blocks.blocks == 0) return MissAll(args);
  const BlockView& blocks = args.blocks;
  const RowQuery& query = args.query;
  const uint32_t count = query.count;
  const uint32_t value_bytes = FloatTypeBytes(args.out.type);
  const uint64_t out_stride = args.out.stride * value_bytes;
  const DecodeRowFunction decode = RowDecoder(args.format.codec, args.out.type);
  const uint32_t prefetch = std::min(args.format.CodeBytesOf(args.format.dim), kPrefetchBytes);
  auto* const out = static_cast<std::byte*>(args.out.values);
  const bool whole = blocks.shape.columns == 1;
  // The score of a row that is as hot as can be: it needs no touch.
  const uint16_t hottest = MakeScore(kMostValue, args.clock);
  Probe ring[3 * kGroup];
  uint32_t misses = args.counts->misses;
  uint32_t absent = 0;

  for (uint32_t base = 0; base < count + 2 * kGroup; base += kGroup) {
    // Stage 1: where each row of this group would be; asks for the tags.
    for (uint32_t i = base; i < base + kGroup && i < count; ++i) {
      Probe& probe = ring[i % (3 * kGroup)];
      probe.header = nullptr;
      if (MarkOfNumber(query, query.rows[i]) != RowMark::kMissed) continue;
      const Place place =
          PlaceOf(PositionOf(query, query.rows[i]), blocks.blocks, blocks.group_shift);
      probe.block = static_cast<uint32_t>(place.block);
      probe.high_tag = place.high_tag;
      probe.low_tag = place.low_tag;
      probe.header = blocks.Header(place.block);
      __builtin_prefetch(probe.header);
    }
    // Stage 2: the slot, by the low tag; asks for the entry and the codes.
    if (base >= kGroup) {
      for (uint32_t i = base - kGroup; i < base && i < count; ++i) {
        Probe& probe = ring[i % (3 * kGroup)];
        probe.entry = nullptr;
        if (probe.header == nullptr) continue;
        const uint32_t candidates =
            MatchTags(reinterpret_cast<uint16_t*>(probe.header), probe.low_tag);
        if (candidates == 0) continue;
        if ((candidates & (candidates - 1)) == 0) {
          probe.slot = static_cast<uint32_t>(std::countr_zero(candidates));
        } else {  // rare: equal in 15 bits
          probe.slot = FindSlot(blocks, {probe.block, probe.high_tag, probe.low_tag}, candidates);
          if (probe.slot == kSlots) continue;
        }
        probe.entry = probe.header + kTagBytes + probe.slot * blocks.shape.entry_bytes;
        __builtin_prefetch(probe.entry, 1);
        PrefetchRow(blocks.Payload(probe.block) + blocks.CodeOffset(probe.slot, 0), prefetch);
      }
    }
    // Stage 3: proves the row by the high tag and decodes it.
    if (base < 2 * kGroup) continue;
    for (uint32_t i = base - 2 * kGroup; i < base - kGroup && i < count; ++i) {
      const Probe& probe = ring[i % (3 * kGroup)];
      std::byte* const to = out + i * out_stride;
      RowMark mark = RowMark::kFound;
      if (probe.entry != nullptr && HighTag(probe.entry) == probe.high_tag) {
        if (whole) {
          decode(args.format,
                 blocks.Payload(probe.block) + uint64_t{probe.slot} * blocks.shape.cell_bytes,
                 probe.entry + kEntrySide, 0, args.format.dim, to);
        } else {
          DecodeSlot(blocks, probe.block, probe.slot, args.format, 0, args.format.dim, decode,
                     value_bytes, to);
        }
        if (Score(probe.entry).load(std::memory_order_relaxed) != hottest) {
          TouchScore(probe.entry, args.clock);
        }
      } else if (probe.header != nullptr) {
        mark = RowMark::kMissed;
        args.misses[misses++] = i;
      } else if (query.first_row != 0 || query.rows[i] < query.table_rows) {
        ++args.counts->elsewhere;
        continue;
      } else {
        ++absent;
        mark = RowMark::kAbsent;
        if (args.zero_absent) std::memset(to, 0, size_t{args.format.dim} * value_bytes);
      }
      if (args.marks != nullptr) args.marks[i] = mark;
    }
  }
  args.counts->misses = misses;
  args.counts->absent += absent;
}

}  // namespace edo::kernels::cpu
