// Reader of CSV (RFC 4180 quotes) and TSV (no quotes): a record a row, key first, values after it.
#include <algorithm>
#include <cstring>

#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/number.h"
#include "storage/readers/reader_base.h"
#include "storage/readers/readers.h"
#include "storage/readers/text_fields.h"

namespace edo::storage {
namespace {

constexpr size_t kSampleLines = 256;

struct Field {
  std::string text;
  bool quoted = false;
};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSeparator(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSeparator(text.back())) text.remove_suffix(1);
  return text;
}

class DelimitedReader final : public ReaderBase {
 public:
  DelimitedReader(std::unique_ptr<Input> input, const SourceOptions& options,
                  const std::string& format)
      : ReaderBase(std::move(input), options),
        lines_(input_.get()),
        quotes_(format == "csv"),
        delimiter_(options.delimiter != 0 ? options.delimiter
                   : quotes_              ? ','
                                          : '\t') {
    info_.format = format;
    info_.dtype = "text";
    info_.position_unit = "line";
  }
  Status Start();

 protected:
  Result<bool> Fill(RowBatch* batch, uint64_t max_rows) override;
  std::string NameValue(uint32_t i, float value) const override;

 private:
  Result<bool> NextRecord();
  Status Split(std::string_view record, std::vector<Field>* fields) const;
  bool IsHeader(const std::vector<Field>& fields);
  Status SetDim(const std::vector<Field>& fields);
  KeyKind GuessKeyKind(const std::vector<std::string_view>& lines, bool header) const;
  bool ParseQuickly(float* values, std::string_view* key) const;
  Status ParseCarefully(float* values);
  Status RefuseDecimalComma() const;
  Status Bad(std::string_view what) const { return BadLine(name(), record_line_, what); }

  LineReader lines_;
  const bool quotes_;
  const char delimiter_;
  std::string_view record_;    // without its line end
  std::string gathered_;       // a record of several lines
  uint64_t record_line_ = 0;   // where it begins
  bool reuse_record_ = false;  // the first record was a row: Fill takes it again
  std::vector<Field> fields_;
};

// The next record that is not blank, into record_. Blank lines may stand only at the end.
Result<bool> DelimitedReader::NextRecord() {
  uint64_t blank_line = 0;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&record_));
    if (!more) return false;
    record_line_ = lines_.number();
    if (!StripCr(record_).empty()) break;
    if (blank_line == 0) blank_line = record_line_;
  }
  if (blank_line != 0) {
    const Status error = BadLine(name(), blank_line, "an empty line before the last row");
    EDO_RETURN_IF_ERROR(BadRow(error, blank_line, ""));
  }
  auto open = [this] { return std::count(record_.begin(), record_.end(), '"') % 2 != 0; };
  if (quotes_ && memchr(record_.data(), '"', record_.size()) != nullptr && open()) {
    gathered_.assign(record_);
    bool inside = true;
    while (inside) {
      EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&record_));
      if (!more)
        return Bad(
            "a quote of this line is not closed before the end of the file (the record "
            "begins at line " +
            std::to_string(record_line_) + "); a field with quotes inside is quoted itself");
      gathered_.append("\n").append(record_);
      inside = !open();
      if (gathered_.size() > LineReader::kMaxLineBytes) {
        return Bad("a quote opened here is not closed within 64 MiB");
      }
    }
    record_ = gathered_;
  }
  record_ = StripCr(record_);
  return true;
}

Status DelimitedReader::Split(std::string_view record, std::vector<Field>* fields) const {
  fields->clear();
  size_t at = 0;
  for (;;) {
    Field field;
    if (quotes_ && at < record.size() && record[at] == '"') {
      field.quoted = true;
      for (++at;; ++at) {
        if (at >= record.size()) return Bad("a quoted field is not closed");
        if (record[at] == '"') {
          if (at + 1 >= record.size() || record[at + 1] != '"') break;
          ++at;
        }
        field.text.push_back(record[at]);
      }
      ++at;
      if (at < record.size() && record[at] != delimiter_) {
        return Bad("field " + std::to_string(fields->size() + 1) +
                   " goes on after its closing quote: " + Quote(record.substr(at, 16)));
      }
    } else {
      const size_t end = std::min(record.find(delimiter_, at), record.size());
      field.text.assign(record.substr(at, end - at));
      if (quotes_ && field.text.find('"') != std::string::npos) {
        return Bad("field " + std::to_string(fields->size() + 1) + ", " + Quote(field.text) +
                   ", holds a quote but is not quoted");
      }
      at = end;
    }
    fields->push_back(std::move(field));
    if (at >= record.size()) return Status::Ok();
    ++at;
  }
}

