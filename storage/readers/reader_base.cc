#include "storage/readers/reader_base.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "storage/readers/messages.h"
#include "storage/readers/number.h"
#include "storage/readers/utf8.h"

namespace edo::storage {
namespace {

constexpr uint64_t kBatchBytes = uint64_t{2} << 20;
constexpr uint64_t kMaxBatchRows = 8192;

}  // namespace

bool HasNonFinite(const float* values, size_t count) {
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    // The exponent is all ones exactly when adding one to it carries into the sign's place.
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu;
    found |= magnitude + 0x00800000u;
  }
  return (found & 0x80000000u) != 0;
}

ReaderBase::ReaderBase(std::unique_ptr<Input> input, const SourceOptions& options)
    : input_(std::move(input)), options_(options) {
  info_.compression = input_->compression();
}

Result<bool> ReaderBase::Next(RowBatch* batch) try {
  const uint64_t left = options_.limit - std::min(options_.limit, counts_.rows_read);
  uint64_t rows = std::clamp<uint64_t>(kBatchBytes / (sizeof(float) * info_.dim), 1, kMaxBatchRows);
  rows = std::min(rows, left);
  if (const auto bytes =
          input_->size()) {  // a value takes a byte or more: no large batch for little
    rows = std::min(rows, *bytes / info_.dim + 1);
  }
  batch->row_count = 0;  // not Clear(): clearing `values` would zero them again at every batch
  batch->dim = info_.dim;
  batch->codes.clear();
  batch->int_keys.clear();
  batch->key_bytes.clear();
  batch->key_ends.clear();
  batch->positions.clear();
  if (rows == 0 || ended_) {
    batch->values.clear();
    return false;
  }
  if (!info_.codec) batch->values.resize(rows * info_.dim);
  while (batch->row_count == 0 && !ended_) {
    EDO_ASSIGN_OR_RETURN(const bool more, Fill(batch, rows));
    ended_ = !more;
  }
  if (!info_.codec) batch->values.resize(batch->row_count * info_.dim);
  counts_.rows_read += batch->row_count;
  return batch->row_count > 0;
} catch (const std::bad_alloc&) {
  return Status::IoError(name() + ": not enough memory for a batch of rows");
} catch (const std::exception& error) {
  return Status::BadInput(name() + ": " + error.what());
}

std::string ReaderBase::At(uint64_t position) const {
  return name() + " " + info_.position_unit + " " + std::to_string(position);
}

std::string ReaderBase::KeyAt(uint64_t position, size_t byte) const {
  return At(position) + ", byte " + std::to_string(byte) + " of the key";
}

std::string ReaderBase::NameValue(uint32_t, float value) const {
  if (std::isnan(value)) return "nan is not finite";
  return value > 0 ? "inf is not finite" : "-inf is not finite";
}

void ReaderBase::Note(ImportNote::Kind kind, uint64_t position, std::string_view key,
                      std::string what) {
  if (!options_.note) return;
  options_.note({kind, position, info_.position_unit, std::string(key), std::move(what)});
}

Status ReaderBase::BadRow(const Status& error, uint64_t position, std::string_view key) {
  if (options_.on_bad_row == OnBadRow::kError) return error;
  ++counts_.rows_skipped;
  // The note has the place already; the message need not say it again.
  std::string_view what = error.message();
  if (const std::string place = At(position) + ": "; what.starts_with(place)) {
    what.remove_prefix(place.size());
  }
  Note(ImportNote::Kind::kSkippedRow, position, key, std::string(what));
  return Status::Ok();
}

// Replaces every non-finite value by 0, counts and notes it.
void ReaderBase::NoteNonFinite(float* values, uint64_t position, std::string_view key) {
  for (uint32_t i = 0; i < info_.dim; ++i) {
    if (std::isfinite(values[i])) continue;
    if (options_.note) {
      Note(ImportNote::Kind::kChangedValue, position, key,
           "value " + std::to_string(i + 1) + ", " + NameValue(i, values[i]) + ", became 0");
    }
    values[i] = 0;
    ++counts_.values_changed;
  }
}

