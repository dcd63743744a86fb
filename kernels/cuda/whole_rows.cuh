// Decoders of codecs whose neighbouring values have no neighbouring codes: L4+4, PQ, OPQ, RQ. Their
// rows are one cell, and a decoder reads of a row's codes what it needs. It has, besides what
// row_decoders.cuh asks of all,
//   kAhead          for how many pieces a lane may fetch at once: few where decoding is long
//   Codes<kCount>   what is fetched ahead for kCount neighbouring values: Fetch(format, row,
//   column) Values(codes, format, row, column, columns, out)
//                   decodes the kCount values from `column`, a multiple of kCount, on; what it
//                   leaves for those beyond format.dim means nothing
// `row` says how bytes of codes are read: CachedCodes, ArrayCodes. What the table has learned is
// read through the read-only path.
#pragma once

#include "kernels/cuda/levels.cuh"
#include "kernels/cuda/scales.cuh"

namespace edo::kernels::GPU_BACKEND_NS {

// ---- where codes lie. Bytes(first, end) gives up to four bytes from `first` on, in the order of
// memory; those at `end` and beyond mean nothing.

// In a slot, which starts at a multiple of 16 and is a multiple of 16 long: past the L1 cache.
struct CachedCodes {
  const std::byte* at;
  __device__ uint32_t Bytes(uint32_t first, uint32_t end) const {
    const uint32_t word = first & ~3u;
    const uint32_t shift = first % 4 * 8;
    const uint32_t low = gpu::LoadVecL2<uint32_t>(at + word);
    if (shift == 0) return low;
    if (end <= word + 4) return low >> shift;
    return low >> shift | gpu::LoadVecL2<uint32_t>(at + word + 4) << (32 - shift);
  }
};

// In an array, at any address.
struct ArrayCodes {
  const std::byte* at;
  __device__ uint32_t Bytes(uint32_t first, uint32_t end) const {
    Words<1> word;
    word.LoadBytes(at + first, min(end - first, 4u));
    return word.at[0];
  }
};

// ---- L4+4 ----

template <class Scale>
struct L4Plus4Decoder : Scale {
  static constexpr bool kWholeRow = true;
  static constexpr uint32_t kAhead = 4;
  template <uint32_t kCount>
  struct Codes {
    uint32_t nibbles, fine;
    template <class Row>
    __device__ void Fetch(const RowFormat& format, const Row& row, uint32_t column) {
      const uint32_t half = format.nibble_bytes();
      const uint32_t first = column / 2;
      const uint32_t end = min(first + kCount / 2, half);
      nibbles = row.Bytes(first, end);
      fine = row.Bytes(half + first, half + end);
    }
  };

  uint64_t half_steps;
  __device__ L4Plus4Decoder(const SideData& side, const RowFormat&)
      : Scale(side), half_steps(L4HalfSteps((side.head & kL4EndsNear) != 0)) {}
  template <uint32_t kCount, class Row>
  __device__ void Values(const Codes<kCount>& codes, const RowFormat&, const Row&, uint32_t,
                         const typename Scale::template Columns<kCount>& columns,
                         float* out) const {
    static_assert(kCount <= 8);
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) {
      out[v] = this->Value(L4Plus4LevelOf(half_steps, codes.nibbles, codes.fine, v), columns, v);
    }
  }
};

// ---- product quantisers ----

// Of rows whose one side datum is a gain.
struct GainDecoder {
  static constexpr bool kWholeRow = true;
  static constexpr bool kProfile = false;
  template <uint32_t kCount>
  using Columns = NoColumns<kCount>;
  float gain;
  __device__ explicit GainDecoder(const SideData& side) : gain(DecodeBF16(side.head)) {}
};

__device__ __forceinline__ float LoadCentroid(const std::byte* p) {
  return DecodeBF16(gpu::LoadVecReadOnly<uint16_t>(p));
}
// Four at an address that is a multiple of 8.
__device__ __forceinline__ void LoadFourCentroids(const std::byte* p, float* out) {
  const uint2 four = gpu::LoadVecReadOnly<uint2>(p);
  out[0] = DecodeBF16(four.x & 0xffffu);
  out[1] = DecodeBF16(four.x >> 16);
  out[2] = DecodeBF16(four.y & 0xffffu);
  out[3] = DecodeBF16(four.y >> 16);
}
// Where the centroid of a part begins.
__device__ __forceinline__ const std::byte* CentroidOf(const RowFormat& format,
                                                       const std::byte* centroids, uint32_t part,
                                                       uint32_t code) {
  return centroids +
         (uint64_t{part} * format.ksub() * format.width() + code * format.WidthOf(part)) * 2;
}

