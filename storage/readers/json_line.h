// JsonLine: one row of a JSONL file, {"id": ..., "vector": [...]} or [key, [...]], taken from its
// bytes without a tree. Key fields, best first: id, key, token, word (and id_base64, for keys that
// are not UTF-8); value fields: vector, embedding, values. Other fields are skipped, to a bounded
// depth and without recursion. Reusable; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edo/status.h"

namespace edo::storage {

class JsonLine {
 public:
  enum class Key : uint8_t { kNone, kInteger, kText };

  // Parses `line`; 16 bytes behind it must be readable. Values go to `values` (room for
  // `capacity`); value_count() also counts those that found no room. An error has no place in it.
  // `ends_file`: the line has no line end, so its early end is the end of the file.
  Status Parse(std::string_view line, float* values, size_t capacity, bool ends_file);

  Key key() const { return key_; }
  int64_t integer() const { return integer_; }
  std::string_view text() const { return text_; }  // for integers: the digits as written
  bool text_was_base64() const { return key_rank_ == 4; }
  size_t value_count() const { return value_count_; }
  // Values beyond fp32: their place and the number as written.
  const std::vector<std::pair<size_t, std::string>>& overflows() const { return overflows_; }

 private:
  Status ParseObject();
  Status ParsePair();
  Status ParseField(std::string_view name);
  Status ParseKey(std::string_view name, bool keep);
  Status ParseNumberKey(std::string_view name, bool keep);
  Status ParseValues(std::string_view name);
  Status ParseOddValue(float* value);
  Status ParseString(std::string* text);
  Status ParseEscape(std::string* text);
  Status ParseHex4(uint32_t* value);
  Status SkipValue();
  Status SkipScalar();
  Status EarlyEnd() const;
  Status Unexpected(std::string_view wanted) const;
  Status Expect(char c, std::string_view wanted);
  void SkipSpace() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r' || *p_ == '\n')) ++p_;
  }
  std::string_view NumberText();

  const char* p_ = nullptr;
  const char* end_ = nullptr;
  float* values_ = nullptr;
  size_t capacity_ = 0;
  bool ends_file_ = false;
  Key key_ = Key::kNone;
  int key_rank_ = 0;
  int64_t integer_ = 0;
  std::string text_, name_, scratch_;
  std::vector<std::string> seen_;  // fields with a meaning that were met
  bool have_values_ = false;
  size_t value_count_ = 0;
  std::vector<std::pair<size_t, std::string>> overflows_;
};

}  // namespace edo::storage
