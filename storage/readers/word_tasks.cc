#include "storage/readers/word_tasks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/text_fields.h"

namespace edo::storage {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSeparator(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSeparator(text.back())) text.remove_suffix(1);
  return text;
}

// Fields between `separator`s; ' ' is any run of blanks.
std::vector<std::string_view> Split(std::string_view line, char separator) {
  if (separator == ' ') return SplitFields(line);
  std::vector<std::string_view> fields;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(separator, begin), line.size());
    fields.push_back(Trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return fields;
}

std::optional<double> ParseScore(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double score = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), score);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(score) ? std::optional(score) : std::nullopt;
}

class PairReader {
 public:
  PairReader(std::unique_ptr<Input> input, std::string_view score_column)
      : input_(std::move(input)), lines_(input_.get()), score_column_(score_column) {}

  Result<WordPairs> Run() {
    EDO_RETURN_IF_ERROR(SkipByteOrderMark(input_.get()));
    for (std::string_view line;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
      if (!more) break;
      line = StripCr(line);
      if (IsBlank(line) || (fields_ == 0 && line.starts_with('#'))) continue;
      if (fields_ == 0) {
        EDO_ASSIGN_OR_RETURN(const bool header, TakeFirst(line));
        if (header) continue;
      }
      EDO_RETURN_IF_ERROR(AddPair(line));
    }
    if (out_.pairs.empty()) {
      return Status::BadInput(input_->name() +
                              ": found no pair of words, expected lines of two "
                              "words and a score");
    }
    return std::move(out_);
  }

 private:
  Status Bad(std::string_view found, std::string_view expected) const {
    return BadLine(input_->name(), lines_.number(),
                   "found " + std::string(found) + ", expected " + std::string(expected));
  }

  // What the first line says of the others; whether it is a header.
  Result<bool> TakeFirst(std::string_view line) {
    const auto has = [line](char c) { return line.find(c) != std::string_view::npos; };
    separator_ = has('\t') ? '\t' : has(',') ? ',' : ' ';
    const auto fields = Split(line, separator_);
    fields_ = fields.size();
    if (fields_ < 3) {
      return Bad(Count(fields_, "field") + " in " + Quote(line), "two words and a score");
    }
    if (!score_column_.empty()) {
      const auto place = std::find(fields.begin() + 2, fields.end(), score_column_);
      if (place == fields.end()) {
        return Bad("no column " + Quote(score_column_) + " behind the words in " + Quote(line),
                   "a header that has it");
      }
      score_ = static_cast<size_t>(place - fields.begin());
    } else if (ParseScore(fields[2])) {
      return false;
    }
    out_.header = line;
    return true;
  }

  Status AddPair(std::string_view line) {
    const auto fields = Split(line, separator_);
    if (fields.size() != fields_) {
      return Bad(Count(fields.size(), "field") + " in " + Quote(line),
                 std::to_string(fields_) + " as on the first line");
    }
    for (size_t i = 0; i < 2; ++i) {
      if (fields[i].empty()) return Bad("an empty word in " + Quote(line), "two words and a score");
      if (separator_ == ',' && fields[i].starts_with('"')) {
        return Bad(Quote(fields[i]), "a word without quotes");
      }
    }
    const auto score = ParseScore(fields[score_]);
    if (!score) {
      return Bad(Quote(fields[score_]),
                 out_.header.empty() || !score_column_.empty()
                     ? "a score, a finite number"
                     : "a score in column 3 (line 1 is a header; name the score's column)");
    }
    out_.pairs.push_back({std::string(fields[0]), std::string(fields[1]), *score});
    return Status::Ok();
  }

  const std::unique_ptr<Input> input_;
  LineReader lines_;
  const std::string_view score_column_;
  char separator_ = ' ';
  size_t fields_ = 0;  // a line; 0 before the first
  size_t score_ = 2;
  WordPairs out_;
};

}  // namespace

Result<WordPairs> ReadWordPairs(std::unique_ptr<Input> input, std::string_view score_column) {
  return PairReader(std::move(input), score_column).Run();
}

Result<Questions> ReadQuestions(std::unique_ptr<Input> input) {
  EDO_RETURN_IF_ERROR(SkipByteOrderMark(input.get()));
  LineReader lines(input.get());
  Questions out;
  for (std::string_view line;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, lines.Next(&line));
    if (!more) break;
    line = StripCr(line);
    if (IsBlank(line)) continue;
    if (line.starts_with(':')) {
      const std::string_view name = Trimmed(line.substr(1));
      if (name.empty()) {
        return BadLine(input->name(), lines.number(),
                       "found ':' alone, expected the name of a section behind it");
      }
      out.sections.emplace_back(name);
      continue;
    }
    const auto fields = SplitFields(line);
    if (fields.size() != 4) {
      return BadLine(input->name(), lines.number(),
                     "found " + Count(fields.size(), "word") + " in " + Quote(line) +
                         ", expected four words or ': SECTION'");
    }
    if (out.sections.empty()) out.sections.emplace_back();
    Questions::Question question;
    std::copy(fields.begin(), fields.end(), question.words.begin());
    question.section = out.sections.size() - 1;
    out.questions.push_back(std::move(question));
  }
  if (out.questions.empty()) {
    return Status::BadInput(input->name() + ": found no question, expected lines of four words");
  }
  return out;
}

}  // namespace edo::storage
