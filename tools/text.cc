// Bodies of text.h.
#include "tools/text.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace edo::tools {
namespace {

template <typename Number>
void AppendNumber(std::string* out, Number value) {
  if (std::isnan(value)) {  // without the sign that to_chars would give it
    out->append("nan");
    return;
  }
  char text[40];
  out->append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// Length of the UTF-8 sequence that `bytes` begins with; 0 when it is not one.
size_t Utf8Length(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = at(1);
  if (first == 0xe0 && second < 0xa0) return 0;  // overlong
  if (first == 0xed && second > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && second < 0x90) return 0;  // overlong
  if (first == 0xf4 && second > 0x8f) return 0;  // beyond U+10FFFF
  return length;
}

}  // namespace

void AppendFloat(std::string* out, float value) { AppendNumber(out, value); }

std::string FloatText(double value) {
  std::string out;
  AppendNumber(&out, value);
  return out;
}

std::string HumanBytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) size /= 1024, ++unit;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s",
                size < 10    ? 2
                : size < 100 ? 1
                             : 0,
                size, kUnits[unit]);
  return text;
}

std::string HumanCount(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string CountOf(uint64_t count, std::string_view noun) {
  return HumanCount(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string HumanSeconds(double seconds) {
  char text[48];
  if (seconds < 100) {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  } else if (seconds < 7200) {
    std::snprintf(text, sizeof text, "%d min %02d s", static_cast<int>(seconds) / 60,
                  static_cast<int>(seconds) % 60);
  } else {
    std::snprintf(text, sizeof text, "%d h %02d min", static_cast<int>(seconds) / 3600,
                  static_cast<int>(seconds) / 60 % 60);
  }
  return text;
}

std::optional<int64_t> ParseInt64(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = Utf8Length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    const size_t have = bytes.size() - i;
    out += kDigits[group >> 18];
    out += kDigits[group >> 12 & 63];
    out += have > 1 ? kDigits[group >> 6 & 63] : '=';
    out += have > 2 ? kDigits[group & 63] : '=';
  }
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
    }
  }
  return out;
}

std::string TsvField(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace edo::tools
