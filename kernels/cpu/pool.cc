// CPU bodies of ProbePool and Pool. A sum starts at +0 and goes over the ids of its bag in order,
// in binary32: acc = acc + x, with weights acc = acc + (w * x), every step rounded; a mean is the
// sum divided by the number of ids present. The columns of a row are summed in panels that fit the
// stack, so nothing is allocated.
#include <algorithm>
#include <cstring>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/block_access.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels::cpu {
namespace {

constexpr uint32_t kPanel = kPoolPanelValues;  // columns summed at once
constexpr uint32_t kPiece = 64;                // ids of a bag looked at together
constexpr uint32_t kKept =
    kPoolKeptIds;  // ids of a bag whose slots are remembered, a multiple of kPiece

EDO_SIMD_CLONES
void Add(float* __restrict sum, const float* __restrict row, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) sum[i] = sum[i] + row[i];
}
EDO_SIMD_CLONES
void AddWeighted(float* __restrict sum, const float* __restrict row, float weight, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const float product = weight * row[i];
    sum[i] = sum[i] + product;
  }
}
EDO_SIMD_CLONES
void Divide(float* __restrict sum, float divisor, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) sum[i] = sum[i] / divisor;
}

// Sum of one panel of columns of one bag.
struct PanelSum {
  float sum[kPanel];
  uint64_t present = 0;

  void Start(uint32_t count) {
    std::fill_n(sum, count, 0.0f);
    present = 0;
  }
  void Take(const float* row, const float* weight, uint32_t count) {
    weight ? AddWeighted(sum, row, *weight, count) : Add(sum, row, count);
    ++present;
  }
  void Finish(PoolMode mode, FloatType type, uint32_t count, std::byte* out) {
    if (mode == PoolMode::kMean && present > 0) Divide(sum, static_cast<float>(present), count);
    StoreFloats(sum, count, type, out);
  }
};

std::byte* OutAt(const OutputRows& out, uint64_t row, uint32_t column) {
  return static_cast<std::byte*>(out.values) +
         (row * out.stride + column) * FloatTypeBytes(out.type);
}

// What became of an id, beside the numbers of slots (block * 32 + slot).
constexpr uint32_t kAbsentId = kNoSlot;
constexpr uint32_t kMissedId = kNoSlot - 1;

// Looks up `count` <= kPiece ids and asks for the rows' codes.
void FindSlots(const ProbePoolArgs& args, const uint64_t* rows, uint32_t count, uint32_t* slots) {
  const BlockView& blocks = args.blocks;
  const bool has_blocks = blocks.blocks != 0;  // a class without memory: nothing is resident
  Place places[kPiece];
  for (uint32_t i = 0; i < count; ++i) {
    slots[i] = rows[i] < args.query.table_rows ? kMissedId : kAbsentId;
    if (slots[i] == kAbsentId || !has_blocks) continue;
    places[i] = PlaceOf(args.query.first_position + rows[i], blocks.blocks, blocks.group_shift);
    __builtin_prefetch(blocks.Header(places[i].block));
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (slots[i] == kAbsentId || !has_blocks) continue;
    const uint64_t block = places[i].block;
    const uint32_t slot =
        FindSlot(blocks, places[i], MatchTags(blocks.LowTags(block), places[i].low_tag));
    if (slot == kSlots) continue;
    slots[i] = static_cast<uint32_t>(block * kSlots + slot);
    PrefetchRow(blocks.Payload(block) + blocks.CodeOffset(slot, 0),
                std::min<uint32_t>(args.format.CodeBytesOf(args.format.dim), 256));
  }
}

}  // namespace

// A fill may clear a row's tag between two panels of its bag. The slot keeps the row until the
// caller is done (row_layout.h, I2), so it is looked up once and remembered. Only bags of more than
// kKept ids are looked up again for each panel, and one that has lost a row meanwhile is
// incomplete.
void ProbePool(const ProbePoolArgs& args) {
  const BlockView& blocks = args.blocks;
  const RowQuery& query = args.query;
  const uint32_t dim = args.format.dim;
  const DecodeRowFunction decode = RowDecoder(args.format.codec, FloatType::kF32);
  PanelSum panel;
  float row[kPanel];
  uint32_t kept[kKept];

  for (uint32_t b = 0; b < args.bags.count; ++b) {
    const uint64_t begin = args.bags.offsets[b];
    const uint64_t end = args.bags.offsets[b + 1];
    const bool keep = end - begin <= kKept;
    uint32_t missed = 0;
    uint32_t absent_ids = 0;
    for (uint32_t first = 0; first < dim && missed == 0; first += kPanel) {
      const uint32_t columns = std::min(kPanel, dim - first);
      panel.Start(columns);
      for (uint64_t base = begin; base < end; base += kPiece) {
        const auto piece = static_cast<uint32_t>(std::min<uint64_t>(kPiece, end - base));
        uint32_t* const slots = kept + (keep ? base - begin : 0);
        if (first == 0 || !keep) FindSlots(args, query.rows + base, piece, slots);
        for (uint32_t i = 0; i < piece; ++i) {
          const bool absent = slots[i] == kAbsentId;
          const bool miss = slots[i] == kMissedId;
          const uint64_t block = slots[i] / kSlots;
          const uint32_t slot = slots[i] % kSlots;
          missed += miss;
          if (first == 0) {
            absent_ids += absent;
            if (args.marks != nullptr) {
              args.marks[base + i] = absent ? RowMark::kAbsent
                                     : miss ? RowMark::kMissed
                                            : RowMark::kFound;
            }
            if (!absent && !miss) TouchScore(blocks.Entry(block, slot), args.clock);
          }
          if (absent || missed > 0) continue;  // a bag that lacks a row is only counted
          DecodeSlot(blocks, block, slot, args.format, first, columns, decode, 4,
                     reinterpret_cast<std::byte*>(row));
          panel.Take(row, args.bags.weights ? args.bags.weights + base + i : nullptr, columns);
        }
      }
      if (missed == 0) {
        panel.Finish(args.bags.mode, args.out.type, columns, OutAt(args.out, b, first));
      }
    }
    args.counts->absent += absent_ids;
    if (missed > 0) {
      args.counts->misses += static_cast<uint32_t>(end - begin) - absent_ids;
      args.incomplete[args.counts->bags++] = b;
    }
  }
}

void Pool(const PoolArgs& args) {
  PanelSum panel;
  for (uint32_t b = 0; b < args.bags.count; ++b) {
    const uint64_t to = args.out_bags ? args.out_bags[b] : b;
    for (uint32_t first = 0; first < args.dim; first += kPanel) {
      const uint32_t columns = std::min(kPanel, args.dim - first);
      panel.Start(columns);
      for (uint64_t i = args.bags.offsets[b]; i < args.bags.offsets[b + 1]; ++i) {
        if (args.marks != nullptr && args.marks[i] != RowMark::kFound) continue;
        panel.Take(args.rows + i * args.dim + first,
                   args.bags.weights ? args.bags.weights + i : nullptr, columns);
      }
      panel.Finish(args.bags.mode, args.out.type, columns, OutAt(args.out, to, first));
    }
  }
}

}  // namespace edo::kernels::cpu
