#include "storage/writers/writer_base.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "kernels/float_convert.h"
#include "storage/readers/archive_format.h"
#include "storage/readers/messages.h"
#include "storage/readers/sniff.h"
#include "storage/readers/zip_archive.h"

namespace edo::storage {

Status WriterBase::CheckKey(std::string_view key, uint64_t row) const {
  if (target_.key_kind != KeyKind::kText) return Status::Ok();
  const std::string why = WhyNot(key, row);
  if (why.empty()) return Status::Ok();
  return BadRow("table '" + target_.table + "'", row,
                "key " + Quote(key) + " cannot be written as " + target_.format + ": it " + why);
}

Status WriterBase::Begin() try {
  EDO_RETURN_IF_ERROR(CheckTarget());
  const std::string keys_path = KeysPath();
  if (!keys_path.empty() && target_.path == "-") {
    return Status::InvalidArgument("format " + target_.format +
                                   " keeps keys in a second file, so a "
                                   "table with keys cannot go to standard output");
  }
  EDO_ASSIGN_OR_RETURN(output_, OutputFile::Create(target_.path, target_.force));
  if (!keys_path.empty()) {
    EDO_ASSIGN_OR_RETURN(keys_, OutputFile::Create(keys_path, target_.force));
  }
  return WriteHead();
} catch (const std::exception& error) {
  return Status::IoError(target_.path + ": " + error.what());
}

Status WriterBase::Append(const RowBatch& batch) try {
  if (rows_ + batch.row_count > target_.rows) {
    return Status::InvalidArgument(target_.path + ": more rows came than the " +
                                   std::to_string(target_.rows) + " announced");
  }
  EDO_RETURN_IF_ERROR(WriteRows(batch));
  rows_ += batch.row_count;
  return Status::Ok();
} catch (const std::exception& error) {
  return Status::IoError(target_.path + ": " + error.what());
}

Status WriterBase::Finish() try {
  if (rows_ != target_.rows) {
    return Status::InvalidArgument(target_.path + ": " + Count(rows_, "row") + " came of the " +
                                   std::to_string(target_.rows) + " announced");
  }
  EDO_RETURN_IF_ERROR(WriteTail());
  if (keys_) EDO_RETURN_IF_ERROR(keys_->Sync());
  EDO_RETURN_IF_ERROR(output_->Sync());
  if (keys_) EDO_RETURN_IF_ERROR(keys_->Commit());
  return output_->Commit();
} catch (const std::exception& error) {
  return Status::IoError(target_.path + ": " + error.what());
}

std::vector<std::string> WriterBase::files() const {
  std::vector<std::string> files{target_.path};
  if (const std::string keys = KeysPath(); !keys.empty()) files.push_back(keys);
  return files;
}

uint64_t WriterBase::bytes_written() const {
  return (output_ ? output_->bytes_written() : 0) + (keys_ ? keys_->bytes_written() : 0);
}

std::string_view WriterBase::KeyText(const RowBatch& batch, uint64_t i) {
  if (target_.key_kind == KeyKind::kText) return batch.text_key(i);
  const int64_t number =
      target_.key_kind == KeyKind::kInt64 ? batch.int_keys[i] : static_cast<int64_t>(rows_ + i);
  const char* end = std::to_chars(number_, number_ + sizeof number_, number).ptr;
  return std::string_view(number_, static_cast<size_t>(end - number_));
}

char* PrintFloat(float value, char* to) { return std::to_chars(to, to + 32, value).ptr; }

void AppendUnsigned(uint64_t value, uint32_t bytes, std::string* to) {
  for (uint32_t i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> (8 * i) & 255));
}

Result<std::string_view> EncodeValues(const RowBatch& batch, FloatType type, uint64_t first_row,
                                      std::string* scratch) {
  const size_t count = batch.row_count * batch.dim;
  if (type == FloatType::kF32) {
    return std::string_view(reinterpret_cast<const char*>(batch.values.data()),
                            count * sizeof(float));
  }
  scratch->resize(count * 2);
  for (size_t i = 0; i < count; ++i) {
    const float value = batch.values[i];
    const bool half = type == FloatType::kF16;
    const uint16_t code = half ? kernels::F32ToF16(value) : kernels::F32ToBF16(value);
    const uint16_t infinity = half ? 0x7c00 : 0x7f80;
    if ((code & 0x7fff) == infinity && std::isfinite(value)) {
      return Status::BadInput("row " + std::to_string(first_row + i / batch.dim) + ": value " +
                              Decimal(value) + " is beyond the range of " +
                              std::string(FloatTypeName(type)));
    }
    memcpy(scratch->data() + 2 * i, &code, 2);
  }
  return std::string_view(*scratch);
}

bool LooksForeign(std::string_view start) {
  const auto begins = [&](std::string_view magic) { return start.starts_with(magic); };
  // What follows is not known here: "<html>" counts once another tag could come behind it.
  return !NameForeignBytes(std::string(start) + "<p>").empty() || begins("\xef\xbb\xbf") ||
         begins("\x1f\x8b") || begins("\x28\xb5\x2f\xfd") || begins("\x93NUMPY") || IsZip(start) ||
         begins(kArchiveMagic);
}

}  // namespace edo::storage
