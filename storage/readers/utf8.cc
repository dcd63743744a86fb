#include "storage/readers/utf8.h"

#include <cstring>

namespace edo::storage {
namespace {

// Bytes of the sequence at p when it is whole and well formed, else 0; `*bad_bytes` is then how
// many bytes the malformed piece takes (the longest prefix of some well-formed sequence).
size_t SequenceBytes(const unsigned char* p, size_t left, size_t* bad_bytes) {
  *bad_bytes = 1;
  const unsigned char lead = p[0];
  if (lead < 0x80) return 1;
  size_t length = 0;
  unsigned char low = 0x80, high = 0xbf;  // bounds of the second byte
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if (i >= left || p[i] < low || p[i] > high) {
      *bad_bytes = i;
      return 0;
    }
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view bytes) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at >= 8) {  // ASCII, eight bytes at a time
      uint64_t word;
      std::memcpy(&word, p + at, 8);
      if ((word & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    size_t bad = 0;
    const size_t length = SequenceBytes(p + at, bytes.size() - at, &bad);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 8);
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  for (size_t at = 0; at < bytes.size();) {
    size_t bad = 0;
    const size_t length = SequenceBytes(p + at, bytes.size() - at, &bad);
    if (length == 0) {
      out.append("\xef\xbf\xbd");
      at += bad;
    } else {
      out.append(bytes.substr(at, length));
      at += length;
    }
  }
  return out;
}

void AppendUtf8(uint32_t c, std::string* to) {
  if (c < 0x80) {
    to->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    to->push_back(static_cast<char>(0xc0 | (c >> 6)));
    to->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    to->push_back(static_cast<char>(0xe0 | (c >> 12)));
    to->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    to->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    to->push_back(static_cast<char>(0xf0 | (c >> 18)));
    to->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3f)));
    to->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    to->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

}  // namespace edo::storage
