#include "storage/readers/text_fields.h"

#include <algorithm>
#include <charconv>

#include "storage/readers/messages.h"
#include "storage/readers/number.h"

namespace edo::storage {

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  size_t at = 0;
  while (at < line.size()) {
    if (IsSeparator(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && !IsSeparator(line[at])) ++at;
    fields.push_back(line.substr(begin, at - begin));
  }
  return fields;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

bool IsNumber(std::string_view field) {
  float ignored;
  return ParseFloat(field, &ignored) != NumberKind::kNone;
}

bool LooksLikeNumber(std::string_view field) {
  bool digit = false, comma_or_colon = false;
  for (const char c : field) {
    digit |= c >= '0' && c <= '9';
    comma_or_colon |= c == ',' || c == ':';
    if ((c < '0' || c > '9') && std::string_view("+-.,:eE").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return digit && comma_or_colon && field.front() != ',' && field.front() != ':' &&
         field.back() != ',' && field.back() != ':';
}

std::string_view DecimalCommaIn(std::string_view record) {
  std::string_view found;
  for (size_t at = record.find(';'); at != record.npos;) {
    const size_t next = std::min(record.find(';', at + 1), record.size());
    std::string_view field = record.substr(at + 1, next - at - 1);
    while (field.starts_with(' ')) field.remove_prefix(1);
    while (field.ends_with(' ')) field.remove_suffix(1);
    at = next == record.size() ? record.npos : next;
    if (IsNumber(field)) continue;
    if (std::count(field.begin(), field.end(), ',') != 1 || !LooksLikeNumber(field) ||
        field.find(':') != field.npos) {
      return {};
    }
    if (found.empty()) found = field;
  }
  return found;
}

std::string WhyNotANumber(std::string_view field) {
  std::string text = Quote(field) + " is not a number";
  if (field.empty()) return "an empty field is not a number";
  if (!LooksLikeNumber(field)) return text;
  if (field.find(':') != std::string_view::npos) {
    return text + ": an index:value pair of a sparse row? only dense rows can be read";
  }
  return text + ": a decimal comma? values are written with a point";
}

uint32_t CountValues(std::string_view line) {
  const bool empty_key = !line.empty() && IsSeparator(line.front());
  uint32_t count = 0;
  size_t end = line.size();
  for (;;) {
    while (end > 0 && IsSeparator(line[end - 1])) --end;
    if (end == 0) break;
    size_t begin = end;
    while (begin > 0 && !IsSeparator(line[begin - 1])) --begin;
    if (begin == 0 && !empty_key) break;
    if (!IsNumber(line.substr(begin, end - begin))) break;
    ++count;
    end = begin;
  }
  return count;
}

std::optional<TextHeader> ParseTextHeader(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line.size() > 256) return std::nullopt;
  const auto fields = SplitFields(line);
  if (fields.size() != 2) return std::nullopt;
  TextHeader header;
  for (const auto& [field, to] : {std::pair{fields[0], &header.rows}, {fields[1], &header.dim}}) {
    const auto result = std::from_chars(field.data(), field.data() + field.size(), *to);
    if (result.ec != std::errc() || result.ptr != field.data() + field.size()) return std::nullopt;
  }
  return header;
}

bool IsFloretHeader(std::string_view line) {
  if (line.size() > 256) return false;
  const auto fields = SplitFields(line);
  if (fields.size() != 8) return false;
  for (size_t i = 0; i < 6; ++i) {
    if (fields[i].find_first_not_of("0123456789") != std::string_view::npos) return false;
  }
  return !IsNumber(fields[6]) && !IsNumber(fields[7]);
}

std::string_view KeyBefore(std::string_view line, size_t values_begin) {
  std::string_view key = line.substr(0, values_begin);
  const size_t last = key.find_last_not_of(" \t");
  if (last == std::string_view::npos) return key.empty() ? key : key.substr(0, key.size() - 1);
  return key.substr(0, last + 1);
}

bool HoldsValues(const std::vector<std::string_view>& fields, uint32_t dim) {
  if (fields.empty()) return false;
  const auto like_number = [](std::string_view f) { return IsNumber(f) || LooksLikeNumber(f); };
  if (like_number(fields.back())) return true;
  const auto numbers = std::count_if(fields.begin(), fields.end(), like_number);
  return numbers > 0 && numbers + 1 >= static_cast<int64_t>(dim);
}

std::string WhyNotATextKey(std::string_view key, uint32_t dim) {
  if (key.find('\n') != std::string_view::npos) return "holds a line feed";
  if (IsBlank(key)) return "";
  if (IsSeparator(key.back())) return "ends in a space or tab";
  auto fields = SplitFields(key);
  if (!IsSeparator(key.front())) fields.erase(fields.begin());
  if (HoldsValues(fields, dim)) return "has numbers after a space, which would read as values";
  return "";
}

}  // namespace edo::storage
