#include "storage/readers/json_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "storage/readers/base64.h"
#include "storage/readers/messages.h"
#include "storage/readers/number.h"
#include "storage/readers/utf8.h"

namespace edo::storage {
namespace {

constexpr std::array<std::string_view, 5> kKeyFields{"id", "key", "token", "word", "id_base64"};
constexpr std::array<std::string_view, 3> kValueFields{"vector", "embedding", "values"};
constexpr size_t kMaxDepth = 256;

// "vector" in quotes.
std::string InQuotes(std::string_view name) {
  std::string text("\"");
  return text.append(name).append("\"");
}

template <size_t N>
int RankOf(std::string_view name, const std::array<std::string_view, N>& names) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

bool IsJsonNumber(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  const bool zero = at < text.size() && text[at] == '0';
  const size_t before = digits();
  if (before == 0 || (zero && before > 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

}  // namespace

Status JsonLine::EarlyEnd() const {
  return Status::BadInput(ends_file_ ? "end of file inside a JSON row"
                                     : "the line ends inside a JSON row");
}

Status JsonLine::Unexpected(std::string_view wanted) const {
  if (p_ >= end_) return EarlyEnd();
  const auto left = static_cast<size_t>(end_ - p_);
  return Status::BadInput("not valid JSON: expected " + std::string(wanted) + ", found " +
                          Quote(std::string_view(p_, std::min<size_t>(left, 16))));
}

Status JsonLine::Expect(char c, std::string_view wanted) {
  SkipSpace();
  if (p_ >= end_ || *p_ != c) return Unexpected(wanted);
  ++p_;
  return Status::Ok();
}

Status JsonLine::Parse(std::string_view line, float* values, size_t capacity, bool ends_file) {
  p_ = line.data();
  end_ = p_ + line.size();
  values_ = values;
  capacity_ = capacity;
  ends_file_ = ends_file;
  key_ = Key::kNone;
  key_rank_ = INT32_MAX;
  text_.clear();
  seen_.clear();
  have_values_ = false;
  value_count_ = 0;
  overflows_.clear();
  SkipSpace();
  if (p_ < end_ && *p_ == '[') {
    EDO_RETURN_IF_ERROR(ParsePair());
  } else {
    EDO_RETURN_IF_ERROR(ParseObject());
  }
  SkipSpace();
  if (p_ < end_) return Unexpected("the end of the line");
  if (key_ == Key::kNone) return Status::BadInput("no \"id\" (or key, token, word) in the row");
  if (!have_values_) return Status::BadInput("no \"vector\" (or embedding, values) in the row");
  return Status::Ok();
}

Status JsonLine::ParseObject() {
  EDO_RETURN_IF_ERROR(Expect('{', "'{'"));
  SkipSpace();
  if (p_ < end_ && *p_ == '}') {
    ++p_;
    return Status::Ok();
  }
  for (;;) {
    SkipSpace();
    if (p_ >= end_ || *p_ != '"') return Unexpected("a field name");
    EDO_RETURN_IF_ERROR(ParseString(&name_));
    EDO_RETURN_IF_ERROR(Expect(':', "':'"));
    SkipSpace();
    EDO_RETURN_IF_ERROR(ParseField(name_));
    SkipSpace();
    if (p_ < end_ && *p_ == '}') {
      ++p_;
      return Status::Ok();
    }
    EDO_RETURN_IF_ERROR(Expect(',', "',' or '}'"));
  }
}

Status JsonLine::ParsePair() {
  ++p_;
  SkipSpace();
  key_rank_ = 1;
  EDO_RETURN_IF_ERROR(ParseKey("id", true));
  EDO_RETURN_IF_ERROR(Expect(',', "','"));
  SkipSpace();
  if (p_ >= end_ || *p_ != '[') return Unexpected("an array of numbers");
  EDO_RETURN_IF_ERROR(ParseValues("vector"));
  return Expect(']', "']'");
}

Status JsonLine::ParseField(std::string_view name) {
  const int rank = RankOf(name, kKeyFields);
  const bool values = RankOf(name, kValueFields) >= 0;
  if (rank < 0 && !values) return SkipValue();
  if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) {
    return Status::BadInput("the field \"" + std::string(name) + "\" appears twice");
  }
  seen_.emplace_back(name);
  const std::string field(name);
  if (rank >= 0) {
    const bool keep = rank < key_rank_;
    if (keep) key_rank_ = rank;
    return ParseKey(field, keep);
  }
  if (p_ < end_ && *p_ != '[') {
    if (field != "vector") return SkipValue();
    return Unexpected("an array of numbers for \"vector\"");
  }
  if (have_values_) {
    return Status::BadInput("values in two fields; \"" + field + "\" is the second");
  }
  return ParseValues(field);
}

Status JsonLine::ParseKey(std::string_view name, bool keep) {
  const char c = p_ < end_ ? *p_ : 0;
  if (c == '"') {
    EDO_RETURN_IF_ERROR(ParseString(&scratch_));
    if (!keep) return Status::Ok();
    key_ = Key::kText;
    text_ = scratch_;
    if (name != "id_base64") return Status::Ok();
    auto decoded = DecodeBase64(scratch_);
    if (!decoded) return Status::BadInput("\"id_base64\" is not base64: " + Quote(scratch_));
    text_ = std::move(*decoded);
    return Status::Ok();
  }
  if (c == '-' || (c >= '0' && c <= '9')) return ParseNumberKey(name, keep);
  if (!keep) return SkipValue();
  if (p_ >= end_) return EarlyEnd();
  const char* begin = p_;
  EDO_RETURN_IF_ERROR(SkipValue());
  return Status::BadInput(InQuotes(name) + " is neither a string nor an integer: " +
                          Quote(std::string_view(begin, static_cast<size_t>(p_ - begin))));
}

Status JsonLine::ParseNumberKey(std::string_view name, bool keep) {
  const std::string_view number = NumberText();
  if (!IsJsonNumber(number)) {
    return p_ >= end_ ? EarlyEnd() : Status::BadInput("not a JSON number: " + Quote(number));
  }
  if (!keep) return Status::Ok();
  const std::string field = InQuotes(name) + ": ";
  if (number.find_first_of(".eE") != std::string_view::npos) {
    return Status::BadInput(field + Quote(number) + " is not an integer");
  }
  const auto parsed = ParseInt64(number);
  if (!parsed) {
    return Status::BadInput(field + Quote(number) + " is out of range of a signed 64-bit integer");
  }
  key_ = Key::kInteger;
  integer_ = *parsed;
  text_ = number;
  return Status::Ok();
}

std::string_view JsonLine::NumberText() {
  const char* begin = p_;
  while (p_ < end_ && ((*p_ >= '0' && *p_ <= '9') || *p_ == '-' || *p_ == '+' || *p_ == '.' ||
                       *p_ == 'e' || *p_ == 'E')) {
    ++p_;
  }
  return std::string_view(begin, static_cast<size_t>(p_ - begin));
}

Status JsonLine::ParseValues(std::string_view name) {
  have_values_ = true;
  ++p_;
  SkipSpace();
  if (p_ < end_ && *p_ == ']') {
    ++p_;
    return Status::Ok();
  }
  float unused = 0;
  for (;;) {
    if (p_ < end_ && *p_ == ' ') ++p_;
    float* to = value_count_ < capacity_ ? values_ + value_count_ : &unused;
    const char* after = ParseShortDecimal<true>(p_, to);
    if (after != nullptr && after <= end_) {
      p_ = after;
    } else {
      SkipSpace();
      const Status status = ParseOddValue(to);
      if (!status.ok()) {
        return status.WithContext(InQuotes(name) + " value " + std::to_string(value_count_ + 1));
      }
    }
    ++value_count_;
    if (p_ < end_ && *p_ == ',') [[likely]] {
      ++p_;
      continue;
    }
    SkipSpace();
    if (p_ < end_ && *p_ == ']') {
      ++p_;
      return Status::Ok();
    }
    EDO_RETURN_IF_ERROR(Expect(',', "',' or ']'"));
  }
}

// Everything but a short plain decimal: long numbers, exponents, words for non-finite values.
Status JsonLine::ParseOddValue(float* value) {
  if (p_ >= end_) return EarlyEnd();
  const auto left = std::string_view(p_, static_cast<size_t>(end_ - p_));
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (!left.starts_with(word)) continue;
    p_ += word.size();
    ParseFloat(word, value);
    return Status::Ok();
  }
  if (*p_ == '"') {
    EDO_RETURN_IF_ERROR(ParseString(&scratch_));
    if (ParseFloat(scratch_, value) == NumberKind::kNonFinite) return Status::Ok();
    return Status::BadInput("expected a number, found the string " + Quote(scratch_));
  }
  if (*p_ != '-' && (*p_ < '0' || *p_ > '9')) return Unexpected("a number");
  const std::string_view number = NumberText();
  if (p_ >= end_) return EarlyEnd();
  if (!IsJsonNumber(number)) return Status::BadInput("not a JSON number: " + Quote(number));
  if (ParseFloat(number, value) == NumberKind::kOverflow) {
    overflows_.emplace_back(value_count_, number);
  }
  return Status::Ok();
}

Status JsonLine::ParseString(std::string* text) {
  text->clear();
  ++p_;
  for (;;) {
    const char* begin = p_;
    while (p_ < end_ && *p_ != '"' && *p_ != '\\' && static_cast<unsigned char>(*p_) >= 0x20) ++p_;
    text->append(begin, p_);
    if (p_ >= end_) return EarlyEnd();
    if (*p_ == '"') {
      ++p_;
      return Status::Ok();
    }
    if (*p_ != '\\') return Unexpected("no control byte inside a string");
    ++p_;
    EDO_RETURN_IF_ERROR(ParseEscape(text));
  }
}

Status JsonLine::ParseHex4(uint32_t* value) {
  *value = 0;
  for (int i = 0; i < 4; ++i, ++p_) {
    if (p_ >= end_) return EarlyEnd();
    const char c = *p_;
    if (!std::isxdigit(static_cast<unsigned char>(c))) return Unexpected("four hex digits");
    *value = *value * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return Status::Ok();
}

Status JsonLine::ParseEscape(std::string* text) {
  if (p_ >= end_) return EarlyEnd();
  const char c = *p_++;
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const size_t at = kNames.find(c); at != std::string_view::npos) {
    text->push_back(kMeanings[at]);
    return Status::Ok();
  }
  if (c != 'u') return Status::BadInput("not valid JSON: an unknown escape in a string");
  uint32_t code = 0;
  EDO_RETURN_IF_ERROR(ParseHex4(&code));
  if (code >= 0xd800 && code <= 0xdfff) {
    uint32_t low = 0;
    const bool pair = code <= 0xdbff && end_ - p_ >= 6 && p_[0] == '\\' && p_[1] == 'u';
    if (pair) {
      p_ += 2;
      EDO_RETURN_IF_ERROR(ParseHex4(&low));
    }
    if (low < 0xdc00 || low > 0xdfff) {
      return Status::BadInput("a lone surrogate in a string (half of a \\u pair)");
    }
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  AppendUtf8(code, text);
  return Status::Ok();
}

Status JsonLine::SkipScalar() {
  if (p_ >= end_) return EarlyEnd();
  if (*p_ == '"') return ParseString(&scratch_);
  const auto left = std::string_view(p_, static_cast<size_t>(end_ - p_));
  for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity", "-Infinity"}) {
    if (left.starts_with(word)) {
      p_ += word.size();
      return Status::Ok();
    }
  }
  if (*p_ != '-' && (*p_ < '0' || *p_ > '9')) return Unexpected("a value");
  const std::string_view number = NumberText();
  if (IsJsonNumber(number)) return Status::Ok();
  return Status::BadInput("not a JSON number: " + Quote(number));
}

// A value of any kind, whatever lies inside it; a stack of brackets in place of recursion.
Status JsonLine::SkipValue() {
  std::string open;
  for (;;) {
    SkipSpace();
    if (p_ >= end_) return EarlyEnd();
    const char c = *p_;
    if (c == '{' || c == '[') {
      if (open.size() >= kMaxDepth) return Status::BadInput("JSON is nested too deeply");
      open.push_back(c);
      ++p_;
      SkipSpace();
      if (p_ < end_ && *p_ != (c == '{' ? '}' : ']')) {
        if (c == '[') continue;
        if (*p_ != '"') return Unexpected("a field name");
        EDO_RETURN_IF_ERROR(ParseString(&scratch_));
        EDO_RETURN_IF_ERROR(Expect(':', "':'"));
        continue;
      }
    } else {
      EDO_RETURN_IF_ERROR(SkipScalar());
    }
    for (;;) {  // behind a value: close brackets, or go on to the next value
      if (open.empty()) return Status::Ok();
      SkipSpace();
      if (p_ >= end_) return EarlyEnd();
      if (*p_ == (open.back() == '{' ? '}' : ']')) {
        open.pop_back();
        ++p_;
        continue;
      }
      EDO_RETURN_IF_ERROR(Expect(',', "',' or a closing bracket"));
      if (open.back() == '{') {
        SkipSpace();
        if (p_ >= end_ || *p_ != '"') return Unexpected("a field name");
        EDO_RETURN_IF_ERROR(ParseString(&scratch_));
        EDO_RETURN_IF_ERROR(Expect(':', "':'"));
      }
      break;
    }
  }
}

}  // namespace edo::storage