// Names over every value column, none of them a number or meant as one; or the column numbers
// 0, 1, 2 ... after an empty name, as data-frame tools write them.
bool DelimitedReader::IsHeader(const std::vector<Field>& fields) {
  if (options_.header != HeaderLine::kAuto) return options_.header == HeaderLine::kYes;
  if (fields.size() < 2) return false;
  bool names = true, numbers = fields[0].text.empty() && !fields[0].quoted;
  for (size_t i = 1; i < fields.size(); ++i) {
    const std::string_view text = Trim(fields[i].text);
    const bool like_number = text.empty() || IsNumber(text) ||
                             std::string_view("0123456789+-.").find(text[0]) != std::string::npos;
    names = names && !like_number;
    numbers = numbers && text == std::to_string(i - 1);
  }
  if (numbers) {
    counts_.warnings.push_back(name() + " line 1: taken as a header (column numbers 0, 1, 2 ...)");
  }
  return names || numbers;
}

Status DelimitedReader::SetDim(const std::vector<Field>& fields) {
  if (options_.dim != 0) {
    info_.dim = options_.dim;
    return Status::Ok();
  }
  if (fields.size() < 2) {
    const bool spaces = record_.find_first_of(delimiter_ == '\t' ? ", ;" : " \t;") != record_.npos;
    return Bad("expected a key and values between " + Quote(std::string_view(&delimiter_, 1)) +
               ", found one field" + (spaces ? " (another delimiter?)" : ""));
  }
  info_.dim = static_cast<uint32_t>(std::min<size_t>(fields.size() - 1, UINT32_MAX));
  // "word;0,5" would be a key and one value. A key that is meant so is quoted.
  if (info_.dim == 1 && options_.delimiter == 0) {
    EDO_RETURN_IF_ERROR(RefuseDecimalComma());
  }
  if (info_.dim > kMaxDim) {
    return Bad("rows of " + std::to_string(fields.size() - 1) + " values; the most is " +
               std::to_string(kMaxDim));
  }
  return Status::Ok();
}

// int64 when every key of the first lines is an integer as it would be printed, without quotes.
KeyKind DelimitedReader::GuessKeyKind(const std::vector<std::string_view>& lines,
                                      bool header) const {
  bool any = false;
  for (size_t i = header ? 1 : 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    if (!IsCanonicalInt64(lines[i].substr(0, lines[i].find(delimiter_)))) return KeyKind::kText;
    any = true;
  }
  return any ? KeyKind::kInt64 : KeyKind::kText;
}

Status DelimitedReader::Start() {
  EDO_RETURN_IF_ERROR(SkipByteOrderMark(input_.get()));
  EDO_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines,
                       PeekLines(input_.get(), kSampleLines));
  EDO_RETURN_IF_ERROR(RefuseCrLineEnds(*input_));
  const KeyKind with_header = GuessKeyKind(lines, true), without = GuessKeyKind(lines, false);
  if (input_->size() && !lines.empty()) {
    uint64_t bytes = 0;
    for (const std::string_view line : lines) bytes += line.size() + 1;
    info_.estimated_rows = *input_->size() / (bytes / lines.size());
  }
  EDO_ASSIGN_OR_RETURN(const bool found, NextRecord());
  if (!found) {
    if (options_.dim == 0) return BadByte(name(), 0, "no rows, so the dimension is not known");
    info_.dim = options_.dim;
    info_.key_kind = options_.key_kind.value_or(KeyKind::kText);
    return Status::Ok();
  }
  EDO_RETURN_IF_ERROR(Split(record_, &fields_));
  const bool header = IsHeader(fields_);
  EDO_RETURN_IF_ERROR(SetDim(fields_));
  info_.key_kind = options_.key_kind.value_or(header ? with_header : without);
  reuse_record_ = !header;
  return Status::Ok();
}

