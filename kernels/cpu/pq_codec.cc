// CPU bodies that decode product and residual quantisers. See docs/codecs.md, "PQ", "OPQ", "RQ".
#include "kernels/codec_kernels.h"
#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/l4_values.h"
#include "kernels/cpu/lanes16.h"

namespace edo::kernels {
namespace {

EDO_SIMD_INLINE uint32_t CodeOf(const RowFormat& format, const std::byte* codes, uint32_t part) {
  if (format.part_bits == 8) return static_cast<uint32_t>(codes[part]);
  return static_cast<uint32_t>(codes[part / 2]) >> part % 2 * 4 & 15;
}
EDO_SIMD_INLINE float Gain(const std::byte* side) {
  return LaneBF16ToF32(LoadAt<uint16_t>(side, 0));
}

// The centroids of whole parts of kWidth values, times the gain.
template <uint32_t kWidth>
EDO_SIMD_INLINE void WholeParts(const RowFormat& format, const std::byte* centroids,
                                const std::byte* codes, float gain, uint32_t begin, uint32_t end,
                                std::byte* out) {
  const size_t book_bytes = size_t{format.ksub()} * kWidth * 2;
  for (uint32_t part = begin; part < end; ++part) {
    const std::byte* const centroid =
        centroids + part * book_bytes + size_t{CodeOf(format, codes, part)} * kWidth * 2;
    float values[kWidth];
    for (uint32_t t = 0; t < kWidth; ++t) {
      values[t] = LaneBF16ToF32(LoadAt<uint16_t>(centroid, t)) * gain;
    }
    std::memcpy(out, values, sizeof values);
    out += sizeof values;
  }
}

// Values [first, first + count) of the centroids, times the gain.
EDO_SIMD_INLINE void PQValues(const RowFormat& format, const std::byte* centroids,
                              const std::byte* codes, float gain, uint32_t first, uint32_t count,
                              std::byte* out) {
  const uint32_t width = format.width();
  const uint32_t end = first + count;
  // From one part to the next; a first and a last part may be cut.
  const auto some = [&](uint32_t part, uint32_t from, uint32_t to) {
    const std::byte* const centroid =
        centroids + (size_t{part} * format.ksub() * width +
                     size_t{CodeOf(format, codes, part)} * format.WidthOf(part)) *
                        2;
    for (uint32_t j = from; j < to; ++j) {
      StoreAt(out, j - first, LaneBF16ToF32(LoadAt<uint16_t>(centroid, j - part * width)) * gain);
    }
  };
  uint32_t at = first;
  if (at % width != 0) {
    const uint32_t to = (at / width + 1) * width < end ? (at / width + 1) * width : end;
    some(at / width, at, to);
    at = to;
  }
  const uint32_t begin = at / width;
  const uint32_t whole = at < end ? end / width : begin;
  std::byte* const to = out + size_t{at - first} * 4;
  switch (width) {
    case 1:
      WholeParts<1>(format, centroids, codes, gain, begin, whole, to);
      break;
    case 2:
      WholeParts<2>(format, centroids, codes, gain, begin, whole, to);
      break;
    case 4:
      WholeParts<4>(format, centroids, codes, gain, begin, whole, to);
      break;
    case 8:
      WholeParts<8>(format, centroids, codes, gain, begin, whole, to);
      break;
    default:
      for (uint32_t part = begin; part < whole; ++part) {
        some(part, part * width, (part + 1) * width);
      }
      break;
  }
  if (whole > begin) at = whole * width;
  if (at < end) some(at / width, at, end);
}

EDO_SIMD_CLONES
void DecodePQ(const RowFormat& format, const std::byte* codes, const std::byte* side,
              uint32_t first, uint32_t count, std::byte* out) {
  PQValues(format, format.learned, codes, Gain(side), first, count, out);
}

// sums[u] += values i of the vector times columns [at[u], at[u] + 16) of the rotation's row i, i
// ascending. The sums stay in registers.
template <uint32_t kVectors>
EDO_SIMD_INLINE void AddTurned(const float* values, uint32_t rows, const std::byte* rotation,
                               uint32_t columns, const size_t* at, Float16* sums) {
  for (uint32_t i = 0; i < rows; ++i) {
    const std::byte* const row = rotation + size_t{i} * columns * 4;
    for (uint32_t u = 0; u < kVectors; ++u) {
      Float16 turned;
      std::memcpy(&turned, row + at[u] * 4, sizeof turned);
      sums[u] = sums[u] + turned * values[i];
    }
  }
}

// value j = gain * (sum over i of centroid value i times rotation[i][j]), i ascending.
EDO_SIMD_CLONES
void DecodeRotatedPQ(const RowFormat& format, const std::byte* codes, const std::byte* side,
                     uint32_t first, uint32_t count, std::byte* out) {
  const float gain = Gain(side);
  const std::byte* const centroids = format.learned + format.rotation_bytes();
  const std::byte* rotation = format.learned;
  float values[kMostRotatedColumns];
  for (uint32_t group = 0; group < first + count; group += format.group_columns()) {
    const uint32_t columns = format.GroupColumnsAt(group);
    const uint32_t begin = group < first ? first : group;
    const uint32_t end = group + columns < first + count ? group + columns : first + count;
    uint32_t held = columns;  // where in the group `values` begin; only wider parts need several
    const auto values_from = [&](uint32_t base) __attribute__((always_inline)) {
      const uint32_t left = columns - base;
      const uint32_t rows = left < kMostRotatedColumns ? left : kMostRotatedColumns;
      if (held != base) {
        PQValues(format, centroids, codes, 1.0f, group + base, rows,
                 reinterpret_cast<std::byte*>(values));
        held = base;
      }
      return rows;
    };
    // Sixteen columns a vector; those that would reach beyond `end` (begin + 16 at least) begin
    // sixteen before it and overlap others.
    const auto block = [&]<uint32_t kVectors>(uint32_t at) __attribute__((always_inline)) {
      size_t from[kVectors];
      for (uint32_t u = 0; u < kVectors; ++u) {
        const uint32_t column = at + u * kLanes;
        from[u] = (column + kLanes <= end ? column : end - kLanes) - group;
      }
      Float16 sums[kVectors] = {};
      for (uint32_t base = 0; base < columns; base += kMostRotatedColumns) {
        const uint32_t rows = values_from(base);
        AddTurned<kVectors>(values, rows, rotation + size_t{base} * columns * 4, columns, from,
                            sums);
      }
      for (uint32_t u = 0; u < kVectors; ++u) {
        const Float16 scaled = sums[u] * gain;
        std::memcpy(out + (group + from[u] - first) * 4, &scaled, sizeof scaled);
      }
    };
    uint32_t at = begin;
    if (begin + kLanes <= end) {
      while (at < end) {
        const uint32_t left = end - at;
        if (left > 4 * kLanes) {
          block.template operator()<8>(at);
          at += 8 * kLanes;
        } else if (left > kLanes) {
          block.template operator()<4>(at);
          at += 4 * kLanes;
        } else {
          block.template operator()<1>(at);
          at += kLanes;
        }
      }
    }
    for (; at < end; ++at) {
      float sum = 0;
      for (uint32_t base = 0; base < columns; base += kMostRotatedColumns) {
        const uint32_t rows = values_from(base);
        for (uint32_t i = 0; i < rows; ++i) {
          sum = sum + values[i] * LoadAt<float>(rotation, size_t{base + i} * columns + at - group);
        }
      }
      StoreAt(out, at - first, gain * sum);
    }
    rotation += size_t{columns} * columns * 4;
  }
}

// value j = gain * (sum over the stages of their centroids' value j), stages ascending.
EDO_SIMD_CLONES
void DecodeRQ(const RowFormat& format, const std::byte* codes, const std::byte* side,
              uint32_t first, uint32_t count, std::byte* out) {
  const float gain = Gain(side);
  constexpr uint32_t kPiece = 64;
  for (uint32_t at = 0; at < count; at += kPiece) {
    const uint32_t piece = count - at < kPiece ? count - at : kPiece;
    float sums[kPiece] = {};
    for (uint32_t stage = 0; stage < format.parts; ++stage) {
      const std::byte* const centroid =
          format.learned +
          ((size_t{stage} * format.ksub() + CodeOf(format, codes, stage)) * format.full_dim +
           first + at) *
              2;
      for (uint32_t j = 0; j < piece; ++j) {
        sums[j] = sums[j] + LaneBF16ToF32(LoadAt<uint16_t>(centroid, j));
      }
    }
    for (uint32_t j = 0; j < piece; ++j) StoreAt(out, at + j, gain * sums[j]);
  }
}

}  // namespace

DecodeRowFunction PQRowDecoder(FloatType out_type) { return PickByType<DecodePQ>(out_type); }
DecodeRowFunction RotatedPQRowDecoder(FloatType out_type) {
  return PickByType<DecodeRotatedPQ>(out_type);
}
DecodeRowFunction RQRowDecoder(FloatType out_type) { return PickByType<DecodeRQ>(out_type); }

}  // namespace edo::kernels
