#include "storage/readers/number.h"

#include <fast_float/fast_float.h>

#include <charconv>
#include <cmath>

namespace edo::storage {
namespace {

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

NumberKind ParseWord(std::string_view word, bool negative, float* value) {
  if (EqualsIgnoringCase(word, "nan")) {
    *value = std::bit_cast<float>(negative ? 0xffc00000u : 0x7fc00000u);
    return NumberKind::kNonFinite;
  }
  if (EqualsIgnoringCase(word, "inf") || EqualsIgnoringCase(word, "infinity")) {
    *value = std::bit_cast<float>(negative ? 0xff800000u : 0x7f800000u);
    return NumberKind::kNonFinite;
  }
  return NumberKind::kNone;
}

}  // namespace

NumberKind ParseFloat(std::string_view text, float* value) {
  if (text.empty()) return NumberKind::kNone;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  if (text.empty()) return NumberKind::kNone;
  const char first = text.front();
  if ((first < '0' || first > '9') && first != '.') return ParseWord(text, negative, value);
  float magnitude = 0;
  const char* end = text.data() + text.size();
  const auto result = fast_float::from_chars(text.data(), end, magnitude);
  if (result.ptr != end) return NumberKind::kNone;
  // Out of range in either direction still leaves the nearest value: an infinity or a zero.
  if (result.ec != std::errc() && result.ec != std::errc::result_out_of_range) {
    return NumberKind::kNone;
  }
  *value = negative ? -magnitude : magnitude;
  return std::isinf(magnitude) ? NumberKind::kOverflow : NumberKind::kFinite;
}

std::optional<int64_t> ParseInt64(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

bool IsCanonicalInt64(std::string_view text) {
  const auto value = ParseInt64(text);
  if (!value) return false;
  char printed[24];
  const auto end = std::to_chars(printed, printed + sizeof printed, *value).ptr;
  return text == std::string_view(printed, static_cast<size_t>(end - printed));
}

}  // namespace edo::storage
