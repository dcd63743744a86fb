// The number parsers against strtof (correctly rounded in glibc) and from_chars, bit for bit, over
// random decimals of every length and over every tie between two floats that a short decimal can
// hit.
#include "storage/readers/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdlib>
#include <random>

#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

// The short way where it applies, else the long way: what a reader does. Padded as in a window.
template <bool kJson>
void CheckOne(const std::string& text) {
  const std::string padded = text + " " + std::string(32, '9');
  float quick = 0, careful = 0;
  const char* end = ParseShortDecimal<kJson>(padded.data(), &quick);
  const float expected = std::strtof(text.c_str(), nullptr);
  ASSERT_NE(ParseFloat(text, &careful), NumberKind::kNone) << text;
  ASSERT_EQ(std::bit_cast<uint32_t>(careful), std::bit_cast<uint32_t>(expected)) << text;
  if (end == nullptr) return;
  ASSERT_EQ(end, padded.data() + text.size()) << text;
  ASSERT_EQ(std::bit_cast<uint32_t>(quick), std::bit_cast<uint32_t>(expected)) << text;
}

TEST(Number, RandomDecimalsRoundAsStrtof) {
  std::mt19937_64 random(test::Seed(11));
  for (int i = 0; i < 300000; ++i) {
    std::string text(random() % 2 ? "-" : "");
    const uint64_t before = 1 + random() % (random() % 2 ? 2 : 9), after = random() % 21;
    for (uint64_t d = 0; d < before; ++d) text += static_cast<char>('0' + random() % 10);
    if (after > 0) text += '.';
    for (uint64_t d = 0; d < after; ++d) text += static_cast<char>('0' + random() % 10);
    if (random() % 4 == 0) {
      text += random() % 2 ? "e" : "E";
      if (const uint64_t sign = random() % 3) text += sign == 1 ? "-" : "+";
      text += std::to_string(random() % 30);
    }
    CheckOne<false>(text);
    CheckOne<true>(text);
  }
}

TEST(Number, PrintedFloatsAndTiesRoundAsStrtof) {
  std::mt19937_64 random(test::Seed(12));
  for (int i = 0; i < 300000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()) & 0xbfffffffu);
    char text[64];
    const double middle = (static_cast<double>(value) + std::nextafter(value, 1e30f)) /
                          2;  // halfway between two floats
    for (const auto end :
         {std::to_chars(text, text + 64, value).ptr,
          std::to_chars(text, text + 64, middle, std::chars_format::fixed, 12).ptr}) {
      if (end - text < 60) CheckOne<false>(std::string(text, end));
    }
  }
  for (int i = 0; i < 300000; ++i) {  // on and beside ties, with 13 to 18 digits behind the point
    const auto value =
        std::bit_cast<float>(0x3a800000u + static_cast<uint32_t>(random() % 0x6000000u));
    const double middle = (static_cast<double>(value) + std::nextafter(value, 1e30f)) / 2;
    char text[64];
    const int places = 13 + static_cast<int>(random() % 6);
    const auto end = std::to_chars(text, text + 64, middle, std::chars_format::fixed, places).ptr;
    CheckOne<false>(std::string(text, end));
  }
  for (uint32_t whole = 16777216; whole < 16777216 + 2000; ++whole) {  // ties at .0 above 2^24
    CheckOne<false>(std::to_string(whole));
    CheckOne<false>(std::to_string(whole) + ".5");
  }
}

TEST(Number, WhatIsNoNumber) {
  float value = 0;
  for (const char* text : {"",      "-",   "+",   ".",    "e5",    "1e",   "1e+",   "0x10", "1_0",
                           "1,5",   "1:2", "--1", "+-1",  "1.2.3", "nanx", "in",    "1d5",  "1f",
                           "1e5e5", "1e-", "e",   "1e5.", " 1",    "1 ",   "nan(1)"}) {
    EXPECT_EQ(ParseFloat(text, &value), NumberKind::kNone) << text;
    const std::string padded = std::string(text) + "\n" + std::string(32, '\0');
    const char* end = ParseShortDecimal(padded.data(), &value);
    EXPECT_TRUE(end == nullptr || *end != '\n' || *text == 0) << text;
  }
  EXPECT_EQ(ParseFloat("1e39", &value), NumberKind::kOverflow);
  EXPECT_EQ(ParseFloat("-InFinity", &value), NumberKind::kNonFinite);
  EXPECT_EQ(ParseFloat("1e-60", &value), NumberKind::kFinite);
  EXPECT_EQ(value, 0.0f);
}

TEST(Number, Integers) {
  EXPECT_EQ(ParseInt64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseInt64("+007"), 7);
  for (const char* text : {"", "+", "-", "9223372036854775808", "1.0", "1e3", "+-1", " 1"}) {
    EXPECT_FALSE(ParseInt64(text)) << text;
  }
  EXPECT_TRUE(IsCanonicalInt64("-3"));
  for (const char* text : {"007", "+1", "-0", ""}) EXPECT_FALSE(IsCanonicalInt64(text)) << text;
}

}  // namespace
}  // namespace edo::storage
