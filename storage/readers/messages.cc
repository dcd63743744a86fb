#include "storage/readers/messages.h"

#include <charconv>

#include "storage/readers/utf8.h"

namespace edo::storage {
namespace {

Status Bad(std::string_view name, std::string_view unit, uint64_t number, std::string_view what) {
  std::string text(name);
  text.append(" ").append(unit).append(" ").append(std::to_string(number)).append(": ");
  return Status::BadInput(text.append(what));
}

}  // namespace

std::string Quote(std::string_view bytes) {
  constexpr size_t kShown = 60;
  const bool cut = bytes.size() > kShown;
  std::string_view shown = bytes.substr(0, kShown);
  size_t end = FirstInvalidUtf8(shown);
  if (cut && end != std::string_view::npos && end + 4 > shown.size()) {
    shown = shown.substr(0, end);  // do not show half a character at the cut
    end = std::string_view::npos;
  }
  const bool ascii_only = end != std::string_view::npos;
  std::string text = "'";
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (ascii_only && byte >= 0x80)) {
      constexpr char kHex[] = "0123456789abcdef";
      text.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      text.push_back(c);
    }
  }
  text.append(cut ? "...'" : "'");
  return text;
}

Status BadLine(std::string_view name, uint64_t line, std::string_view what) {
  return Bad(name, "line", line, what);
}
Status BadByte(std::string_view name, uint64_t byte, std::string_view what) {
  return Bad(name, "byte", byte, what);
}
Status BadRow(std::string_view name, uint64_t row, std::string_view what) {
  return Bad(name, "row", row, what);
}

std::string Count(uint64_t number, std::string_view noun) {
  std::string text = std::to_string(number);
  text.append(" ").append(noun);
  if (number != 1) text.append("s");
  return text;
}

std::string Decimal(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

}  // namespace edo::storage
