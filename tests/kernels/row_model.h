// What rows of every RowCodec mean, as plain loops written from docs/codecs.md, and rows and
// learned tables to try them on. Shared by the tests of backends and of the row cache. Nothing here
// calls a kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/float_convert.h"
#include "kernels/row_format.h"

namespace edo::test {

// ---- meaning -----------------------------------------------------------------------------------

template <class T>
T ReadAs(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
inline float HalfValueAt(const std::byte* p) { return kernels::BF16ToF32(ReadAs<uint16_t>(p)); }

// Levels of L4, the positive ones; and where the range of each begins and the last ends.
inline constexpr float kModelLevels[8] = {6, 18, 30, 43, 58, 74, 95, 126};
inline constexpr float kModelRanges[9] = {0, 12, 24, 36.5f, 50.5f, 66, 84.5f, 110.5f, 166};

inline float E4M3Value(uint32_t code) {
  const int exponent = static_cast<int>(code >> 3 & 15);
  const auto fraction = static_cast<float>(code & 7);
  const float magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}
inline uint32_t NibbleAt(const std::byte* nibbles, uint32_t i) {
  return static_cast<uint32_t>(nibbles[i / 2]) >> i % 2 * 4 & 15;
}
// What two bytes of side data say of an INT8 row: bit 15 tells of an offset, whose number is in the
// three bits that the scale then lacks.
inline float Int8RowScale(const std::byte* side) {
  const uint16_t bits = ReadAs<uint16_t>(side);
  return kernels::BF16ToF32(bits < 0x8000 ? bits : static_cast<uint16_t>(bits % 0x8000 / 8 * 8));
}
inline float Int8RowOffset(const std::byte* side) {
  constexpr float kOffsets[8] = {-32, -24, -16, -8, 8, 16, 24, 32};
  const uint16_t bits = ReadAs<uint16_t>(side);
  return bits < 0x8000 ? 0.0f : kOffsets[bits % 8];
}
// The level of value i, of codecs that have levels.
inline float LevelOfRow(const kernels::RowFormat& format, const std::byte* row, uint32_t i) {
  using kernels::RowCodec;
  switch (format.codec) {
    case RowCodec::kInt8:
    case RowCodec::kPInt8:
      return static_cast<float>(static_cast<int8_t>(row[i]));
    case RowCodec::kF8:
      return E4M3Value(static_cast<uint32_t>(row[i]));
    default:
      break;
  }
  const uint32_t nibble = NibbleAt(row, i);
  const bool positive = nibble >= 8;
  const uint32_t c = positive ? nibble - 8 : 7 - nibble;
  float magnitude = kModelLevels[c];
  if (format.codec == RowCodec::kL4Plus4 || format.codec == RowCodec::kPL4Plus4) {
    const uint32_t fine = NibbleAt(row + (format.full_dim + 1) / 2, i);
    // The sign of the scale: the outermost range ends nearer.
    const bool ends_near = ReadAs<uint16_t>(row + format.side_at()) >= 0x8000;
    const float end = c == 7 && ends_near ? 146.5f : kModelRanges[c + 1];
    const float step = (end - kModelRanges[c]) / 16;
    const auto steps = static_cast<float>(positive ? fine : 15 - fine);
    magnitude = kModelRanges[c] + (steps + 0.5f) * step;  // exact: multiples of 1/64
  }
  return positive ? magnitude : -magnitude;
}
// Code `part` of PQ and RQ.
inline uint32_t PartOfRow(const kernels::RowFormat& format, const std::byte* row, uint32_t part) {
  return format.part_bits == 8 ? static_cast<uint32_t>(row[part]) : NibbleAt(row, part);
}
// Value i of the centroids that a row of PQ names.
inline float CentroidOfRow(const kernels::RowFormat& format, const std::byte* centroids,
                           const std::byte* row, uint32_t i) {
  const uint32_t width = (format.full_dim + format.parts - 1) / format.parts;
  const uint32_t part = i / width;
  const uint32_t own_width = std::min(width, format.full_dim - part * width);
  const size_t books_before = size_t{part} * width << format.part_bits;
  const size_t in_book = size_t{PartOfRow(format, row, part)} * own_width + i % width;
  return HalfValueAt(centroids + (books_before + in_book) * 2);
}

// The first format.dim values of a row in binary32, every operation rounded.
inline std::vector<float> RowValues(const kernels::RowFormat& format, const std::byte* row) {
  using kernels::RowCodec;
  std::vector<float> values(format.dim);
  const std::byte* const side = row + format.side_at();
  const std::byte* const learned = format.learned;
  for (uint32_t i = 0; i < format.dim; ++i) {
    switch (format.codec) {
      case RowCodec::kF32:
        values[i] = ReadAs<float>(row + 4 * size_t{i});
        break;
      case RowCodec::kF16:
        values[i] = kernels::F16ToF32(ReadAs<uint16_t>(row + 2 * size_t{i}));
        break;
      case RowCodec::kBF16:
        values[i] = HalfValueAt(row + 2 * size_t{i});
        break;
      case RowCodec::kInt8:
        values[i] = (LevelOfRow(format, row, i) + Int8RowOffset(side)) * Int8RowScale(side);
        break;
      case RowCodec::kF8:
      case RowCodec::kL4:
      case RowCodec::kL4Plus4:
        values[i] = LevelOfRow(format, row, i) * std::fabs(HalfValueAt(side));
        break;
      case RowCodec::kPInt8:
      case RowCodec::kPL4:
      case RowCodec::kPL4Plus4: {
        const float b = std::fabs(HalfValueAt(side));
        const float a = HalfValueAt(side + 2);
        const float level = LevelOfRow(format, row, i);
        const float from_mean = a * ReadAs<float>(learned + 4 * size_t{i});
        const float step = b * ReadAs<float>(learned + 4 * (size_t{format.full_dim} + i));
        const float from_level = step * level;
        const bool plain = ReadAs<uint16_t>(side + 2) == 0x8000;
        if (plain && format.codec == RowCodec::kPInt8) {
          values[i] = (level + Int8RowOffset(side)) * Int8RowScale(side);
        } else {
          values[i] = plain ? level * b : from_mean + from_level;
        }
        break;
      }
      case RowCodec::kPQ:
        values[i] = CentroidOfRow(format, learned, row, i) * HalfValueAt(side);
        break;
      case RowCodec::kRotatedPQ:
        break;  // below
      case RowCodec::kRQ: {
        float sum = 0;
        for (uint32_t stage = 0; stage < format.parts; ++stage) {
          const size_t centroid =
              (size_t{stage} << format.part_bits) + PartOfRow(format, row, stage);
          sum = sum + HalfValueAt(learned + (centroid * format.full_dim + i) * 2);
        }
        values[i] = HalfValueAt(side) * sum;
        break;
      }
    }
  }
  if (format.codec != RowCodec::kRotatedPQ) return values;
  // Groups of as many whole parts as fit into 512 columns, one at least.
  const uint32_t width = (format.full_dim + format.parts - 1) / format.parts;
  const uint32_t group_columns =
      format.full_dim <= 512 ? format.full_dim : std::max(512 / width, 1u) * width;
  std::vector<std::pair<uint32_t, uint32_t>> groups;  // first column, columns
  size_t rotation_floats = 0;
  for (uint32_t at = 0; at < format.full_dim; at += group_columns) {
    groups.emplace_back(at, std::min(group_columns, format.full_dim - at));
    rotation_floats += size_t{groups.back().second} * groups.back().second;
  }
  const std::byte* rotation = learned;
  for (const auto& [first, columns] : groups) {
    std::vector<float> sums(columns, 0.0f);
    for (uint32_t i = 0; i < columns; ++i) {
      const float y = CentroidOfRow(format, learned + 4 * rotation_floats, row, first + i);
      for (uint32_t j = 0; j < columns; ++j) {
        const float product = y * ReadAs<float>(rotation + (size_t{i} * columns + j) * 4);
        sums[j] = sums[j] + product;
      }
    }
    for (uint32_t j = 0; j < columns && first + j < format.dim; ++j) {
      values[first + j] = HalfValueAt(side) * sums[j];
    }
    rotation += size_t{columns} * columns * 4;
  }
  return values;
}

// The bits of a value as output of a type.
inline uint32_t OutputBits(float value, FloatType type) {
  if (type == FloatType::kF16) return kernels::F32ToF16(value);
  return type == FloatType::kBF16 ? kernels::F32ToBF16(value) : std::bit_cast<uint32_t>(value);
}
// A row decoded, as the bits of each value; one of the output's type is copied as it is.
inline std::vector<uint32_t> RowBits(const kernels::RowFormat& format, const std::byte* row,
                                     FloatType type) {
  using kernels::RowCodec;
  const bool copied = (format.codec == RowCodec::kF16 && type == FloatType::kF16) ||
                      (format.codec == RowCodec::kBF16 && type == FloatType::kBF16);
  std::vector<uint32_t> bits(format.dim);
  const std::vector<float> values = copied ? std::vector<float>{} : RowValues(format, row);
  for (uint32_t i = 0; i < format.dim; ++i) {
    bits[i] = copied ? ReadAs<uint16_t>(row + 2 * size_t{i}) : OutputBits(values[i], type);
  }
  return bits;
}

// ---- rows to try -------------------------------------------------------------------------------

// Numbers that one seed gives (splitmix64); cheap to begin.
class ModelRandom {
 public:
  explicit ModelRandom(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  // Within +-2, 24 bits.
  float Small() {
    return std::ldexp(static_cast<float>(static_cast<int64_t>((*this)() >> 40)) - 0x1p23f, -22);
  }

 private:
  uint64_t state_;
};

// A format with what its codec needs; the seed draws parts, bits and what was learned. The last
// part of a PQ is often shorter. `learned` keeps the memory.
struct ModelFormat {
  kernels::RowFormat format;
  std::shared_ptr<const std::vector<std::byte>> learned;
  uint32_t offset = 0;  // of what was learned, in memory that is aligned: a multiple of 4
};
inline ModelFormat MakeModelFormat(kernels::RowCodec codec, uint32_t dim, uint32_t parts,
                                   uint32_t bits, uint64_t seed) {
  ModelRandom random(seed ^ 0x1ea4);
  ModelFormat made{kernels::MakeRowFormat(codec, dim, parts, bits), nullptr,
                   std::vector<uint32_t>{0, 0, 4, 8}[random() % 4]};
  auto learned = std::make_shared<std::vector<std::byte>>(made.format.learned_bytes());
  const auto put = [&](size_t at, const auto& value) {
    std::memcpy(learned->data() + at, &value, sizeof value);
  };
  const size_t floats =
      (made.format.has_profile() ? learned->size() : made.format.rotation_bytes()) / 4;
  for (size_t i = 0; i < floats; ++i) {
    const float value = random.Small();
    const bool deviation = made.format.has_profile() && i >= dim;
    put(4 * i, deviation ? std::fabs(value) + 0x1p-20f : value);
  }
  for (size_t at = 4 * floats; at < learned->size(); at += 2) {
    put(at, kernels::F32ToBF16(random.Small()));
  }
  made.learned = std::move(learned);
  if (!made.learned->empty()) made.format.learned = made.learned->data();
  return made;
}
inline ModelFormat MakeModelFormat(kernels::RowCodec codec, uint32_t dim, uint64_t seed) {
  using kernels::RowCodec;
  ModelRandom random(seed ^ 0x5eed);
  uint32_t parts = 0, bits = 0;
  if (codec == RowCodec::kPQ || codec == RowCodec::kRotatedPQ) {
    const uint32_t wanted = std::vector<uint32_t>{1, 2, 3, 4, 5, 8, 16, 24}[random() % 8];
    const uint32_t width = std::min(wanted, dim);
    parts = (dim + width - 1) / width;
    bits = random() % 2 == 0 ? 4 : 8;
    // Of the widths that give as many parts the format knows the least.
    while ((dim + parts - 1) / parts * (parts - 1) >= dim) --parts;
  } else if (codec == RowCodec::kRQ) {
    parts = 1 + static_cast<uint32_t>(random() % 6);
    bits = dim * parts > 1000 || random() % 2 == 0 ? 4 : 8;  // or the table is large
    if (bits == 4 && random() % 4 == 0) parts += 8;          // codes of more than four bytes
  }
  ModelFormat made = MakeModelFormat(codec, dim, parts, bits, seed);
  const bool refined = codec == RowCodec::kL4Plus4 || codec == RowCodec::kPL4Plus4;
  if (refined && random() % 3 == 0) made.format = kernels::BaseOf(made.format);  // without it
  return made;
}

// One in eight: infinity, NaN with a payload, zero, a subnormal; by the width of the type (17
// stands for bfloat16).
inline uint64_t SpecialBits(uint64_t bits, int type) {
  if ((bits >> 40) % 8 != 0) return bits;
  const uint64_t infinity = type == 32 ? 0x7f800000u : type == 16 ? 0x7c00u : 0x7f80u;
  const uint64_t sign = (bits >> 44 & 1) << (type == 32 ? 31 : 15);
  const uint64_t payload = bits & (type == 32 ? 0x7fffffu : type == 16 ? 0x3ffu : 0x7fu);
  switch ((bits >> 45) % 4) {
    case 0:
      return sign | infinity;
    case 1:
      return sign | infinity | payload;  // NaN, quiet or not
    case 2:
      return sign;
    default:
      return sign | payload;  // subnormal
  }
}

// A row as on disk, all of it drawn by the seed. `finite`: sums of many stay finite; else exact
// codecs have any bits, and scales alone go from the smallest to the largest.
inline std::vector<std::byte> RandomRow(const kernels::RowFormat& format, uint64_t seed,
                                        bool finite) {
  using kernels::RowCodec;
  ModelRandom random(seed);
  std::vector<std::byte> bytes(format.row_bytes());
  const auto put = [&](size_t at, const auto& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  const bool exact = format.side_bytes == 0;
  for (uint32_t i = 0; exact && i < format.full_dim; ++i) {
    const uint64_t bits = random();
    const float value =
        std::ldexp(static_cast<float>(static_cast<int64_t>(bits >> 32) % 65537 - 32768),
                   -static_cast<int>(bits % 24));
    if (format.codec == RowCodec::kF32) {
      finite ? put(4 * size_t{i}, value)
             : put(4 * size_t{i}, static_cast<uint32_t>(SpecialBits(bits, 32)));
    } else if (format.codec == RowCodec::kF16) {
      put(2 * size_t{i},
          finite ? kernels::F32ToF16(value) : static_cast<uint16_t>(SpecialBits(bits, 16)));
    } else {
      put(2 * size_t{i},
          finite ? kernels::F32ToBF16(value) : static_cast<uint16_t>(SpecialBits(bits, 17)));
    }
  }
  if (exact) return bytes;
  for (uint32_t at = 0; at < format.side_at(); ++at) {
    bytes[at] = static_cast<std::byte>(random() >> 56);
  }
  // Of an odd row of nibbles the last is none; it is zero.
  if (format.value_bits() == 4 && format.full_dim % 2 != 0) {
    bytes[format.code_bytes - 1] &= std::byte{15};
  }
  const bool wide = !finite && format.learned_bytes() == 0;
  const float scale = std::ldexp(1.0f + static_cast<float>(random() % 128) / 128,
                                 static_cast<int>(random() % (wide ? 250 : 12)) - (wide ? 126 : 6));
  // In half of the rows the sign of the scale says what it says of INT8 and of L4 in all its forms.
  const bool sign = format.value_bits() != 0
                        ? format.codec == RowCodec::kInt8 || format.codec == RowCodec::kL4 ||
                              format.codec == RowCodec::kPInt8 || format.codec == RowCodec::kPL4
                        : format.parts == 0;
  const uint64_t signed_bits = sign ? random() % 2 << 15 : 0;
  put(format.side_at(), static_cast<uint16_t>(kernels::F32ToBF16(scale) | signed_bits));
  if (format.has_profile()) {
    const bool plain = random() % 3 == 0;
    put(format.side_at() + 2,
        plain ? uint16_t{0x8000} : kernels::F32ToBF16(random() % 8 == 0 ? 0.0f : random.Small()));
  }
  return bytes;
}

}  // namespace edo::test
