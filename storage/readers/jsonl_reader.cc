// Reader of JSONL: a JSON object or pair a line (json_line.h). Blank lines are passed over.
#include <algorithm>

#include "storage/readers/json_line.h"
#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/reader_base.h"
#include "storage/readers/readers.h"
#include "storage/readers/text_fields.h"

namespace edo::storage {
namespace {

class JsonlReader final : public ReaderBase {
 public:
  JsonlReader(std::unique_ptr<Input> input, const SourceOptions& options)
      : ReaderBase(std::move(input), options), lines_(input_.get()) {
    info_.format = "jsonl";
    info_.dtype = "text";
    info_.position_unit = "line";
  }

  // Learns dim and key kind from the first row.
  Status Start() {
    EDO_RETURN_IF_ERROR(SkipByteOrderMark(input_.get()));
    EDO_ASSIGN_OR_RETURN(const bool found, NextLine());
    if (!found) {
      if (options_.dim == 0) return BadByte(name(), 0, "no rows, so the dimension is not known");
      info_.dim = options_.dim;
      info_.key_kind = options_.key_kind.value_or(KeyKind::kText);
      return Status::Ok();
    }
    if (input_->size()) info_.estimated_rows = *input_->size() / (line_.size() + 1);
    reuse_line_ = true;
    // Dim and kind come from this row even when it is bad in some other way and skipped later.
    const Status status = row_.Parse(line_, nullptr, 0, !lines_.had_line_end());
    if (!status.ok()) return Bad(status.message());
    if (row_.value_count() == 0) return Bad("the row has no values (dimension 0)");
    info_.dim = options_.dim != 0
                    ? options_.dim
                    : static_cast<uint32_t>(std::min<size_t>(row_.value_count(), UINT32_MAX));
    if (info_.dim > kMaxDim) {
      return Bad("a row of " + std::to_string(row_.value_count()) + " values; the most is " +
                 std::to_string(kMaxDim));
    }
    first_key_ = row_.key();
    info_.key_kind = options_.key_kind.value_or(
        first_key_ == JsonLine::Key::kInteger ? KeyKind::kInt64 : KeyKind::kText);
    return Status::Ok();
  }

 protected:
  Result<bool> Fill(RowBatch* batch, uint64_t max_rows) override {
    while (batch->row_count < max_rows) {
      if (!std::exchange(reuse_line_, false)) {
        EDO_ASSIGN_OR_RETURN(const bool more, NextLine());
        if (!more) return false;
      }
      const Status status = ParseRow(NextRow(batch));
      if (!status.ok()) {
        EDO_RETURN_IF_ERROR(BadRow(status, lines_.number(), row_.text()));
        continue;
      }
      if (info_.key_kind == KeyKind::kInt64 && row_.key() == JsonLine::Key::kInteger) {
        EDO_RETURN_IF_ERROR(AddIntRow(batch, row_.integer(), lines_.number()));
      } else {
        key_is_bytes_ = row_.text_was_base64();
        EDO_RETURN_IF_ERROR(AddRow(batch, row_.text(), lines_.number()));
      }
    }
    return true;
  }

  std::string NameValue(uint32_t i, float value) const override {
    for (const auto& [place, number] : row_.overflows()) {
      if (place == i) return Quote(number) + " is beyond the range of fp32";
    }
    return ReaderBase::NameValue(i, value);
  }

 private:
  Result<bool> NextLine() {
    for (;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line_));
      if (!more) return false;
      line_ = StripCr(line_);
      if (!IsBlank(line_)) return true;
    }
  }

  Status ParseRow(float* values) {
    const Status status = row_.Parse(line_, values, info_.dim, !lines_.had_line_end());
    if (!status.ok()) return Bad(status.message());
    if (row_.value_count() != info_.dim) {
      return Bad("expected " + Count(info_.dim, "value") + ", found " +
                 std::to_string(row_.value_count()));
    }
    if (row_.key() != first_key_ && !options_.key_kind) {
      return Bad(first_key_ == JsonLine::Key::kInteger
                     ? "key kinds differ: the first row's key is a number, this one's a string"
                     : "key kinds differ: the first row's key is a string, this one's a number");
    }
    return Status::Ok();
  }
  Status Bad(std::string_view what) const { return BadLine(name(), lines_.number(), what); }

  LineReader lines_;
  JsonLine row_;
  std::string_view line_;
  bool reuse_line_ = false;
  JsonLine::Key first_key_ = JsonLine::Key::kNone;
};

}  // namespace

OpenedReader OpenJsonlReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  auto reader = std::make_unique<JsonlReader>(std::move(input), options);
  EDO_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace edo::storage