Status ReaderBase::CheckValues(float* values, uint64_t position, std::string_view key) {
  uint32_t first = 0;
  while (std::isfinite(values[first])) ++first;
  switch (options_.non_finite) {
    case OnNonFinite::kZero:
      NoteNonFinite(values, position, key);
      return Status::Ok();
    case OnNonFinite::kKeep:
      counts_.values_non_finite += static_cast<uint64_t>(
          std::count_if(values, values + info_.dim, [](float v) { return !std::isfinite(v); }));
      return Status::Ok();
    case OnNonFinite::kError:
      break;
  }
  std::string what = At(position) + ": ";
  if (info_.key_kind != KeyKind::kDense) what += "key " + Quote(key) + ": ";
  what += "value " + std::to_string(first + 1) + " of " + std::to_string(info_.dim) + ", " +
          NameValue(first, values[first]);
  return Status::BadInput(what);
}

Status ReaderBase::IntKey(std::string_view key, uint64_t position, int64_t* value) const {
  std::string_view trimmed = key;
  while (trimmed.starts_with(' ') || trimmed.starts_with('\t')) trimmed.remove_prefix(1);
  while (trimmed.ends_with(' ') || trimmed.ends_with('\t')) trimmed.remove_suffix(1);
  const auto parsed = ParseInt64(trimmed);
  if (!parsed) {
    const size_t sign = trimmed.starts_with('-') || trimmed.starts_with('+') ? 1 : 0;
    const bool digits = trimmed.size() > sign &&
                        trimmed.find_first_not_of("0123456789", sign) == std::string_view::npos;
    return Status::BadInput(At(position) + ": key " + Quote(key) +
                            (digits
                                 ? " is out of range of a signed 64-bit integer"
                                 : " is not a signed 64-bit integer (the table's keys are int64)"));
  }
  *value = *parsed;
  return Status::Ok();
}

Status ReaderBase::TextKey(RowBatch* batch, std::string_view key, uint64_t position,
                           bool* skipped) {
  if (options_.invalid_utf8 != OnInvalidUtf8::kKeep && !key_is_bytes_) {
    const size_t bad = FirstInvalidUtf8(key);
    if (bad != std::string_view::npos) [[unlikely]] {
      if (options_.invalid_utf8 == OnInvalidUtf8::kError) {
        *skipped = true;
        return BadRow(
            Status::BadInput(KeyAt(position, bad) + ": key " + Quote(key) + " is not valid UTF-8"),
            position, key);
      }
      replaced_key_ = ReplaceInvalidUtf8(key);
      ++counts_.keys_changed;
      Note(ImportNote::Kind::kChangedKey, position, key,
           "key " + Quote(key) + " is not valid UTF-8 and became " + Quote(replaced_key_));
      key = replaced_key_;
    }
  }
  if (key.size() > kMaxKeyBytes) {
    *skipped = true;
    return BadRow(Status::BadInput(At(position) + ": key " + Quote(key) + " has " +
                                   std::to_string(key.size()) + " bytes, the most is " +
                                   std::to_string(kMaxKeyBytes)),
                  position, key);
  }
  batch->AddTextKey(key);
  return Status::Ok();
}

Status ReaderBase::AddRow(RowBatch* batch, std::string_view key, uint64_t position) {
  float* values = NextRow(batch);
  if (HasNonFinite(values, info_.dim)) [[unlikely]] {
    const Status status = CheckValues(values, position, key);
    if (!status.ok()) return BadRow(status, position, key);
  }
  if (info_.key_kind == KeyKind::kText) {
    bool skipped = false;
    EDO_RETURN_IF_ERROR(TextKey(batch, key, position, &skipped));
    if (skipped) return Status::Ok();
  } else if (info_.key_kind == KeyKind::kInt64) {
    int64_t number = 0;
    const Status status = IntKey(key, position, &number);
    if (!status.ok()) return BadRow(status, position, key);
    batch->int_keys.push_back(number);
  }
  batch->positions.push_back(position);
  ++batch->row_count;
  return Status::Ok();
}

Status ReaderBase::AddIntRow(RowBatch* batch, int64_t key, uint64_t position) {
  float* values = NextRow(batch);
  if (HasNonFinite(values, info_.dim)) [[unlikely]] {
    const Status status = CheckValues(values, position, std::to_string(key));
    if (!status.ok()) return BadRow(status, position, std::to_string(key));
  }
  batch->int_keys.push_back(key);
  batch->positions.push_back(position);
  ++batch->row_count;
  return Status::Ok();
}

}  // namespace edo::storage
