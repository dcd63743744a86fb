// Reader of word2vec text, GloVe text and fastText .vec: a line a row, key first, values after it.
#include <algorithm>
#include <map>

#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/number.h"
#include "storage/readers/reader_base.h"
#include "storage/readers/readers.h"
#include "storage/readers/sniff.h"
#include "storage/readers/text_fields.h"

namespace edo::storage {
namespace {

constexpr size_t kSampleBytes = size_t{256} << 10;
constexpr size_t kSampleLines = 64;

class TextReader final : public ReaderBase {
 public:
  TextReader(std::unique_ptr<Input> input, const SourceOptions& options, const std::string& format)
      : ReaderBase(std::move(input), options), lines_(input_.get()) {
    info_.format = format;
    info_.dtype = "text";
    info_.key_kind = options.key_kind.value_or(KeyKind::kText);
    info_.position_unit = "line";
    info_.dim = options.dim;
  }

  Status Start() {
    EDO_RETURN_IF_ERROR(SkipByteOrderMark(input_.get()));
    const bool header = options_.header == HeaderLine::kYes ||
                        (options_.header == HeaderLine::kAuto && info_.format != "glove");
    if (header) {
      EDO_RETURN_IF_ERROR(ReadHeader());
    } else {
      EDO_RETURN_IF_ERROR(LearnDim());
    }
    if (info_.dim > kMaxDim) {
      return BadLine(name(), 1,
                     "rows of " + std::to_string(info_.dim) + " values; the most is " +
                         std::to_string(kMaxDim));
    }
    return EstimateRows();
  }

 protected:
  Result<bool> Fill(RowBatch* batch, uint64_t max_rows) override;
  std::string NameValue(uint32_t i, float value) const override;

 private:
  Status ReadHeader();
  Status LearnDim();
  Status EstimateRows();
  bool ParseQuickly(std::string_view line, float* values, std::string_view* key) const;
  Status ParseCarefully(std::string_view line, float* values, std::string_view* key) const;
  Status WrongCount(std::string_view line, std::string_view why) const;
  Status Blank(std::string_view* line, bool* at_end);
  Status AtEnd() const;
  Status Bad(std::string_view what) const { return BadLine(name(), lines_.number(), what); }