struct PQDecoder : GainDecoder {
  static constexpr uint32_t kAhead = 4;
  // The codes of all parts that kCount values lie in: at most as many bytes.
  template <uint32_t kCount>
  struct Codes {
    static_assert(kCount <= 8);
    uint64_t bytes;
    uint32_t part;  // the first
    template <class Row>
    __device__ void Fetch(const RowFormat& format, const Row& row, uint32_t column) {
      const uint32_t width = format.width();
      part = column / width;
      const uint32_t last = (min(column + kCount, format.dim) - 1) / width;
      const uint32_t first = part * format.part_bits / 8;
      const uint32_t end = last * format.part_bits / 8 + 1;
      bytes = row.Bytes(first, end);
      if (end > first + 4) bytes |= uint64_t{row.Bytes(first + 4, end)} << 32;
    }
    __device__ uint32_t CodeOf(const RowFormat& format, uint32_t of_part) const {
      const uint32_t bit = of_part * format.part_bits - part * format.part_bits / 8 * 8;
      return static_cast<uint32_t>(bytes >> bit) & (format.ksub() - 1);
    }
  };

  __device__ PQDecoder(const SideData& side, const RowFormat&) : GainDecoder(side) {}
  template <uint32_t kCount, class Row>
  __device__ void Values(const Codes<kCount>& codes, const RowFormat& format, const Row&,
                         uint32_t column, const NoColumns<kCount>&, float* out) const {
    const uint32_t width = format.width();
    const uint32_t end = min(column + kCount, format.dim);
    uint32_t part = codes.part;
    uint32_t within = column - part * width;
    const auto centroid = [&] {
      return CentroidOf(format, format.learned, part, codes.CodeOf(format, part));
    };
    const std::byte* at = centroid();
    const auto step = [&](uint32_t values, uint32_t next) {
      within += values;
      if (within < width || next >= end) return;  // codes of later parts were not fetched
      ++part;
      within = 0;
      at = centroid();
    };
    // Fours of values never cross parts, and lie at multiples of 8 bytes.
    if (width % 4 == 0 && format.full_dim % 4 == 0 &&
        reinterpret_cast<uintptr_t>(format.learned) % 8 == 0) {
#pragma unroll
      for (uint32_t v = 0; v < kCount; v += 4) {
        if (column + v >= end) break;
        LoadFourCentroids(at + within * 2, out + v);
        step(4, column + v + 4);
      }
    } else {
#pragma unroll
      for (uint32_t v = 0; v < kCount; ++v) {
        if (column + v >= end) break;
        out[v] = LoadCentroid(at + within * 2);
        step(1, column + v + 1);
      }
    }
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) out[v] = __fmul_rn(out[v], gain);
  }
};

struct RotatedPQDecoder : GainDecoder {
  static constexpr uint32_t kAhead = 1;
  // Each value takes all codes of its group.
  template <uint32_t kCount>
  struct Codes {
    template <class Row>
    __device__ void Fetch(const RowFormat&, const Row&, uint32_t) {}
  };

