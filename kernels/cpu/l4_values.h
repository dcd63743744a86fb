// Nibbles to values, a block at a time; to be inlined into a clone.
#pragma once

#include <array>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/float_lanes.h"
#include "kernels/cpu/lanes16.h"
#include "kernels/l4_levels.h"

namespace edo::kernels {

// The first side datum of L4, L4+4 and their kin with a profile: a scale that is not negative, and
// where the outermost range of L4+4 ends.
struct L4Side {
  float scale;
  bool ends_near;
  EDO_SIMD_INLINE explicit L4Side(const std::byte* side) {
    const uint32_t bits = LoadAt<uint16_t>(side, 0);
    scale = LaneBF16ToF32(static_cast<uint16_t>(bits & ~kL4EndsNear));
    ends_near = (bits & kL4EndsNear) != 0;
  }
};

inline constexpr std::array<int8_t, 16> kLevels = [] {
  std::array<int8_t, 16> levels{};
  for (uint32_t i = 0; i < 16; ++i) levels[i] = static_cast<int8_t>(L4Level(i));
  return levels;
}();

inline constexpr uint32_t kBlock = 32;  // values decoded at once: 16 bytes of nibbles

// Levels of 32 values whose nibbles begin at `nibbles`.
EDO_SIMD_INLINE void LevelsOf(const std::byte* nibbles, int8_t* out) {
  Byte16 levels;
  std::memcpy(&levels, kLevels.data(), sizeof levels);
  using UnsignedByte16 = uint8_t __attribute__((vector_size(16)));
  UnsignedByte16 codes;
  std::memcpy(&codes, nibbles, sizeof codes);
  const Byte16 low = __builtin_shuffle(levels, (Byte16)(codes & 15));
  const Byte16 high = __builtin_shuffle(levels, (Byte16)(codes >> 4));
  // Stored at once: a load of all 32 would have to wait for two stores.
  const auto both =
      __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8,
                              24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  std::memcpy(out, &both, sizeof both);
}

// A value from its level, which the codecs differ in; `i` counts from the first value decoded.
struct TimesScale {
  float scale;
  EDO_SIMD_INLINE float operator()(size_t, float level) const { return level * scale; }
};

// Values [first, first + count) in floats; `out` of any alignment. By way of bytes: GCC does not
// vectorise the conversion of a vector of bytes, but that of an array. The last block overlaps the
// one before it: values twice are faster than values one at a time.
template <class Value>
EDO_SIMD_INLINE void L4Values(const std::byte* nibbles, uint32_t first, uint32_t count,
                              std::byte* __restrict out, const Value& value) {
  nibbles += first / 2;
  const auto block = [&](size_t at) __attribute__((always_inline)) {
    int8_t levels[kBlock];
    LevelsOf(nibbles + at / 2, levels);
    for (size_t lane = 0; lane < kBlock; ++lane) {
      StoreAt(out, at + lane, value(at + lane, static_cast<float>(levels[lane])));
    }
  };
  size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) block(i);
  if (i + 1 < count && count >= kBlock) {
    i = (count - kBlock) & ~size_t{1};
    block(i);
    i += kBlock;
  }
  for (; i < count; ++i) {
    const uint32_t nibble = static_cast<uint8_t>(nibbles[i / 2]) >> i % 2 * 4 & 15;
    StoreAt(out, i, value(i, static_cast<float>(kLevels[nibble])));
  }
}

// Levels of L4+4 by nibble | step << 4.
using FineLevels = std::array<float, 256>;
constexpr FineLevels MakeFineLevels(bool ends_near) {
  FineLevels levels{};
  for (uint32_t i = 0; i < 256; ++i) {
    levels[i] = static_cast<float>(L4Plus4Level64(i & 15, i >> 4, ends_near)) * 0x1p-6f;
  }
  return levels;
}
inline constexpr FineLevels kFineLevels = MakeFineLevels(false);
inline constexpr FineLevels kNearFineLevels = MakeFineLevels(true);

template <class Value>
EDO_SIMD_INLINE void L4Plus4Values(const std::byte* nibbles, const std::byte* steps, bool ends_near,
                                   uint32_t first, uint32_t count, std::byte* __restrict out,
                                   const Value& value) {
  const float* const levels = (ends_near ? kNearFineLevels : kFineLevels).data();
  nibbles += first / 2;
  steps += first / 2;
  for (uint32_t i = 0; i + 1 < count; i += 2) {
    const auto b = static_cast<uint32_t>(nibbles[i / 2]);
    const auto r = static_cast<uint32_t>(steps[i / 2]);
    StoreAt(out, i, value(i, levels[(b & 15) | (r & 15) << 4]));
    StoreAt(out, i + 1, value(i + 1, levels[b >> 4 | (r & 0xf0)]));
  }
  if (count % 2 == 0) return;
  const auto b = static_cast<uint32_t>(nibbles[count / 2]);
  const auto r = static_cast<uint32_t>(steps[count / 2]);
  StoreAt(out, count - 1, value(count - 1, levels[(b & 15) | (r & 15) << 4]));
}

// The other types by way of floats, a piece at a time.
template <DecodeRowFunction kToF32, FloatType kType>
void DecodeByFloats(const RowFormat& format, const std::byte* codes, const std::byte* side,
                    uint32_t first, uint32_t count, std::byte* out) {
  constexpr uint32_t kPiece = 256;
  float values[kPiece];
  for (uint32_t at = 0; at < count; at += kPiece) {
    const uint32_t piece = count - at < kPiece ? count - at : kPiece;
    kToF32(format, codes, side, first + at, piece, reinterpret_cast<std::byte*>(values));
    StoreFloats(values, piece, kType, out + size_t{at} * FloatTypeBytes(kType));
  }
}
template <DecodeRowFunction kToF32>
DecodeRowFunction PickByType(FloatType type) {
  if (type == FloatType::kF16) return DecodeByFloats<kToF32, FloatType::kF16>;
  return type == FloatType::kBF16 ? DecodeByFloats<kToF32, FloatType::kBF16> : kToF32;
}

}  // namespace edo::kernels
