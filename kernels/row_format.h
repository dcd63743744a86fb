// RowFormat: how kernels decode a row. A row's codes stand first; its side data (scale, gain)
// follows them on disk and lies apart in the cache. Formulas: docs/codecs.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portable.h"

namespace edo::kernels {

// A new codec adds a word here, a decoder in cpu/row_decoders.cc and one in cuda/row_decoders.cuh;
// the kernels that use them do not change.
enum class RowCodec : uint8_t {
  kF32,
  kF16,
  kBF16,
  kInt8,
  kF8,
  kL4,
  kL4Plus4,  // all nibbles of L4, then those that refine them
  kPInt8,    // P...: profile
  kPL4,
  kPL4Plus4,
  kPQ,
  kRotatedPQ,
  kRQ,
};
inline constexpr int kRowCodecs = 13;

// A rotation turns groups of at most so many columns, so that it costs no more than that a value.
inline constexpr uint32_t kMostRotatedColumns = 512;

struct RowFormat {
  RowCodec codec = RowCodec::kF32;
  uint32_t dim = 0;         // values to decode: all of a row's, or its first ones
  uint32_t code_bytes = 0;  // bytes of its codes
  // On disk: bytes behind the codes that are not read (L4+4 read by its L4 half: what refines it),
  // then bytes of side data.
  uint32_t skipped_bytes = 0;
  uint32_t side_bytes = 0;
  uint32_t full_dim = 0;    // values of a row
  uint32_t parts = 0;       // codes of a row: PQ's sub-quantisers, RQ's stages
  uint32_t part_bits = 0;   // of such a code, 4 or 8
  // What the table has learned, where the kernel can read it, 4-byte aligned; null: nothing.
  //   profile     mean[full_dim], deviation[full_dim]                 (binary32)
  //   rotated PQ  rotation of each group, (columns, columns)          (binary32), then as PQ
  //   PQ          centroids of part 0, part 1, ...: (ksub, values)    (bfloat16)
  //   RQ          centroids (parts, ksub, full_dim)                   (bfloat16)
  const std::byte* learned = nullptr;

  // Of a row on disk: where its side data begins, and its bytes.
  EDO_HD uint32_t side_at() const { return code_bytes + skipped_bytes; }
  EDO_HD uint32_t row_bytes() const { return side_at() + side_bytes; }
  EDO_HD bool has_profile() const {
    return codec == RowCodec::kPInt8 || codec == RowCodec::kPL4 || codec == RowCodec::kPL4Plus4;
  }
  // Bits of a value's code; 0: a value has no code of its own.
  EDO_HD uint32_t value_bits() const {
    switch (codec) {
      case RowCodec::kF32:
        return 32;
      case RowCodec::kF16:
      case RowCodec::kBF16:
        return 16;
      case RowCodec::kInt8:
      case RowCodec::kF8:
      case RowCodec::kPInt8:
        return 8;
      case RowCodec::kL4:
      case RowCodec::kPL4:
        return 4;
      default:
        return 0;
    }
  }
  // Whether neighbouring values have neighbouring codes, so that rows may be cut into cells.
  EDO_HD bool values_stand_alone() const { return value_bits() != 0; }
  // Leading bytes of the codes that hold the first `values` values.
  EDO_HD uint32_t CodeBytesOf(uint32_t values) const {
    const uint32_t bits = value_bits();
    return bits == 0 ? code_bytes : static_cast<uint32_t>((uint64_t{values} * bits + 7) / 8);
  }

  // ---- L4+4: bytes of each half
  EDO_HD uint32_t nibble_bytes() const { return (full_dim + 1) / 2; }
  // ---- PQ
  EDO_HD uint32_t ksub() const { return 1u << part_bits; }
  EDO_HD uint32_t width() const { return (full_dim + parts - 1) / parts; }  // of all but the last
  EDO_HD uint32_t WidthOf(uint32_t part) const {
    const uint32_t left = full_dim - part * width();
    return left < width() ? left : width();
  }
  // ---- the rotation
  EDO_HD uint32_t group_columns() const {  // of all groups but the last: whole parts
    if (full_dim <= kMostRotatedColumns) return full_dim;
    const uint32_t whole = kMostRotatedColumns / width() * width();
    return whole == 0 ? width() : whole;
  }
  EDO_HD uint32_t GroupColumnsAt(uint32_t first_column) const {
    const uint32_t left = full_dim - first_column;
    return left < group_columns() ? left : group_columns();
  }
  EDO_HD uint64_t rotation_bytes() const {
    if (codec != RowCodec::kRotatedPQ) return 0;
    const uint64_t columns = group_columns();
    const uint64_t last = full_dim % columns;
    const uint64_t values = full_dim / columns * columns * columns + last * last;
    return values * 4;
  }
  EDO_HD uint64_t learned_bytes() const {
    if (has_profile()) return uint64_t{full_dim} * 8;
    if (codec == RowCodec::kRQ) return uint64_t{parts} * ksub() * full_dim * 2;
    if (parts != 0) return rotation_bytes() + uint64_t{ksub()} * full_dim * 2;
    return 0;
  }
};

// `parts` and `part_bits`: PQ and RQ only.
EDO_HD RowFormat MakeRowFormat(RowCodec codec, uint32_t dim, uint32_t parts = 0,
                               uint32_t part_bits = 0) {
  RowFormat format;
  format.codec = codec;
  format.dim = format.full_dim = dim;
  format.parts = parts;
  format.part_bits = part_bits;
  const uint32_t bits = format.value_bits();
  if (bits != 0) {
    format.code_bytes = static_cast<uint32_t>((uint64_t{dim} * bits + 7) / 8);
  } else if (codec == RowCodec::kL4Plus4 || codec == RowCodec::kPL4Plus4) {
    format.code_bytes = 2 * format.nibble_bytes();
  } else {
    format.code_bytes = static_cast<uint32_t>((uint64_t{parts} * part_bits + 7) / 8);
  }
  const bool exact = codec == RowCodec::kF32 || codec == RowCodec::kF16 || codec == RowCodec::kBF16;
  format.side_bytes = exact ? 0 : format.has_profile() ? 4 : 2;
  return format;
}
// Rows of L4+4, with or without a profile, read as rows of L4: to the bit what the table would be in
// that codec.
EDO_HD RowFormat BaseOf(const RowFormat& both) {
  RowFormat base = both;
  base.codec = both.codec == RowCodec::kL4Plus4 ? RowCodec::kL4 : RowCodec::kPL4;
  base.code_bytes = both.nibble_bytes();
  base.skipped_bytes = both.nibble_bytes();
  return base;
}
// The same rows, of which only the first `values` values are decoded.
EDO_HD RowFormat Leading(RowFormat format, uint32_t values) {
  format.dim = values;
  return format;
}

}  // namespace edo::kernels
