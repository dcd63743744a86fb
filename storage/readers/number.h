// Decimal text to float, correctly rounded, and to int64. The exact short-decimal path below does
// nearly all the work of a text import; everything else goes to fast_float.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace edo::storage {

enum class NumberKind : uint8_t {
  kNone,       // not a number
  kFinite,
  kOverflow,   // a finite number beyond fp32; the value is an infinity
  kNonFinite,  // nan, inf, infinity in any case, with or without a sign
};

// The whole of `text` as a float: [+-] digits [. digits] [e [+-] digits], or a non-finite word.
// No hexadecimal, no spaces. Underflow gives a denormal or zero, as IEEE rounding has it.
NumberKind ParseFloat(std::string_view text, float* value);

// The whole of `text` as a signed 64-bit integer: [+-] digits. nullopt: not one, or out of range.
std::optional<int64_t> ParseInt64(std::string_view text);
// True when `text` is how that integer is printed: no '+', no leading zeros, no "-0".
bool IsCanonicalInt64(std::string_view text);

inline constexpr auto kPowersOfTen = std::to_array<double>(
    {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
     1e17, 1e18, 1e19, 1e20, 1e21, 1e22});
inline constexpr auto kSmallPowersOfTen = std::to_array<uint64_t>(
    {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000});

// Reads the digits at p, at most eight, into *number (times ten a digit) and returns how many.
// Eight bytes at p must be readable.
inline unsigned ParseDigits8(const char* p, uint64_t* number) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  const uint64_t digits = word ^ 0x3030303030303030u;  // '0'..'9' become 0..9
  const uint64_t others = ((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u;
  const unsigned count = others == 0 ? 8 : static_cast<unsigned>(std::countr_zero(others)) >> 3;
  if (count == 0) return 0;
  uint64_t v = digits << (64 - 8 * count);  // the first digit moves up, zeros come before it
  v = v * 10 + (v >> 8);
  v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
       ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
  *number = *number * kSmallPowersOfTen[count] + static_cast<uint32_t>(v);
  return count;
}

// [-]digits[.digits] with at most 16 digits: the end of the number and its value, or nullptr when
// it takes the long way (an exponent, more digits, a word, a tie). With kJson also JSON's rules:
// a digit on each side of the point, no leading zeros. 16 bytes behind the number must be readable.
//
// Exact: digits < 2^53 and a power of ten <= 10^22 are doubles, so the quotient is the correctly
// rounded double. Rounding that to float again is correct unless the double lies on the middle
// between two floats (which the true value may not), and that case is left to the long way. The
// quotient is 0 or at least 1e-16, so no denormal float is near.
template <bool kJson = false>
inline const char* ParseShortDecimal(const char* p, float* value) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t digits = 0;
  unsigned before = static_cast<unsigned>(*p - '0');
  if (before <= 9 && static_cast<unsigned>(p[1] - '0') > 9) {  // one digit before the point
    digits = before;
    before = 1;
    ++p;
  } else {
    if (kJson && before == 0) return nullptr;
    before = ParseDigits8(p, &digits);
    p += before;
  }
  if (kJson && before == 0) return nullptr;
  unsigned after = 0;
  if (*p == '.') {
    ++p;
    after = ParseDigits8(p, &digits);
    p += after;
    if (after == 8) {
      if (before > 1) return nullptr;
      const unsigned more = ParseDigits8(p, &digits);
      after += more;
      p += more;
      if (before + after > 16) return nullptr;
    }
    if (kJson && after == 0) return nullptr;
  }
  // A letter or another digit: an exponent, a longer number or no number.
  if (before + after == 0 || static_cast<unsigned char>(*p) > '-') return nullptr;
  if (digits >= (uint64_t{1} << 53)) return nullptr;
  const double quotient = static_cast<double>(digits) / kPowersOfTen[after];
  if ((std::bit_cast<uint64_t>(quotient) & 0x1fffffffu) == 0x10000000u) return nullptr;  // a tie
  const auto rounded = static_cast<float>(quotient);
  *value = negative ? -rounded : rounded;
  return p;
}

}  // namespace edo::storage
