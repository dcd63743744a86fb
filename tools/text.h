// Small text helpers of the command: numbers, sizes, escapes, UTF-8. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edo::tools {

// Appends the shortest decimals that read back to the same float; "nan", "inf", "-inf".
void AppendFloat(std::string* out, float value);
std::string FloatText(double value);  // likewise for a double

std::string HumanBytes(uint64_t bytes);                      // "1.25 MiB"
std::string HumanCount(uint64_t count);                      // "1,234,567"
std::string CountOf(uint64_t count, std::string_view noun);  // "1 row", "2,000 rows"
std::string HumanSeconds(double seconds);                    // "0.84 s", "3 min 20 s"

// A whole string as a decimal number: no sign but '-', no blanks, within 64 bits.
std::optional<int64_t> ParseInt64(std::string_view text);

bool IsUtf8(std::string_view bytes);  // strict: no surrogates, no overlong forms
std::string Base64(std::string_view bytes);

// For one line on a terminal: control bytes as \xNN.
std::string Printable(std::string_view text);
// For one TSV field: TAB, LF, CR and backslash as \t \n \r \\ ; all other bytes as they are.
std::string TsvField(std::string_view text);

}  // namespace edo::tools