// A record without quotes whose values are plain numbers, one between two delimiters.
bool DelimitedReader::ParseQuickly(float* values, std::string_view* key) const {
  if (quotes_ && memchr(record_.data(), '"', record_.size()) != nullptr) return false;
  const size_t key_bytes = record_.find(delimiter_);
  if (key_bytes == std::string_view::npos) return false;
  *key = record_.substr(0, key_bytes);
  const char* p = record_.data() + key_bytes;
  const char* const end = record_.data() + record_.size();
  for (uint32_t i = 0; i < info_.dim; ++i) {
    if (p >= end || *p != delimiter_) return false;
    const char* after = ParseShortDecimal(p + 1, values + i);
    if (after == nullptr) {
      const size_t begin = static_cast<size_t>(p + 1 - record_.data());
      const size_t bytes = std::min(record_.find(delimiter_, begin), record_.size()) - begin;
      const std::string_view field = record_.substr(begin, bytes);
      if (ParseFloat(Trim(field), values + i) == NumberKind::kNone) return false;
      after = field.data() + bytes;
    }
    p = after;
  }
  return p == end;
}

Status DelimitedReader::ParseCarefully(float* values) {
  EDO_RETURN_IF_ERROR(Split(record_, &fields_));
  if (fields_.size() != size_t{info_.dim} + 1) {
    const bool empty_last = fields_.size() > 1 && Trim(fields_.back().text).empty();
    return Bad("expected " + Count(info_.dim, "value") + ", found " +
               std::to_string(fields_.size() - 1) + (empty_last ? " (the last is empty)" : ""));
  }
  for (uint32_t i = 0; i < info_.dim; ++i) {
    const std::string_view text = Trim(fields_[i + 1].text);
    if (text.empty()) {
      return Bad("field " + std::to_string(i + 2) + " is empty (value " + std::to_string(i + 1) +
                 " of " + std::to_string(info_.dim) + ")");
    }
    if (ParseFloat(text, values + i) == NumberKind::kNone) {
      return Bad("value " + std::to_string(i + 1) + " of " + std::to_string(info_.dim) + ", " +
                 WhyNotANumber(text));
    }
  }
  return Status::Ok();
}

// Where commas separate fields, decimal commas tear values apart.
Status DelimitedReader::RefuseDecimalComma() const {
  if (delimiter_ != ',') return Status::Ok();
  const std::string_view value = DecimalCommaIn(record_);
  if (value.empty()) return Status::Ok();
  return Bad(Quote(value) +
             " between semicolons: a decimal comma, which is not read; values are written with a "
             "point");
}

std::string DelimitedReader::NameValue(uint32_t i, float value) const {
  std::vector<Field> fields;
  float parsed = 0;
  if (Split(record_, &fields).ok() && i + 1 < fields.size()) {
    const std::string_view text = Trim(fields[i + 1].text);
    if (ParseFloat(text, &parsed) == NumberKind::kOverflow) {
      return Quote(text) + " is beyond the range of fp32";
    }
  }
  return ReaderBase::NameValue(i, value);
}

Result<bool> DelimitedReader::Fill(RowBatch* batch, uint64_t max_rows) {
  while (batch->row_count < max_rows) {
    if (!std::exchange(reuse_record_, false)) {
      EDO_ASSIGN_OR_RETURN(const bool more, NextRecord());
      if (!more) return false;
    }
    std::string_view key;
    if (!ParseQuickly(NextRow(batch), &key)) {
      Status status = ParseCarefully(NextRow(batch));
      key = fields_.empty() ? std::string_view() : std::string_view(fields_[0].text);
      if (!status.ok()) {
        if (const Status comma = RefuseDecimalComma(); !comma.ok()) status = comma;
        EDO_RETURN_IF_ERROR(BadRow(status, record_line_, key));
        continue;
      }
    }
    EDO_RETURN_IF_ERROR(AddRow(batch, key, record_line_));
  }
  return true;
}

}  // namespace

OpenedReader OpenDelimitedReader(std::unique_ptr<Input> input, const SourceOptions& options,
                                 const std::string& format) {
  const char d = options.delimiter;
  if (d == '"' || d == '\n' || d == '\r' || (d >= '0' && d <= '9') || d == '.' || d == '-' ||
      d == '+') {
    return Status::InvalidArgument("delimiter " + Quote(std::string_view(&d, 1)) +
                                   " cannot separate numbers");
  }
  auto reader = std::make_unique<DelimitedReader>(std::move(input), options, format);
  EDO_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace edo::storage