  LineReader lines_;
  uint64_t rows_seen_ = 0;  // rows and skipped rows: what the header's count speaks of
  std::string_view line_;   // the line being read, for NameValue
};

Status TextReader::ReadHeader() {
  std::string_view line;
  EDO_ASSIGN_OR_RETURN(const bool found, lines_.Next(&line));
  if (!found) return BadByte(name(), 0, "the file is empty: expected a header 'rows dim'");
  line = StripCr(line);
  if (IsFloretHeader(line)) {
    return Status::Unsupported(name() +
                               " line 1: this is a floret table (8 fields in its header); "
                               "floret rows are hashed pieces of words and cannot be imported");
  }
  const auto header = ParseTextHeader(line);
  if (!header) {
    return Bad("expected a header 'rows dim' of two integers, found " + Quote(line) +
               " (a file without a header: format glove)");
  }
  if (header->dim == 0) return Bad("the header says dimension 0");
  if (header->dim > kMaxDim) {
    return Bad("the header says dimension " + std::to_string(header->dim) + "; the most is " +
               std::to_string(kMaxDim));
  }
  if (options_.dim != 0 && options_.dim != header->dim) {
    return Bad("the header says dimension " + std::to_string(header->dim) + ", the options say " +
               std::to_string(options_.dim));
  }
  info_.rows = header->rows;
  info_.dim = static_cast<uint32_t>(header->dim);
  return Status::Ok();
}

// A file without a header: the dim is what most of the first lines agree on, since a line alone
// may be misread (a key that ends in a number, a row cut short).
Status TextReader::LearnDim() {
  EDO_ASSIGN_OR_RETURN(std::vector<std::string_view> lines, PeekLines(input_.get(), kSampleLines));
  EDO_RETURN_IF_ERROR(RefuseCrLineEnds(*input_));
  std::erase_if(lines, IsBlank);
  if (info_.dim == 0) {
    std::map<uint32_t, uint32_t> votes;
    uint32_t best = 0;
    for (const std::string_view line : lines) {
      const uint32_t count = CountValues(line);
      if (count > 0) best = std::max(best, ++votes[count]);
    }
    for (const std::string_view line : lines) {  // of equals, the one that came first
      const uint32_t count = CountValues(line);
      if (info_.dim == 0 && count > 0 && votes[count] == best) info_.dim = count;
    }
  }
  if (lines.empty()) {
    if (info_.dim != 0) return Status::Ok();
    return BadByte(name(), 0, "no rows, so the dimension is not known");
  }
  if (options_.header == HeaderLine::kAuto && options_.dim == 0 && ParseTextHeader(lines[0]) &&
      lines.size() > 1 && CountValues(lines[1]) > 1) {
    const uint32_t second = CountValues(lines[1]);
    return BadLine(name(), 1,
                   "line 1 has 1 value, line 2 has " + std::to_string(second) + ": " +
                       Quote(lines[0]) +
                       " looks like the header of word2vec text (format word2vec)");
  }
  if (info_.dim == 0) {
    const auto fields = SplitFields(lines[0]);
    return BadLine(name(), 1,
                   fields.size() < 2
                       ? "expected a key and values, found " + Quote(lines[0])
                       : "expected values after the key: " + WhyNotANumber(fields.back()));
  }
  return Status::Ok();
}

Status TextReader::EstimateRows() {
  const auto size = input_->size();
  if (info_.rows) {  // a header may lie: a row takes at least two bytes a value
    info_.estimated_rows = *info_.rows;
    if (size) info_.estimated_rows = std::min(*info_.rows, *size / (uint64_t{2} * info_.dim));
  }
  if (info_.rows || !size) return Status::Ok();
  EDO_ASSIGN_OR_RETURN(const std::string_view sample, input_->Peek(kSampleBytes));
  const auto lines = static_cast<uint64_t>(std::count(sample.begin(), sample.end(), '\n'));
  if (lines > 0) info_.estimated_rows = *size / std::max<uint64_t>(1, sample.size() / lines);
  return Status::Ok();
}

// The common line: a key without separators, then exactly dim plain numbers.
bool TextReader::ParseQuickly(std::string_view line, float* values, std::string_view* key) const {
  const char* p = line.data();
  const char* const end = p + line.size();
  while (p != end && !IsSeparator(*p)) ++p;
  *key = line.substr(0, static_cast<size_t>(p - line.data()));
  if (key->empty()) return false;
  for (uint32_t i = 0; i < info_.dim; ++i) {
    if (p >= end || !IsSeparator(*p)) return false;
    ++p;
    const char* after = ParseShortDecimal(p, values + i);
    if (after == nullptr) {
      after = p;
      while (after < end && !IsSeparator(*after)) ++after;
      const std::string_view field(p, static_cast<size_t>(after - p));
      if (ParseFloat(field, values + i) == NumberKind::kNone) return false;
    }
    p = after;
  }
  while (p < end && IsSeparator(*p)) ++p;
  return p == end;
}

Status TextReader::WrongCount(std::string_view line, std::string_view why) const {
  std::string text =
      "expected " + Count(info_.dim, "value") + ", found " + std::to_string(CountValues(line));
  if (!why.empty()) text.append(": ").append(why);
  return Bad(text);
}

// Every other line, by the rules for keys with separators, and with the message it deserves.
Status TextReader::ParseCarefully(std::string_view line, float* values,
                                  std::string_view* key) const {
  const auto fields = SplitFields(line);
  const size_t key_fields_least = IsSeparator(line.front()) ? 0 : 1;
  if (fields.size() < key_fields_least + info_.dim) {
    for (size_t i = key_fields_least; i < fields.size(); ++i) {
      if (!IsNumber(fields[i])) return WrongCount(line, WhyNotANumber(fields[i]));
    }
    return WrongCount(line, "");
  }
  const size_t first = fields.size() - info_.dim;
  for (uint32_t i = 0; i < info_.dim; ++i) {
    const std::string_view field = fields[first + i];
    if (ParseFloat(field, values + i) != NumberKind::kNone) continue;
    if (i == 0 && CountValues(line) + 1 == info_.dim && !LooksLikeNumber(field)) {
      return WrongCount(line, WhyNotANumber(field));
    }
    return Bad("value " + std::to_string(i + 1) + " of " + std::to_string(info_.dim) + ", " +
               WhyNotANumber(field));
  }
  *key = KeyBefore(line, static_cast<size_t>(fields[first].data() - line.data()));
  // A number right before the values is more likely a value too many than the end of a key. Only
  // a dim given by the caller says otherwise.
  if (first > key_fields_least && options_.dim == 0 &&
      HoldsValues({fields.begin() + static_cast<ptrdiff_t>(key_fields_least),
                   fields.begin() + static_cast<ptrdiff_t>(first)},
                  info_.dim)) {
    return WrongCount(line, "a value too many, or two rows on one line; if " + Quote(*key) +
                                " is the key, give the dimension (--dim)");
  }
  return Status::Ok();
}

std::string TextReader::NameValue(uint32_t i, float value) const {
  const auto fields = SplitFields(line_);
  float parsed = 0;
  const std::string_view field = fields[fields.size() - info_.dim + i];
  if (ParseFloat(field, &parsed) == NumberKind::kOverflow) {
    return Quote(field) + " is beyond the range of fp32";
  }
  return ReaderBase::NameValue(i, value);
}

// A blank line may stand only behind the last row. Moves `*line` on to the next line that is not
// blank, or sets `*at_end`.
Status TextReader::Blank(std::string_view* line, bool* at_end) {
  const uint64_t number = lines_.number();
  const std::string seen =
      info_.rows ? std::to_string(rows_seen_) + " of " + Count(*info_.rows, "row") + " read"
                 : Count(rows_seen_, "row") + " read";
  const Status error = BadLine(name(), number, "an empty line before the last row (" + seen + ")");
  if (options_.on_bad_row == OnBadRow::kError && info_.rows) {
    return error;
  }
  while (IsBlank(*line)) {
    EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(line));
    if (!more) {
      *at_end = true;
      return Status::Ok();
    }
    *line = StripCr(*line);
  }
  return BadRow(error, number, "");
}

Status TextReader::AtEnd() const {
  if (info_.rows && rows_seen_ < *info_.rows) {
    return BadLine(
        name(), lines_.number(),
        "header says " + Count(*info_.rows, "row") + ", found " + std::to_string(rows_seen_));
  }
  return Status::Ok();
}

Result<bool> TextReader::Fill(RowBatch* batch, uint64_t max_rows) {
  while (batch->row_count < max_rows) {
    EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line_));
    bool at_end = !more;
    line_ = StripCr(line_);
    if (more && info_.rows && rows_seen_ >= *info_.rows) {
      if (IsBlank(line_)) continue;
      return Bad("header says " + Count(*info_.rows, "row") + ", and more rows follow");
    }
    if (more && IsBlank(line_)) EDO_RETURN_IF_ERROR(Blank(&line_, &at_end));
    if (at_end) {
      EDO_RETURN_IF_ERROR(AtEnd());
      return false;
    }
    ++rows_seen_;
    std::string_view key;
    if (!ParseQuickly(line_, NextRow(batch), &key)) {
      Status status = ParseCarefully(line_, NextRow(batch), &key);
      if (!status.ok()) {
        if (rows_seen_ == 1 && HasBinaryBytes(line_)) {
          status = Bad("the row is not text: these bytes look like word2vec binary (word2vec-bin)");
        }
        const std::string first(line_.substr(0, line_.find_first_of(" \t")));
        EDO_RETURN_IF_ERROR(BadRow(status, lines_.number(), first));
        continue;
      }
    }
    EDO_RETURN_IF_ERROR(AddRow(batch, key, lines_.number()));
  }
  return true;
}

}  // namespace

OpenedReader OpenTextReader(std::unique_ptr<Input> input, const SourceOptions& options,
                            const std::string& format) {
  auto reader = std::make_unique<TextReader>(std::move(input), options, format);
  EDO_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace edo::storage
