// Element types of arrays in outside files, and their conversion to float. Every type but f64 is
// exact in float; f64 is rounded to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edo::storage {

enum class ElementType : uint8_t { kF32, kF16, kBF16, kF64, kI8, kU8, kF8E4M3, kF8E5M2 };

uint32_t ElementBytes(ElementType type);
std::string_view ElementName(ElementType type);  // "f32", "f8_e4m3", ...

// Converts `count` elements. `big_endian`: of the elements. `to` must not overlap `from`.
void DecodeElements(ElementType type, bool big_endian, const std::byte* from, size_t count,
                    float* to);
// One f64 of an encoded row, for messages.
double DecodeF64(bool big_endian, const std::byte* from);

// "f32", "be-f16": the element types of raw files.
struct RawType {
  ElementType type = ElementType::kF32;
  bool big_endian = false;
};
std::optional<RawType> ParseRawType(std::string_view name);

// Unsigned integer of `bytes` (1, 2, 4, 8) bytes in either byte order.
uint64_t LoadUnsigned(const std::byte* from, uint32_t bytes, bool big_endian);

}  // namespace edo::storage
