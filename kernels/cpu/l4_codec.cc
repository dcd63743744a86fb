// CPU bodies of L4 and L4+4. See docs/codecs.md for the rules, l4_levels.h for the levels.
#include <cmath>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/l4_search.h"
#include "kernels/cpu/l4_values.h"
#include "kernels/float_convert.h"
#include "kernels/normal_row.h"

namespace edo::kernels {
namespace {

// ---- encode ----

struct LevelSums {
  float products = 0;  // sum of x * level
  float squares = 0;   // sum of level^2
};

// Of x = row * up, level = the nearest to x * inverse.
EDO_SIMD_CLONES
LevelSums SumLevels(const float* row, size_t dim, float up, float inverse) {
  Float16 products{}, squares{};
  ForEachLanes(
      dim,
      [&](const Float16& live, const Float16& v) {
        const Float16 x = v * up;
        Float16 level;
        NearestLevels(x * inverse, &level);
        level *= live;
        products += x * level;
        squares += level * level;
      },
      row);
  return {SumOfLanes(products), SumOfLanes(squares)};
}

// Sum of (x - level * scale)^2.
EDO_SIMD_CLONES
float SumErrors(const float* row, size_t dim, float up, float scale, float inverse) {
  Float16 errors{};
  ForEachLanes(
      dim,
      [&](const Float16& live, const Float16& v) {
        const Float16 x = v * up;
        Float16 level;
        NearestLevels(x * inverse, &level);
        const Float16 error = (x - level * scale) * live;
        errors += error * error;
      },
      row);
  return SumOfLanes(errors);
}

EDO_SIMD_CLONES
void WriteNibbles(const float* row, uint32_t dim, float up, float inverse, std::byte* out) {
  for (uint32_t i = 0; i < dim; i += 2) {
    const uint32_t low = NearestNibble(row[i] * up * inverse);
    const uint32_t high = i + 1 < dim ? NearestNibble(row[i + 1] * up * inverse) : 0;
    out[i / 2] = static_cast<std::byte>(low | high << 4);
  }
}

EDO_SIMD_CLONES
void WriteSteps(const float* row, uint32_t dim, float up, float inverse, bool ends_near,
                const std::byte* nibbles, std::byte* out) {
  for (uint32_t i = 0; i < dim; i += 2) {
    const auto both = static_cast<uint32_t>(nibbles[i / 2]);
    const uint32_t low = StepOf(row[i] * up * inverse, both & 15, ends_near);
    const uint32_t high = i + 1 < dim ? StepOf(row[i + 1] * up * inverse, both >> 4, ends_near) : 0;
    out[i / 2] = static_cast<std::byte>(low | high << 4);
  }
}

struct Chosen {
  uint16_t bits = 0;
  float scale = 0;  // of the normal row
  float error = 0;
};

// The scale of least error among those that least squares gives from nine starts.
Chosen SearchScale(const float* row, uint32_t dim, const NormalRow& normal) {
  const auto refit = [&](float scale) {
    const LevelSums sums = SumLevels(row, dim, normal.up, 1.0f / scale);
    return sums.products / sums.squares;
  };
  float start = std::sqrt(normal.energy / static_cast<float>(dim)) / kL4LevelsADeviation;
  start = refit(refit(start));
  Chosen best;
  best.error = normal.energy;  // of a row of zeros
  for (int step = 0; step < 9; ++step) {
    Chosen tried;
    const float factor = 0.75f + 0.075f * static_cast<float>(step);
    tried.scale = normal.Stored(refit(start * factor), &tried.bits);
    if (!(tried.scale > 0)) continue;
    tried.error = SumErrors(row, dim, normal.up, tried.scale, 1.0f / tried.scale);
    if (tried.error < best.error) best = tried;
  }
  return best;
}

// ---- decode ----

EDO_SIMD_CLONES
void DecodeL4ToF32(const RowFormat&, const std::byte* codes, const std::byte* side, uint32_t first,
                   uint32_t count, std::byte* __restrict out) {
  L4Values(codes, first, count, out, TimesScale{L4Side(side).scale});
}
EDO_SIMD_CLONES
void DecodeL4Plus4ToF32(const RowFormat& format, const std::byte* codes, const std::byte* side,
                        uint32_t first, uint32_t count, std::byte* __restrict out) {
  const L4Side row(side);
  L4Plus4Values(codes, codes + format.nibble_bytes(), row.ends_near, first, count, out,
                TimesScale{row.scale});
}

}  // namespace

void EncodeL4Row(const float* row, uint32_t dim, std::byte* out) {
  const uint32_t nibble_bytes = (dim + 1) / 2;
  NormalRow normal;
  Chosen chosen;
  if (NormalRow::Make(row, dim, &normal)) chosen = SearchScale(row, dim, normal);
  // Without a scale the codes mean nothing; they are those of zeros.
  WriteNibbles(row, dim, normal.up, chosen.bits == 0 ? 0.0f : 1.0f / chosen.scale, out);
  StoreAt(out + nibble_bytes, 0, chosen.bits);
}

void EncodeL4Plus4Row(const float* row, uint32_t dim, std::byte* out) {
  const uint32_t nibble_bytes = (dim + 1) / 2;
  NormalRow normal;
  Chosen chosen;
  bool ends_near = false;
  if (NormalRow::Make(row, dim, &normal)) {
    chosen = SearchScale(row, dim, normal);
    // Every value must lie in the range of its level, or the refinement could not reach it.
    const float largest = LargestMagnitude(row, dim);
    const uint16_t least = ScaleBitsUp(largest, kL4Plus4End);
    if (chosen.bits < least) {  // bfloat16s that are not negative ascend as their bits do
      chosen.bits = least;
      chosen.scale = BF16ToF32(least) * normal.up;
    }
    ends_near = chosen.bits >= ScaleBitsUp(largest, kL4Plus4NearEnd);
  }
  const auto write = [&] {
    const float inverse = chosen.bits == 0 ? 0.0f : 1.0f / chosen.scale;
    WriteNibbles(row, dim, normal.up, inverse, out);
    WriteSteps(row, dim, normal.up, inverse, ends_near, out, out + nibble_bytes);
    const uint32_t end = chosen.bits != 0 && ends_near ? kL4EndsNear : 0;
    StoreAt(out + 2 * nibble_bytes, 0, static_cast<uint16_t>(chosen.bits | end));
  };
  write();
  constexpr uint16_t kLeastNormal = 0x0080;
  if (chosen.bits == 0 || chosen.bits >= kLeastNormal) return;
  // The steps of a denormal scale may be longer than the row: then zeros come closer.
  double error = 0, energy = 0;
  const FineLevels& levels = ends_near ? kNearFineLevels : kFineLevels;
  for (uint32_t i = 0; i < dim; ++i) {
    const auto nibble = static_cast<uint32_t>(out[i / 2]) >> i % 2 * 4 & 15;
    const auto step = static_cast<uint32_t>(out[nibble_bytes + i / 2]) >> i % 2 * 4 & 15;
    const double x = row[i];
    const double miss = x - double{levels[nibble | step << 4]} * BF16ToF32(chosen.bits);
    error += miss * miss;
    energy += x * x;
  }
  if (error <= energy) return;
  chosen = {};
  write();
}

void DropL4Refinement(const RowFormat& format, const std::byte* row, std::byte* out) {
  const uint32_t nibble_bytes = format.nibble_bytes();
  std::byte* const side = out + nibble_bytes;
  std::memcpy(out, row, nibble_bytes);
  std::memcpy(side, row + format.side_at(), format.side_bytes);
  StoreAt(side, 0, static_cast<uint16_t>(LoadAt<uint16_t>(side, 0) & ~kL4EndsNear));
}

DecodeRowFunction L4RowDecoder(FloatType out_type) { return PickByType<DecodeL4ToF32>(out_type); }
DecodeRowFunction L4Plus4RowDecoder(FloatType out_type) {
  return PickByType<DecodeL4Plus4ToF32>(out_type);
}

}  // namespace edo::kernels
