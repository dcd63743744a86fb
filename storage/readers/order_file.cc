#include "storage/readers/order_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "storage/readers/messages.h"
#include "storage/readers/number.h"

namespace edo::storage {
namespace {

constexpr size_t kKeysABatch = 1 << 14;
constexpr std::string_view kBetweenKeys = " \t";

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return count;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(kBetweenKeys) == std::string_view::npos;
}

nlohmann::json ParseJson(std::string_view line) {
  return nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
}

// Whether the first line says that the lines are JSON arrays. The words "[" and "[sic]" may well
// begin an ordinary line of text, and "[1]" be one: of text keys an array must hold a string to
// count.
bool IsJsonArray(std::string_view line, KeyKind keys, bool trace) {
  if (line.substr(line.find_first_not_of(kBetweenKeys))[0] != '[') return false;
  const nlohmann::json value = ParseJson(line);
  if (!value.is_array()) return false;
  if (keys != KeyKind::kText || value.empty()) return true;
  if (!trace && line.find('\t') == std::string_view::npos) return true;
  return std::any_of(value.begin(), value.end(),
                     [](const nlohmann::json& key) { return key.is_string(); });
}

}  // namespace

std::vector<std::string_view> KeyLines::TextKeys() const {
  std::vector<std::string_view> keys;
  keys.reserve(key_ends.size());
  size_t begin = 0;
  for (const size_t end : key_ends) {
    keys.push_back(std::string_view(key_bytes).substr(begin, end - begin));
    begin = end;
  }
  return keys;
}

std::string KeyLines::NameOf(size_t i) const {
  if (!int_keys.empty()) return std::to_string(int_keys[i]);
  const size_t begin = i == 0 ? 0 : key_ends[i - 1];
  return Quote(std::string_view(key_bytes).substr(begin, key_ends[i] - begin));
}

Result<std::unique_ptr<OrderFileReader>> OrderFileReader::On(std::unique_ptr<Input> input,
                                                             OrderKind kind, KeyKind keys) {
  EDO_RETURN_IF_ERROR(SkipByteOrderMark(input.get()));
  return std::unique_ptr<OrderFileReader>(
      new OrderFileReader(std::move(input), kind == OrderKind::kTrace, keys));
}

Result<std::unique_ptr<OrderFileReader>> OrderFileReader::Open(const std::string& path,
                                                               OrderKind kind, KeyKind keys) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  if (type == std::filesystem::file_type::not_found) {
    return Status::NotFound("the file of an order, '" + path +
                            "', does not exist (standard input is not possible: it is read twice)");
  }
  if (type != std::filesystem::file_type::regular) {
    return Status::InvalidArgument("'" + path +
                                   "' is not a regular file; an order's file is read twice");
  }
  EDO_ASSIGN_OR_RETURN(auto input, Input::Open(path));
  return On(std::move(input), kind, keys);
}

Result<std::unique_ptr<OrderFileReader>> OrderFileReader::OnBytes(std::string_view bytes,
                                                                  OrderKind kind, KeyKind keys) {
  EDO_ASSIGN_OR_RETURN(auto input, Input::FromMemory("order", bytes));
  return On(std::move(input), kind, keys);
}

Status OrderFileReader::Bad(std::string_view found, std::string_view expected) const {
  return BadLine(name(), lines_.number(),
                 "found " + std::string(found) + ", expected " + std::string(expected));
}

Status OrderFileReader::AddKey(std::string_view text, KeyLines* to) const {
  if (keys_ == KeyKind::kText) {
    to->key_bytes.append(text);
    to->key_ends.push_back(to->key_bytes.size());
    return Status::Ok();
  }
  const auto key = ParseInt64(text);
  if (!key) return Bad(Quote(text), "an integer key");
  to->int_keys.push_back(*key);
  return Status::Ok();
}

Status OrderFileReader::AddCount(std::string_view line, KeyLines* to) const {
  const size_t tab = line.find('\t');
  const auto columns = static_cast<uint64_t>(std::count(line.begin(), line.end(), '\t')) + 1;
  if (columns != 2) {
    return Bad(Count(columns, "column") + " in " + Quote(line), "two: key TAB count");
  }
  const std::string_view text = line.substr(tab + 1);
  const auto count = ParseCount(text);
  if (!count) return Bad(Quote(text), "a whole count from 0");
  EDO_RETURN_IF_ERROR(AddKey(line.substr(0, tab), to));
  to->lines.push_back({lines_.number(), to->key_count(), *count});
  return Status::Ok();
}

Status OrderFileReader::AddJson(std::string_view line, KeyLines* to) const {
  const nlohmann::json value = ParseJson(line);
  const char* const expected =
      trace_ ? "a JSON array of keys, as on the first line" : "[key, count], as on the first line";
  if (!value.is_array() || (!trace_ && value.size() != 2)) return Bad(Quote(line), expected);
  const size_t keys = trace_ ? value.size() : 1;
  for (size_t i = 0; i < keys; ++i) {
    const nlohmann::json& key = value[i];
    if (keys_ == KeyKind::kText && key.is_string()) {
      EDO_RETURN_IF_ERROR(AddKey(key.get_ref<const std::string&>(), to));
    } else if (keys_ != KeyKind::kText && key.is_number_integer()) {
      EDO_RETURN_IF_ERROR(AddKey(key.dump(), to));
    } else {
      return Bad(Quote(key.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
                 keys_ == KeyKind::kText ? "a string key" : "an integer key");
    }
  }
  KeyLines::Line entry{lines_.number(), to->key_count(), 0};
  if (!trace_) {
    if (!value[1].is_number_unsigned()) {
      return Bad(Quote(value[1].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
                 "a whole count from 0");
    }
    entry.count = value[1].get<uint64_t>();
  }
  to->lines.push_back(entry);
  return Status::Ok();
}

Status OrderFileReader::AddPlain(std::string_view line, KeyLines* to) const {
  if (!trace_) return AddCount(line, to);
  for (size_t begin = 0; begin < line.size();) {
    size_t end = line.find_first_of(kBetweenKeys, begin);
    if (end == std::string_view::npos) end = line.size();
    if (end > begin) EDO_RETURN_IF_ERROR(AddKey(line.substr(begin, end - begin), to));
    begin = end + 1;
  }
  to->lines.push_back({lines_.number(), to->key_count(), 0});
  return Status::Ok();
}

Result<bool> OrderFileReader::Next(KeyLines* lines) {
  lines->int_keys.clear();
  lines->key_bytes.clear();
  lines->key_ends.clear();
  lines->lines.clear();
  while (lines->key_count() < kKeysABatch) {
    std::string_view line;
    EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
    if (!more) break;
    line = StripCr(line);
    // A key may be empty or a space, so only in a trace is a line of separators no line.
    if (line.empty() || (trace_ && IsBlank(line))) continue;
    if (!started_) {
      started_ = true;
      json_ = !IsBlank(line) && IsJsonArray(line, keys_, trace_);
    }
    EDO_RETURN_IF_ERROR(json_ ? AddJson(line, lines) : AddPlain(line, lines));
  }
  return !lines->lines.empty();
}

}  // namespace edo::storage
