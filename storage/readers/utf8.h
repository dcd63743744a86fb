// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace edo::storage {

// Where the first sequence that is not UTF-8 begins; npos when all of it is.
size_t FirstInvalidUtf8(std::string_view bytes);

// Each maximal piece that is not UTF-8 becomes one U+FFFD, as browsers and Python do.
std::string ReplaceInvalidUtf8(std::string_view bytes);

// Appends a code point (<= 0x10FFFF, no surrogate).
void AppendUtf8(uint32_t code_point, std::string* to);

}  // namespace edo::storage
