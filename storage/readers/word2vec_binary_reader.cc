// Reader of word2vec's binary form: "rows dim\n", then rows of key, SPACE, dim x f32, perhaps LF.
// Messages count rows from 1, as the header does.
#include <algorithm>
#include <cstring>

#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/reader_base.h"
#include "storage/readers/readers.h"
#include "storage/readers/sniff.h"
#include "storage/readers/text_fields.h"

namespace edo::storage {
namespace {

class Word2vecBinaryReader final : public ReaderBase {
 public:
  Word2vecBinaryReader(std::unique_ptr<Input> input, const SourceOptions& options)
      : ReaderBase(std::move(input), options) {
    info_.format = "word2vec-bin";
    info_.dtype = "f32";
    info_.key_kind = options.key_kind.value_or(KeyKind::kText);
  }
  Status Start();

 protected:
  Result<bool> Fill(RowBatch* batch, uint64_t max_rows) override;
  std::string KeyAt(uint64_t, size_t byte) const override {
    return name() + " byte " + std::to_string(row_begin_ + byte) + ": " + RowOf();
  }

 private:
  std::string RowOf() const {
    return "row " + std::to_string(row_) + " of " + std::to_string(*info_.rows);
  }
  Status Truncated() const {
    return BadByte(name(), input_->offset() + input_->window().size(),
                   RowOf() + " is truncated: the file ends here");
  }
  Status CheckNotText();
  Result<size_t> FindKey();
  Status TakeLineFeed();
  Status AtEnd();

  uint64_t row_ = 1;                                      // the row being read
  uint64_t row_begin_ = 0;                                // byte of the file where it begins
  enum { kNotKnown, kYes, kNo } line_feeds_ = kNotKnown;  // whether rows end in LF
};

Status Word2vecBinaryReader::Start() {
  EDO_ASSIGN_OR_RETURN(const std::string_view start, input_->Peek(4096));
  const size_t end = start.find('\n');
  const std::string_view line = start.substr(0, end);
  const auto header = end < 256 ? ParseTextHeader(StripCr(line)) : std::nullopt;
  if (!header) {
    const bool text = !HasBinaryBytes(start);
    return BadLine(name(), 1,
                   "expected a header 'rows dim' of two integers, found " + Quote(line) +
                       (text ? "; this looks like text, not word2vec binary" : ""));
  }
  if (header->dim == 0) return BadLine(name(), 1, "the header says dimension 0");
  if (options_.dim != 0 && options_.dim != header->dim) {
    return BadLine(name(), 1,
                   "the header says dimension " + std::to_string(header->dim) +
                       ", the options say " + std::to_string(options_.dim));
  }
  info_.rows = header->rows;
  input_->Consume(end + 1);
  if (header->dim > kMaxDim) {
    // A huge number is more often damage than a real table: say so when the bytes are not there.
    const auto size = input_->size();
    if (size && header->rows > 0 && (*size - input_->offset()) / 4 < header->dim) {
      return BadByte(name(), *size,
                     RowOf() + " is truncated: the header says " + std::to_string(header->dim) +
                         " values a row");
    }
    return BadLine(name(), 1,
                   "the header says dimension " + std::to_string(header->dim) + "; the most is " +
                       std::to_string(kMaxDim));
  }
  info_.dim = static_cast<uint32_t>(header->dim);
  info_.estimated_rows = header->rows;
  if (input_->size()) {
    info_.estimated_rows = std::min(header->rows, *input_->size() / (4 * header->dim + 1));
  }
  return CheckNotText();
}

// The text form has the same header; its first row has numbers where this form has raw bytes.
Status Word2vecBinaryReader::CheckNotText() {
  EDO_ASSIGN_OR_RETURN(std::string_view start, input_->Peek(4096));
  start = start.substr(0, 4096);
  const std::string_view line = StripCr(start.substr(0, start.find('\n')));
  if (HasBinaryBytes(start) || CountValues(line) == 0) return Status::Ok();
  return BadByte(name(), input_->offset(),
                 "this looks like the text form of word2vec, not the "
                 "binary one: row 1 is " +
                     Quote(line));
}

// Length of the key at the window's beginning; the window then holds the whole row.
Result<size_t> Word2vecBinaryReader::FindKey() {
  size_t searched = 0;
  const size_t values_bytes = size_t{4} * info_.dim;
  for (;;) {
    const std::string_view window = input_->window();
    const void* space = window.size() == searched
                            ? nullptr
                            : memchr(window.data() + searched, ' ', window.size() - searched);
    if (space != nullptr) {
      const auto key = static_cast<size_t>(static_cast<const char*>(space) - window.data());
      const size_t wanted = key + 1 + values_bytes;
      if (window.size() < wanted) {
        EDO_ASSIGN_OR_RETURN(const std::string_view more, input_->Peek(wanted));
        if (more.size() < wanted) return Truncated();
      }
      return key;
    }
    searched = window.size();
    if (searched > kMaxKeyBytes) {
      return BadByte(
          name(), row_begin_,
          RowOf() + ": no space ends the key within " + std::to_string(kMaxKeyBytes) + " bytes");
    }
    EDO_ASSIGN_OR_RETURN(const bool more, input_->More());
    if (!more) return Truncated();
  }
}

// word2vec ends every row in LF, gensim none: a file that does both has a key with a space in it,
// or damage.
Status Word2vecBinaryReader::TakeLineFeed() {
  EDO_ASSIGN_OR_RETURN(const std::string_view next, input_->Peek(1));
  const bool found = next.starts_with('\n');
  if (found) input_->Consume(1);
  if (row_ >= *info_.rows) return Status::Ok();  // the last one may lack it
  if (line_feeds_ == kNotKnown) line_feeds_ = found ? kYes : kNo;
  if (found == (line_feeds_ == kYes)) return Status::Ok();
  if (next.empty()) return Status::Ok();  // the next row will be found truncated
  return BadByte(name(), row_begin_,
                 RowOf() +
                     (found ? " ends in a line feed, the rows before it do not"
                            : " does not end in a line feed as the rows before it do") +
                     ": a key with a space in it, or damage");
}

Status Word2vecBinaryReader::AtEnd() {
  EDO_ASSIGN_OR_RETURN(const std::string_view rest, input_->Peek(1));
  if (rest.empty()) return Status::Ok();
  const uint64_t at = input_->offset();
  std::string left = "some";
  if (input_->size()) left = std::to_string(*input_->size() - at);
  return BadByte(
      name(), at,
      "header says " + Count(*info_.rows, "row") + ", " + left + " bytes left behind them");
}

Result<bool> Word2vecBinaryReader::Fill(RowBatch* batch, uint64_t max_rows) {
  std::string kept;
  while (batch->row_count < max_rows) {
    if (row_ > *info_.rows) {
      EDO_RETURN_IF_ERROR(AtEnd());
      return false;
    }
    row_begin_ = input_->offset();
    EDO_ASSIGN_OR_RETURN(const size_t key_bytes, FindKey());
    const std::string_view window = input_->window();
    memcpy(NextRow(batch), window.data() + key_bytes + 1, size_t{4} * info_.dim);
    kept.assign(window.substr(0, key_bytes));
    input_->Consume(key_bytes + 1 + size_t{4} * info_.dim);
    EDO_RETURN_IF_ERROR(TakeLineFeed());
    EDO_RETURN_IF_ERROR(AddRow(batch, kept, row_));
    ++row_;
  }
  return true;
}

}  // namespace

OpenedReader OpenWord2vecBinaryReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  auto reader = std::make_unique<Word2vecBinaryReader>(std::move(input), options);
  EDO_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace edo::storage
