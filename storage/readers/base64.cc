#include "storage/readers/base64.h"

#include <cstdint>

namespace edo::storage {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    const size_t count = bytes.size() - at < 3 ? bytes.size() - at : 3;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kAlphabet[group >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    size_t padding = 0;
    for (size_t i = 0; i < 4; ++i) {
      const size_t digit = kAlphabet.find(text[at + i]);
      if (text[at + i] == '=' && at + 4 == text.size() && i >= 2) {
        ++padding;
      } else if (digit == std::string_view::npos || padding > 0) {
        return std::nullopt;
      }
      group = group << 6 | (padding > 0 ? 0u : static_cast<uint32_t>(digit));
    }
    for (size_t i = 0; i + padding < 3; ++i) {
      bytes.push_back(static_cast<char>(group >> (16 - 8 * i) & 255));
    }
  }
  return bytes;
}

}  // namespace edo::storage
