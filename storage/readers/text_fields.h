// Fields of a line of word2vec, GloVe or fastText text, and the rules that tell key from values.
// Separators are the bytes SPACE and TAB only; every other byte, NBSP too, belongs to a field.
// Reader, sniffer and writer share these, so that what a writer lets through reads back the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edo::storage {

inline bool IsSeparator(char c) { return c == ' ' || c == '\t'; }

// Fields between runs of separators.
std::vector<std::string_view> SplitFields(std::string_view line);
bool IsBlank(std::string_view line);  // nothing but separators

bool IsNumber(std::string_view field);
// Not a number, yet surely meant as one: "0,5", "1:0.5".
bool LooksLikeNumber(std::string_view field);
// What is wrong with a field that should have been a number, as a message says it:
// "'0,5' is not a number: a decimal comma? values need a point".
std::string WhyNotANumber(std::string_view field);

// A value with a decimal comma in a record of a key and numbers between semicolons, as some write
// CSV; empty: it is no such record.
std::string_view DecimalCommaIn(std::string_view record);

// How many fields could be values: fields at the end that are numbers; the first field is the key
// unless the line begins with a separator (an empty key).
uint32_t CountValues(std::string_view line);

// A word2vec header: two fields, both unsigned integers.
struct TextHeader {
  uint64_t rows = 0;
  uint64_t dim = 0;
};
std::optional<TextHeader> ParseTextHeader(std::string_view line);
// The header of a floret table: six integers and two marks.
bool IsFloretHeader(std::string_view line);

// The key of a line whose first value begins at `values_begin`: what stands before it, without the
// separators between. A key of separators only keeps all but the last of them.
std::string_view KeyBefore(std::string_view line, size_t values_begin);

// Does this piece of a line, a key with separators in it, look like two rows on one line, or like a
// row with values too many? `fields` are those of the key behind its first; a row has `dim` values.
bool HoldsValues(const std::vector<std::string_view>& fields, uint32_t dim);

// Empty when `key` reads back from a line with `dim` values as it is; else why it does not.
std::string WhyNotATextKey(std::string_view key, uint32_t dim);

}  // namespace edo::storage