  __device__ RotatedPQDecoder(const SideData& side, const RowFormat&) : GainDecoder(side) {}
  // Neighbouring lanes have neighbouring columns: they read the same centroids, and rows of the
  // rotation in whole sectors.
  template <uint32_t kCount, class Row>
  __device__ void Values(const Codes<kCount>&, const RowFormat& format, const Row& row,
                         uint32_t column, const NoColumns<kCount>&, float* out) const {
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) out[v] = 0;
    const uint32_t group_columns = format.group_columns();
    const uint32_t end = min(column + kCount, format.dim);
    // Usually one group; two where `column` is shortly before the end of one.
    for (uint32_t at = column; at < end;) {
      Group group;
      group.first = at / group_columns * group_columns;
      group.columns = format.GroupColumnsAt(group.first);
      group.rotation = format.learned + uint64_t{group.first} * group_columns * 4;
      const uint32_t stop = min(end, group.first + group.columns);
      const bool whole = at == column && stop == column + kCount && group.first % 4 == 0 &&
                         group.columns % 4 == 0 &&
                         reinterpret_cast<uintptr_t>(group.rotation) % 16 == 0;
      if (whole) {
        AddGroup<kCount>(format, row, group, [&](const std::byte* factors, float y) {
          factors += (column - group.first) * 4;
#pragma unroll
          for (uint32_t v = 0; v < kCount; v += 4) {
            const uint4 four = gpu::LoadVecReadOnly<uint4>(factors + 4 * v);
            Add(y, four.x, out + v);
            Add(y, four.y, out + v + 1);
            Add(y, four.z, out + v + 2);
            Add(y, four.w, out + v + 3);
          }
        });
      } else {
        AddGroup<kCount>(format, row, group, [&](const std::byte* factors, float y) {
#pragma unroll
          for (uint32_t v = 0; v < kCount; ++v) {
            if (column + v < at || column + v >= stop) continue;
            Add(y, gpu::LoadVecReadOnly<uint32_t>(factors + (column + v - group.first) * 4),
                out + v);
          }
        });
      }
      at = stop;
    }
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) out[v] = __fmul_rn(gain, out[v]);
  }

 private:
  // Columns that are turned together.
  struct Group {
    uint32_t first, columns;
    const std::byte* rotation;
  };
  __device__ static void Add(float y, uint32_t factor, float* sum) {
    *sum = __fadd_rn(*sum, __fmul_rn(y, __uint_as_float(factor)));
  }
  // Calls add(row i of the group's rotation, value i of the centroids) for all i, ascending.
  template <uint32_t kCount, class Row, class AddRow>
  __device__ static void AddGroup(const RowFormat& format, const Row& row, const Group& group,
                                  AddRow add) {
    const std::byte* const centroids = format.learned + format.rotation_bytes();
    const std::byte* factors = group.rotation;
    uint32_t word = 0;
    bool first = true;
    uint32_t part = group.first / format.width();
    for (uint32_t i = 0; i < group.columns; ++part) {
      const uint32_t bit = part * format.part_bits;
      if (first || bit % 32 == 0) word = row.Bytes(bit / 32 * 4, format.code_bytes);
      first = false;
      const std::byte* const centroid =
          CentroidOf(format, centroids, part, word >> bit % 32 & (format.ksub() - 1));
      const uint32_t width = format.WidthOf(part);
#pragma unroll 4
      for (uint32_t t = 0; t < width; ++t) {
        add(factors, LoadCentroid(centroid + 2 * t));
        factors += group.columns * 4;
      }
      i += width;
    }
  }
};

struct RQDecoder : GainDecoder {
  static constexpr uint32_t kAhead = 2;
  // Those of the first stages.
  template <uint32_t kCount>
  struct Codes {
    uint32_t word;
    template <class Row>
    __device__ void Fetch(const RowFormat& format, const Row& row, uint32_t) {
      word = row.Bytes(0, format.code_bytes);
    }
  };

  __device__ RQDecoder(const SideData& side, const RowFormat&) : GainDecoder(side) {}
  template <uint32_t kCount, class Row>
  __device__ void Values(const Codes<kCount>& codes, const RowFormat& format, const Row& row,
                         uint32_t column, const NoColumns<kCount>&, float* out) const {
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) out[v] = 0;
    const bool fours =
        format.full_dim % 4 == 0 && reinterpret_cast<uintptr_t>(format.learned) % 8 == 0;
    uint32_t word = codes.word;
    for (uint32_t stage = 0; stage < format.parts; ++stage) {
      const uint32_t bit = stage * format.part_bits;
      if (stage != 0 && bit % 32 == 0) word = row.Bytes(bit / 8, format.code_bytes);
      const uint32_t code = word >> bit % 32 & (format.ksub() - 1);
      const std::byte* const centroid =
          format.learned +
          ((uint64_t{stage} * format.ksub() + code) * format.full_dim + column) * 2;
#pragma unroll
      for (uint32_t v = 0; v < kCount; v += 4) {
        float four[4] = {};
        if (fours) {
          if (column + v < format.dim) LoadFourCentroids(centroid + 2 * v, four);
        } else {
#pragma unroll
          for (uint32_t i = 0; i < 4; ++i) {
            if (column + v + i < format.dim) four[i] = LoadCentroid(centroid + 2 * (v + i));
          }
        }
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) out[v + i] = __fadd_rn(out[v + i], four[i]);
      }
    }
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) out[v] = __fmul_rn(gain, out[v]);
  }
};

}  // namespace edo::kernels::GPU_BACKEND_NS
