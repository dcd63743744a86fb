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
  kNone,  // not a number
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

inline constexpr auto kPowersOfTen =
    std::to_array<double>({1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22});
inline constexpr auto kSmallPowersOfTen =
    std::to_array<uint64_t>({1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000});

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
       ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
      32;
  *number = *number * kSmallPowersOfTen[count] + static_cast<uint32_t>(v);
  return count;
}

// [-]digits[.digits][e[+-]digits] with at most 19 digits before the exponent: the end of the number
// and its value, or nullptr when it takes the long way (more digits, a large exponent, a word, too
// near a tie). With kJson also JSON's
// rules: a digit on each side of the point, no leading zeros. 32 bytes behind p must be readable.
//
// Correctly rounded: the digits fit 64 bits and the power of ten is a double, so converting and
// dividing err by half a unit in the last place each: the double is within 2 units of the true
// value. Rounding it to float gives the right answer unless a tie between two floats lies as near,
// and that case is left to the long way. Powers stay between -22 and 15: the quotient is 0 or at
// least 1e-22, no denormal float, and at most 1e34, no overflow.
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
    unsigned count;
    do {
      count = ParseDigits8(p, &digits);
      after += count;
      p += count;
    } while (count == 8 && before + after <= 19);
    if (before + after > 19 || (kJson && after == 0)) return nullptr;
  }
  if (before + after == 0) return nullptr;
  double quotient;
  if (static_cast<unsigned char>(*p) <= '-') [[likely]] {
    quotient = static_cast<double>(digits) / kPowersOfTen[after];
  } else {  // an exponent, a longer number or no number
    if ((*p | 0x20) != 'e') return nullptr;
    const bool minus = p[1] == '-';
    p += minus || p[1] == '+' ? 2 : 1;
    uint64_t exponent = 0;
    const unsigned count = ParseDigits8(p, &exponent);
    p += count;
    if (count == 0 || count == 8 || static_cast<unsigned char>(*p) > '-') return nullptr;
    const int64_t power = (minus ? -1 : 1) * static_cast<int64_t>(exponent) - int64_t{after};
    if (power < -22 || power > 15) return nullptr;
    quotient = power < 0 ? static_cast<double>(digits) / kPowersOfTen[static_cast<size_t>(-power)]
                         : static_cast<double>(digits) * kPowersOfTen[static_cast<size_t>(power)];
  }
  // Of the 29 bits that a float has not, 1000...0 is the tie; leave 4 units on either side.
  constexpr uint32_t kTie = uint32_t{1} << 28;
  const auto below = static_cast<uint32_t>(std::bit_cast<uint64_t>(quotient)) & (2 * kTie - 1);
  if (below - (kTie - 4) <= 8) return nullptr;
  const auto rounded = static_cast<float>(quotient);
  *value = negative ? -rounded : rounded;
  return p;
}

}  // namespace edo::storage
