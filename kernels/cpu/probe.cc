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

constexpr uint32_t kGroup = 16;            // rows a stage; two groups are in flight
constexpr uint32_t kPrefetchBytes = 1024;  // of a long row; the rest streams behind it

struct Probe {
  Place place;
  uint32_t slot;  // kSlots: absent or missed
  bool absent;
};

// A class without memory: nothing is resident.
void MissAll(const ProbeGatherArgs& args) {
  const uint64_t row_bytes = uint64_t{args.format.dim} * FloatTypeBytes(args.out.type);
  const uint64_t out_stride = args.out.stride * FloatTypeBytes(args.out.type);
  auto* const out = static_cast<std::byte*>(args.out.values);
  for (uint32_t i = 0; i < args.query.count; ++i) {
    const bool absent = args.query.rows[i] >= args.query.table_rows;
    if (args.marks != nullptr) args.marks[i] = absent ? RowMark::kAbsent : RowMark::kMissed;
    if (!absent) {
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
  const uint32_t prefetch = std::min(args.format.dim * args.format.value_bytes(), kPrefetchBytes);
  auto* const out = static_cast<std::byte*>(args.out.values);
  Probe ring[3 * kGroup];
  uint32_t misses = args.counts->misses;
  uint32_t absent = 0;

  for (uint32_t base = 0; base < count + 2 * kGroup; base += kGroup) {
    // Stage 1: where each row of this group would be; asks for the tags.
    for (uint32_t i = base; i < base + kGroup && i < count; ++i) {
      Probe& probe = ring[i % (3 * kGroup)];
      probe.absent = query.rows[i] >= query.table_rows;
      probe.slot = kSlots;
      if (probe.absent || blocks.blocks == 0) continue;
      probe.place =
          PlaceOf(query.first_position + query.rows[i], blocks.blocks, blocks.group_shift);
      __builtin_prefetch(blocks.Header(probe.place.block));
    }
    // Stage 2: the slot, by the low tag; asks for the entry and the codes.
    if (base >= kGroup) {
      for (uint32_t i = base - kGroup; i < base && i < count; ++i) {
        Probe& probe = ring[i % (3 * kGroup)];
        if (probe.absent || blocks.blocks == 0) continue;
        const uint32_t candidates =
            MatchTags(blocks.LowTags(probe.place.block), probe.place.low_tag);
        probe.slot = kSlots;
        if (candidates == 0) continue;
        if ((candidates & (candidates - 1)) == 0) {
          probe.slot = static_cast<uint32_t>(std::countr_zero(candidates));
          __builtin_prefetch(blocks.Entry(probe.place.block, probe.slot), 1);
        } else {  // rare: equal in 15 bits
          probe.slot = FindSlot(blocks, probe.place, candidates);
          if (probe.slot == kSlots) continue;
        }
        PrefetchRow(blocks.Payload(probe.place.block) + blocks.CodeOffset(probe.slot, 0), prefetch);
      }
    }
    // Stage 3: proves the row by the high tag and decodes it.
    if (base < 2 * kGroup) continue;
    for (uint32_t i = base - 2 * kGroup; i < base - kGroup && i < count; ++i) {
      const Probe& probe = ring[i % (3 * kGroup)];
      std::byte* const to = out + i * out_stride;
      RowMark mark = RowMark::kFound;
      if (probe.absent) {
        ++absent;
        mark = RowMark::kAbsent;
        if (args.zero_absent) std::memset(to, 0, size_t{args.format.dim} * value_bytes);
      } else {
        std::byte* const entry =
            probe.slot == kSlots ? nullptr : blocks.Entry(probe.place.block, probe.slot);
        if (entry != nullptr && HighTag(entry) == probe.place.high_tag) {
          DecodeSlot(blocks, probe.place.block, probe.slot, args.format, 0, args.format.dim, decode,
                     value_bytes, to);
          TouchScore(entry, args.clock);
        } else {
          mark = RowMark::kMissed;
          args.misses[misses++] = i;
        }
      }
      if (args.marks != nullptr) args.marks[i] = mark;
    }
  }
  args.counts->misses = misses;
  args.counts->absent += absent;
}

}  // namespace edo::kernels::cpu
