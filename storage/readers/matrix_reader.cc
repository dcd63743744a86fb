#include "storage/readers/matrix_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "storage/readers/messages.h"

namespace edo::storage {

MatrixReader::MatrixReader(std::unique_ptr<Input> input, const SourceOptions& options,
                           SourceInfo info, const MatrixLayout& layout)
    : ReaderBase(std::move(input), options),
      layout_(layout),
      row_bytes_(uint64_t{ElementBytes(layout.type)} * layout.dim) {
  info.compression = info_.compression;
  info_ = std::move(info);
  info_.dtype = ElementName(layout.type);
  info_.dim = layout.dim;
  info_.key_kind = KeyKind::kDense;
  info_.position_unit = "row";
  info_.rows = layout.rows;
  if (!info_.rows && input_->size()) {
    info_.rows = (*input_->size() - std::min(*input_->size(), layout.data_offset)) / row_bytes_;
  }
  info_.estimated_rows = info_.rows.value_or(0);
  if (layout.rows) end_row_ = *layout.rows;
}

Result<std::unique_ptr<RowReader>> MatrixReader::Open(std::unique_ptr<Input> input,
                                                      const SourceOptions& options, SourceInfo info,
                                                      const MatrixLayout& layout) {
  if (options.dim != 0 && options.dim != layout.dim) {
    return Status::BadInput(input->name() + ": rows have " + Count(layout.dim, "value") +
                            ", the options say " + std::to_string(options.dim));
  }
  auto reader = std::unique_ptr<MatrixReader>(
      new MatrixReader(std::move(input), options, std::move(info), layout));
  if (layout.fortran_order && !reader->input_->seekable()) {
    return Status::Unsupported(reader->name() +
                               ": an array in Fortran order (column-major) needs a "
                               "seekable file, not a pipe or compressed data");
  }
  EDO_RETURN_IF_ERROR(reader->CheckSize());
  EDO_ASSIGN_OR_RETURN(const uint64_t skipped,
                       reader->input_->Skip(layout.data_offset - reader->input_->offset()));
  (void)skipped;  // a shorter file shows at the first row
  return std::unique_ptr<RowReader>(std::move(reader));
}

// Where the length is known, a file too short or too long is refused before its first row.
Status MatrixReader::CheckSize() const {
  const auto size = input_->size();
  if (!size) return Status::Ok();
  const uint64_t data = *size - std::min(*size, layout_.data_offset);
  if (!layout_.rows) {
    if (data % row_bytes_ == 0) return Status::Ok();
    return BadByte(name(), *size - data % row_bytes_,
                   std::to_string(*size) + " bytes are no whole number of rows of " +
                       std::to_string(row_bytes_) + " bytes (dim " + std::to_string(layout_.dim) +
                       " of " + info_.dtype + "): " + std::to_string(data % row_bytes_) +
                       " bytes left over");
  }
  // rows * row_bytes may not fit 64 bits; the quotient says the same.
  if (data / row_bytes_ < *layout_.rows) {
    return BadByte(name(), *size,
                   "the file is truncated: " + Count(*layout_.rows, "row") + " of " +
                       std::to_string(row_bytes_) + " bytes do not fit the " +
                       std::to_string(data) + " bytes of data it holds");
  }
  return Status::Ok();
}

Status MatrixReader::Truncated(uint64_t at) const {
  return BadByte(name(), at,
                 "the file is truncated inside row " + std::to_string(next_row_) +
                     (layout_.rows ? " of " + std::to_string(*layout_.rows) : ""));
}

// Bytes behind the data: often a second array, appended by a second save to an open file.
Status MatrixReader::CheckEnd() {
  if (!layout_.ends_file) return Status::Ok();
  uint64_t at = input_->offset();
  std::string start(6, '\0');
  if (layout_.fortran_order) {
    at = layout_.data_offset + *layout_.rows * row_bytes_;
    EDO_ASSIGN_OR_RETURN(const size_t got, input_->ReadAt(at, start.data(), start.size()));
    start.resize(got);
  } else {
    EDO_ASSIGN_OR_RETURN(const std::string_view rest, input_->Peek(6));
    start = rest.substr(0, 6);
  }
  if (start.empty()) return Status::Ok();
  if (start == "\x93NUMPY") {
    return BadByte(name(), at, "a second array begins here (\\x93NUMPY); a table is one array");
  }
  std::string left = "bytes";
  if (input_->size()) left = std::to_string(*input_->size() - at) + " bytes";
  return BadByte(name(), at,
                 left + " follow the last row (" + Count(*layout_.rows, "row") + " of " +
                     std::to_string(row_bytes_) + " bytes)");
}

std::string MatrixReader::NameValue(uint32_t i, float value) const {
  if (layout_.type == ElementType::kF64) {
    const double original = DecodeF64(layout_.big_endian, raw_row_ + size_t{8} * i);
    if (std::isfinite(original)) return Decimal(original) + " is beyond the range of fp32";
  }
  return ReaderBase::NameValue(i, value);
}

Status MatrixReader::ReadColumns(uint64_t count, float* to) {
  const uint32_t bytes = ElementBytes(layout_.type);
  raw_.resize(count * row_bytes_);
  column_.resize(count * bytes);
  for (uint32_t c = 0; c < layout_.dim; ++c) {
    const uint64_t at = layout_.data_offset + (c * *layout_.rows + next_row_) * bytes;
    EDO_ASSIGN_OR_RETURN(const size_t got, input_->ReadAt(at, column_.data(), column_.size()));
    if (got < column_.size()) return Truncated(at + got);
    for (uint64_t r = 0; r < count; ++r) {
      std::memcpy(raw_.data() + r * row_bytes_ + uint64_t{c} * bytes, column_.data() + r * bytes,
                  bytes);
    }
  }
  DecodeElements(layout_.type, layout_.big_endian, raw_.data(), count * layout_.dim, to);
  return Status::Ok();
}

// Up to `wanted` rows; fewer only at the end of an input whose length is not declared.
Result<uint64_t> MatrixReader::ReadSome(uint64_t wanted, float* to) {
  if (layout_.fortran_order) {
    EDO_RETURN_IF_ERROR(ReadColumns(wanted, to));
    return wanted;
  }
  const bool direct = layout_.type == ElementType::kF32 && !layout_.big_endian;
  if (!direct) raw_.resize(wanted * row_bytes_);
  void* target = direct ? static_cast<void*>(to) : raw_.data();
  EDO_ASSIGN_OR_RETURN(const size_t got, input_->Read(target, wanted * row_bytes_));
  const uint64_t rows = got / row_bytes_;
  if (got < wanted * row_bytes_ && (layout_.rows || got % row_bytes_ != 0)) {
    next_row_ += rows;
    return Truncated(input_->offset());
  }
  if (!direct) {
    DecodeElements(layout_.type, layout_.big_endian, raw_.data(), rows * layout_.dim, to);
  }
  return rows;
}

Result<bool> MatrixReader::Fill(RowBatch* batch, uint64_t max_rows) {
  const uint64_t wanted = std::min(max_rows - batch->row_count, end_row_ - next_row_);
  float* const rows = NextRow(batch);
  uint64_t got = 0;
  if (wanted > 0) {
    EDO_ASSIGN_OR_RETURN(got, ReadSome(wanted, rows));
  }
  if (got == 0) {
    if (layout_.rows) EDO_RETURN_IF_ERROR(CheckEnd());
    return false;
  }
  for (uint64_t r = 0; r < got; ++r) {
    float* const row = rows + r * layout_.dim;
    raw_row_ = raw_.data() + (raw_.empty() ? 0 : r * row_bytes_);
    if (row != NextRow(batch)) {  // rows before this one were skipped
      std::memmove(NextRow(batch), row, sizeof(float) * layout_.dim);
    }
    EDO_RETURN_IF_ERROR(AddRow(batch, "", next_row_));
    ++next_row_;
  }
  return true;
}

}  // namespace edo::storage
