// Words that every reader and writer uses to name a place in a file and the bytes found there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::storage {

// 'bytes' for a message: at most 60 of them, control bytes and bytes that are not UTF-8 as \xNN.
std::string Quote(std::string_view bytes);

// kBadInput "FILE line 3: what", "FILE byte 10: what", "FILE row 7: what".
Status BadLine(std::string_view name, uint64_t line, std::string_view what);
Status BadByte(std::string_view name, uint64_t byte, std::string_view what);
Status BadRow(std::string_view name, uint64_t row, std::string_view what);

// "1 row", "2 rows".
std::string Count(uint64_t number, std::string_view noun);

// The shortest decimal that reads back to the same number.
std::string Decimal(double value);

}  // namespace edo::storage
