#include "storage/readers/element_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/float_convert.h"

namespace edo::storage {
namespace {

struct Known {
  ElementType type;
  std::string_view name;
  uint32_t bytes;
};
constexpr std::array kKnown{
    Known{ElementType::kF32, "f32", 4},        Known{ElementType::kF16, "f16", 2},
    Known{ElementType::kBF16, "bf16", 2},      Known{ElementType::kF64, "f64", 8},
    Known{ElementType::kI8, "i8", 1},          Known{ElementType::kU8, "u8", 1},
    Known{ElementType::kF8E4M3, "f8_e4m3", 1}, Known{ElementType::kF8E5M2, "f8_e5m2", 1},
};

// E4M3 of the OCP FP8 paper ("fn"): no infinities, S.1111.111 is NaN, largest 448.
float F8E4M3ToF32(uint8_t code) {
  const uint32_t exponent = (code >> 3) & 15u, mantissa = code & 7u;
  float magnitude;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(0x7fc00000u);
  if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-9f;
  } else {
    magnitude = std::bit_cast<float>((exponent + 120u) << 23 | mantissa << 20);
  }
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | (code & 0x80u) << 24);
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// `convert` takes the element's bits as an unsigned integer in the machine's order.
template <typename Bits, typename Convert>
void DecodeEach(bool big_endian, const std::byte* from, size_t count, float* to, Convert convert) {
  for (size_t i = 0; i < count; ++i) {
    Bits bits = Load<Bits>(from + i * sizeof(Bits));
    if constexpr (sizeof(Bits) > 1) {
      if (big_endian) {
        if constexpr (sizeof(Bits) == 2) bits = __builtin_bswap16(bits);
        if constexpr (sizeof(Bits) == 4) bits = __builtin_bswap32(bits);
        if constexpr (sizeof(Bits) == 8) bits = __builtin_bswap64(bits);
      }
    }
    to[i] = convert(bits);
  }
}

}  // namespace

uint32_t ElementBytes(ElementType type) { return kKnown[static_cast<size_t>(type)].bytes; }
std::string_view ElementName(ElementType type) { return kKnown[static_cast<size_t>(type)].name; }

void DecodeElements(ElementType type, bool big, const std::byte* from, size_t count, float* to) {
  switch (type) {
    case ElementType::kF32:
      if (!big) {
        std::memcpy(to, from, count * 4);
        return;
      }
      return DecodeEach<uint32_t>(big, from, count, to,
                                  [](uint32_t bits) { return std::bit_cast<float>(bits); });
    case ElementType::kF16:
      return DecodeEach<uint16_t>(big, from, count, to, kernels::F16ToF32);
    case ElementType::kBF16:
      return DecodeEach<uint16_t>(big, from, count, to, kernels::BF16ToF32);
    case ElementType::kF64:
      return DecodeEach<uint64_t>(big, from, count, to, [](uint64_t bits) {
        return static_cast<float>(std::bit_cast<double>(bits));
      });
    case ElementType::kI8:
      return DecodeEach<uint8_t>(big, from, count, to,
                                 [](uint8_t bits) { return static_cast<float>(int8_t(bits)); });
    case ElementType::kU8:
      return DecodeEach<uint8_t>(big, from, count, to,
                                 [](uint8_t bits) { return static_cast<float>(bits); });
    case ElementType::kF8E4M3:
      return DecodeEach<uint8_t>(big, from, count, to, F8E4M3ToF32);
    case ElementType::kF8E5M2:  // the upper byte of a binary16
      return DecodeEach<uint8_t>(big, from, count, to, [](uint8_t bits) {
        return kernels::F16ToF32(static_cast<uint16_t>(bits << 8));
      });
  }
}

double DecodeF64(bool big_endian, const std::byte* from) {
  return std::bit_cast<double>(LoadUnsigned(from, 8, big_endian));
}

std::optional<RawType> ParseRawType(std::string_view name) {
  RawType raw;
  raw.big_endian = name.starts_with("be-");
  if (raw.big_endian) name.remove_prefix(3);
  for (const Known& known : kKnown) {
    if (known.name != name) continue;
    raw.type = known.type;
    return raw;
  }
  return std::nullopt;
}

uint64_t LoadUnsigned(const std::byte* from, uint32_t bytes, bool big_endian) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint32_t place = big_endian ? bytes - 1 - i : i;
    value |= std::to_integer<uint64_t>(from[i]) << (8 * place);
  }
  return value;
}

}  // namespace edo::storage
