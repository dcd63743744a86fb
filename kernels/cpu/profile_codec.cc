// CPU bodies of the profile codecs: a row is a * mean + b * deviation * levels, with a and b of its
// own, or plain levels where those come closer. See docs/codecs.md, "Profile".
#include <cmath>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/int8_values.h"
#include "kernels/cpu/l4_search.h"
#include "kernels/cpu/l4_values.h"
#include "kernels/float_convert.h"
#include "kernels/normal_row.h"

namespace edo::kernels {
namespace {

constexpr uint16_t kPlainRow = 0x8000;  // a = -0: the row does without the profile

// ---- encode ----

EDO_SIMD_CLONES
void TakeOut(const float* row, const Profile& profile, uint32_t dim, float up, float a, float* y) {
  for (uint32_t i = 0; i < dim; ++i) {
    y[i] = (row[i] * up - a * profile.mean[i]) * profile.inverse[i];
  }
}

// What least squares needs: x = a * mean + b * deviation * level.
struct FitSums {
  float weighted = 0;     // sum of deviation^2 * y * level
  float squares = 0;      // sum of deviation^2 * level^2
  float mean_level = 0;   // sum of mean * deviation * level
  float value_level = 0;  // sum of x * deviation * level
};

EDO_SIMD_CLONES
FitSums SumFits(const float* row, const float* y, const Profile& profile, uint32_t dim, float up,
                float inverse) {
  Float16 sums[4] = {};
  ForEachLanes(
      dim,
      [&](const Float16&, const Float16& v, const Float16& x, const Float16& weight,
          const Float16& mean, const Float16& deviation) {
        Float16 level;  // behind the last value it is wrong, and multiplied by a weight of 0
        NearestLevels(v * inverse, &level);
        sums[0] += weight * v * level;
        sums[1] += weight * level * level;
        sums[2] += mean * deviation * level;
        sums[3] += x * up * deviation * level;
      },
      y, row, profile.weight, profile.mean, profile.deviation);
  return {SumOfLanes(sums[0]), SumOfLanes(sums[1]), SumOfLanes(sums[2]), SumOfLanes(sums[3])};
}

EDO_SIMD_CLONES
float SumLevelErrors(const float* y, const float* weight, uint32_t dim, float scale,
                     float inverse) {
  Float16 errors{};
  ForEachLanes(
      dim,
      [&](const Float16&, const Float16& v, const Float16& w) {
        Float16 level;
        NearestLevels(v * inverse, &level);
        const Float16 error = v - level * scale;
        errors += w * error * error;
      },
      y, weight);
  return SumOfLanes(errors);
}

// Rounds to the nearest integer below 2^22, ties to even.
EDO_SIMD_INLINE float Rounded(float v) { return (v + 0x1.8p23f) - 0x1.8p23f; }

EDO_SIMD_CLONES
float SumInt8Errors(const float* y, const float* weight, uint32_t dim, float scale) {
  Float16 errors{};
  ForEachLanes(
      dim,
      [&](const Float16&, const Float16& v, const Float16& w) {
        const Float16 error = v - ((v / scale + 0x1.8p23f) - 0x1.8p23f) * scale;
        errors += w * error * error;
      },
      y, weight);
  return SumOfLanes(errors);
}

// A way to encode the row with the profile.
struct Fit {
  uint16_t a_bits = 0, b_bits = 0;
  float b = 0;  // of the normal row
  float error = 0;
  bool found = false;
  bool ends_near = false;  // L4+4
};

// The best b for the levels of `y`.
Fit FindScale(RowCodec codec, const Profile& profile, const float* y, const float* row,
              uint32_t dim, const NormalRow& normal, float* refit_a) {
  Fit best;
  const auto least_for = [&](float largest_code) -> uint16_t {
    return ScaleBitsUp(LargestMagnitude(y, dim) * normal.down, largest_code);
  };
  constexpr uint16_t kLargestFinite = 0x7f7f;
  if (codec == RowCodec::kPInt8) {
    best.b_bits = least_for(127);
    best.b = BF16ToF32(best.b_bits) * normal.up;
    best.found = best.b > 0 && best.b_bits < kLargestFinite;
    if (best.found) best.error = SumInt8Errors(y, profile.weight, dim, best.b);
    return best;
  }
  const auto fits = [&](float scale) {
    return SumFits(row, y, profile, dim, normal.up, 1.0f / scale);
  };
  const auto refit = [&](float scale) {
    const FitSums sums = fits(scale);
    return sums.weighted / sums.squares;
  };
  float squares = ScaledSumOfSquares(y, dim, 1);
  if (!(squares > 0) || !std::isfinite(squares)) return best;
  const float start =
      refit(refit(std::sqrt(squares / static_cast<float>(dim)) / kL4LevelsADeviation));
  for (int step = 0; step < 9; ++step) {
    Fit tried;
    const float factor = 0.75f + 0.075f * static_cast<float>(step);
    tried.b = normal.Stored(refit(start * factor), &tried.b_bits);
    if (!(tried.b > 0) || tried.b_bits >= kLargestFinite) continue;
    tried.error = SumLevelErrors(y, profile.weight, dim, tried.b, 1.0f / tried.b);
    tried.found = true;
    if (!best.found || tried.error < best.error) best = tried;
  }
  if (!best.found) return best;
  if (refit_a != nullptr) {  // least squares of a and b together, levels as they are
    const FitSums s = fits(best.b);
    const float mean_value = DotProduct(row, profile.mean, dim) * normal.up;
    const float determinant = profile.mean_square * s.squares - s.mean_level * s.mean_level;
    if (determinant > 0) {
      *refit_a = (mean_value * s.squares - s.value_level * s.mean_level) / determinant;
    }
  }
  if (codec == RowCodec::kPL4Plus4) {
    const uint16_t least = least_for(kL4Plus4End);
    if (best.b_bits < least) {
      best.b_bits = least;
      best.b = BF16ToF32(least) * normal.up;
      best.found = least < kLargestFinite;
    }
    best.ends_near = best.b_bits >= least_for(kL4Plus4NearEnd);
  }
  return best;
}

void WriteRow(RowCodec codec, const float* y, uint32_t dim, const Fit& fit, std::byte* out) {
  const uint32_t nibble_bytes = (dim + 1) / 2;
  const float inverse = 1.0f / fit.b;
  uint32_t code_bytes = dim;
  if (codec == RowCodec::kPInt8) {
    for (uint32_t i = 0; i < dim; ++i) {
      out[i] = static_cast<std::byte>(static_cast<int8_t>(Rounded(y[i] / fit.b)));
    }
  } else {
    std::byte* const steps = out + nibble_bytes;
    const bool fine = codec == RowCodec::kPL4Plus4;
    for (uint32_t i = 0; i < dim; i += 2) {
      const float low = y[i] * inverse;
      const float high = i + 1 < dim ? y[i + 1] * inverse : 0;
      const uint32_t a = NearestNibble(low);
      const uint32_t b = i + 1 < dim ? NearestNibble(high) : 0;
      out[i / 2] = static_cast<std::byte>(a | b << 4);
      if (fine) {
        const uint32_t step = i + 1 < dim ? StepOf(high, b, fit.ends_near) : 0;
        steps[i / 2] = static_cast<std::byte>(StepOf(low, a, fit.ends_near) | step << 4);
      }
    }
    code_bytes = fine ? 2 * nibble_bytes : nibble_bytes;
  }
  StoreAt(out + code_bytes, 0,
          static_cast<uint16_t>(fit.b_bits | (fit.ends_near ? kL4EndsNear : 0)));
  StoreAt(out + code_bytes, 1, fit.a_bits);
}

// Squared error of an encoded row, as it decodes.
float ErrorOf(RowCodec codec, const Profile& profile, const float* row, uint32_t dim,
              const NormalRow& normal, const std::byte* encoded, float* values) {
  RowFormat format = MakeRowFormat(codec, dim);
  // Mean and deviation follow each other in what the table has learned, and so does a Profile.
  format.learned = reinterpret_cast<const std::byte*>(profile.mean);
  ProfileRowDecoder(codec, FloatType::kF32)(format, encoded, encoded + format.code_bytes, 0, dim,
                                            reinterpret_cast<std::byte*>(values));
  for (uint32_t i = 0; i < dim; ++i) values[i] = (row[i] - values[i]) * normal.up;
  return ScaledSumOfSquares(values, dim, 1);
}

void EncodePlain(RowCodec codec, const float* row, uint32_t dim, std::byte* out) {
  const RowFormat format = MakeRowFormat(codec, dim);
  switch (codec) {
    case RowCodec::kPInt8:
      EncodeInt8Row(row, dim, out);
      break;
    case RowCodec::kPL4:
      EncodeL4Row(row, dim, out);
      break;
    default:
      EncodeL4Plus4Row(row, dim, out);
      break;
  }
  StoreAt(out + format.code_bytes, 1, kPlainRow);
}

// ---- decode ----

struct RowScales {
  float b, a;
  bool ends_near, plain;
  EDO_SIMD_INLINE explicit RowScales(const std::byte* side)
      : a(LaneBF16ToF32(LoadAt<uint16_t>(side, 1))), plain(IsPlain(side)) {
    const L4Side first(side);
    b = first.scale;
    ends_near = first.ends_near;
  }
  EDO_SIMD_INLINE static bool IsPlain(const std::byte* side) {
    return LoadAt<uint16_t>(side, 1) == kPlainRow;
  }
};

EDO_SIMD_INLINE float SignedByte(const std::byte* codes, size_t i) {
  return static_cast<float>(static_cast<int8_t>(codes[i]));
}

// Value i of a row with a profile from its level.
struct FromProfile {
  const std::byte* mean;
  const std::byte* deviation;
  float a, b;
  EDO_SIMD_INLINE FromProfile(const RowFormat& format, const RowScales& row, uint32_t first)
      : mean(format.learned + size_t{first} * 4),
        deviation(mean + size_t{format.full_dim} * 4),
        a(row.a),
        b(row.b) {}
  EDO_SIMD_INLINE float operator()(size_t i, float level) const {
    return a * LoadAt<float>(mean, i) + (b * LoadAt<float>(deviation, i)) * level;
  }
};

EDO_SIMD_CLONES
void DecodePInt8(const RowFormat& format, const std::byte* codes, const std::byte* side,
                 uint32_t first, uint32_t count, std::byte* __restrict out) {
  codes += first;
  if (RowScales::IsPlain(side)) {
    const Int8Values values(codes, side);
    return values.Store(count, out);
  }
  const RowScales row(side);
  const FromProfile value(format, row, first);
  for (size_t i = 0; i < count; ++i) StoreAt(out, i, value(i, SignedByte(codes, i)));
}

EDO_SIMD_CLONES
void DecodePL4(const RowFormat& format, const std::byte* codes, const std::byte* side,
               uint32_t first, uint32_t count, std::byte* __restrict out) {
  const RowScales row(side);
  if (row.plain) return L4Values(codes, first, count, out, TimesScale{row.b});
  L4Values(codes, first, count, out, FromProfile(format, row, first));
}

EDO_SIMD_CLONES
void DecodePL4Plus4(const RowFormat& format, const std::byte* codes, const std::byte* side,
                    uint32_t first, uint32_t count, std::byte* __restrict out) {
  const RowScales row(side);
  const std::byte* const steps = codes + format.nibble_bytes();
  if (row.plain) {
    return L4Plus4Values(codes, steps, row.ends_near, first, count, out, TimesScale{row.b});
  }
  L4Plus4Values(codes, steps, row.ends_near, first, count, out, FromProfile(format, row, first));
}

}  // namespace

void EncodeProfileRow(RowCodec codec, const Profile& profile, const float* row, uint32_t dim,
                      float* scratch, std::byte* out) {
  EncodePlain(codec, row, dim, out);
  NormalRow normal;
  if (!NormalRow::Make(row, dim, &normal)) return;
  float* const y = scratch;
  const auto fit_with = [&](float a, float* refit_a) {
    uint16_t bits = 0;
    const float stored = normal.Stored(a, &bits);
    if (bits == kPlainRow) bits = 0;
    TakeOut(row, profile, dim, normal.up, stored, y);
    Fit fit = FindScale(codec, profile, y, row, dim, normal, refit_a);
    fit.a_bits = bits;
    return fit;
  };
  // Each column pulls by what it knows: a = sum(x mean / deviation^2) / sum(mean^2 / deviation^2).
  float a = 0;
  if (profile.mean_pull > 0) {
    a = DotProduct(row, profile.pull, dim) * normal.up / profile.mean_pull;
  }
  float better_a = a;
  Fit fit = fit_with(a, &better_a);
  if (!fit.found) return;
  if (better_a != a && std::isfinite(better_a)) {
    const Fit second = fit_with(better_a, nullptr);
    if (second.found && second.error < fit.error) {
      fit = second;
    } else {
      TakeOut(row, profile, dim, normal.up, BF16ToF32(fit.a_bits) * normal.up, y);
    }
  }
  // The bytes of both ways side by side; the plain one stays when it decodes no worse.
  float* const values = scratch + dim;
  const float plain_error = ErrorOf(codec, profile, row, dim, normal, out, values);
  if (codec != RowCodec::kPL4Plus4 && fit.error >= plain_error) return;
  const RowFormat format = MakeRowFormat(codec, dim);
  std::byte* const tried = reinterpret_cast<std::byte*>(scratch + 2 * size_t{dim});
  WriteRow(codec, y, dim, fit, tried);
  if (ErrorOf(codec, profile, row, dim, normal, tried, values) < plain_error) {
    std::memcpy(out, tried, format.row_bytes());
  }
}

DecodeRowFunction ProfileRowDecoder(RowCodec codec, FloatType out_type) {
  if (codec == RowCodec::kPInt8) return PickByType<DecodePInt8>(out_type);
  return codec == RowCodec::kPL4 ? PickByType<DecodePL4>(out_type)
                                 : PickByType<DecodePL4Plus4>(out_type);
}

}  // namespace edo::kernels
