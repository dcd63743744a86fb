#include "storage/readers/keyed_reader.h"

#include <algorithm>

#include "storage/readers/messages.h"
#include "storage/readers/utf8.h"

namespace edo::storage {
namespace {

class KeyedReader final : public RowReader {
 public:
  KeyedReader(std::unique_ptr<RowReader> rows, std::unique_ptr<KeySource> keys,
              const SourceOptions& options)
      : rows_(std::move(rows)),
        keys_(std::move(keys)),
        options_(options),
        info_(rows_->info()),
        by_position_(info_.key_kind == KeyKind::kDense) {
    info_.key_kind = keys_ ? keys_->kind() : KeyKind::kDense;
  }
  const SourceInfo& info() const override { return info_; }
  const SourceCounts& counts() const override {
    counts_ = rows_->counts();
    counts_.keys_changed += keys_changed_;
    return counts_;
  }
  uint64_t bytes_read() const override { return rows_->bytes_read(); }
  uint64_t bytes_total() const override { return rows_->bytes_total(); }

  Status CheckCounts() const {
    const bool whole = options_.limit == UINT64_MAX;
    if (!keys_ || !whole || !keys_->count() || !info_.rows || *keys_->count() == *info_.rows) {
      return Status::Ok();
    }
    return WrongCount(*keys_->count(), *info_.rows);
  }

  Result<bool> Next(RowBatch* batch) override try {
    EDO_ASSIGN_OR_RETURN(const bool more, rows_->Next(batch));
    batch->int_keys.clear();
    batch->key_bytes.clear();
    batch->key_ends.clear();
    if (!keys_) return more;
    if (!more) {
      EDO_RETURN_IF_ERROR(CheckNoneLeft());
      return false;
    }
    EDO_RETURN_IF_ERROR(TakeKeys(batch));
    return true;
  } catch (const std::exception& error) {
    return Status::BadInput(keys_ ? keys_->name() + ": " + error.what() : error.what());
  }

 private:
  Status WrongCount(uint64_t keys, uint64_t rows) const {
    return Status::BadInput(keys_->name() + ": " + Count(keys, "key") + ", " + Count(rows, "row") +
                            ": every row needs one key");
  }

  // Number in the file of row i of the batch: rows before it may have been skipped.
  uint64_t Ordinal(const RowBatch& batch, uint64_t i) const {
    return by_position_ ? batch.positions[i] : next_key_;
  }

  Status TakeKeys(RowBatch* batch) {
    uint64_t row = 0;
    while (row < batch->row_count) {
      EDO_RETURN_IF_ERROR(SkipKeysTo(Ordinal(*batch, row)));
      uint64_t run = 1;  // rows without a gap
      while (row + run < batch->row_count &&
             batch->positions[row + run] == batch->positions[row] + run) {
        ++run;
      }
      if (!by_position_) run = batch->row_count;
      RowBatch keys;
      EDO_ASSIGN_OR_RETURN(const uint64_t got, keys_->Next(run, &keys));
      if (got < run) return TooFew(got);
      EDO_RETURN_IF_ERROR(Append(keys, run, batch));
      next_key_ += run;
      row += run;
    }
    return Status::Ok();
  }

  Status SkipKeysTo(uint64_t ordinal) {
    RowBatch ignored;
    while (next_key_ < ordinal) {
      ignored.Clear();
      const uint64_t wanted = std::min<uint64_t>(ordinal - next_key_, 4096);
      EDO_ASSIGN_OR_RETURN(const uint64_t got, keys_->Next(wanted, &ignored));
      next_key_ += got;
      if (got < wanted) return TooFew(0);
    }
    return Status::Ok();
  }

  Status Append(const RowBatch& keys, uint64_t count, RowBatch* batch) {
    if (keys_->kind() == KeyKind::kInt64) {
      batch->int_keys.insert(batch->int_keys.end(), keys.int_keys.begin(), keys.int_keys.end());
      return Status::Ok();
    }
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view key = keys.text_key(i);
      const std::string place = keys_->name() + " key " + std::to_string(next_key_ + i + 1);
      if (key.size() > kMaxKeyBytes) {
        return Status::BadInput(place + ": it has " + std::to_string(key.size()) +
                                " bytes, the most is " + std::to_string(kMaxKeyBytes));
      }
      if (options_.invalid_utf8 != OnInvalidUtf8::kKeep &&
          FirstInvalidUtf8(key) != std::string_view::npos) {
        if (options_.invalid_utf8 == OnInvalidUtf8::kError) {
          return Status::BadInput(place + ", byte " + std::to_string(FirstInvalidUtf8(key)) +
                                  ": key " + Quote(key) + " is not valid UTF-8");
        }
        Replace(key, batch->positions[batch->key_ends.size()], batch);
        continue;
      }
      batch->AddTextKey(key);
    }
    return Status::Ok();
  }

  void Replace(std::string_view key, uint64_t position, RowBatch* batch) {
    const std::string replaced = ReplaceInvalidUtf8(key);
    ++keys_changed_;
    if (options_.note) {
      options_.note({ImportNote::Kind::kChangedKey, position, info_.position_unit, std::string(key),
                     "key " + Quote(key) + " is not valid UTF-8 and became " + Quote(replaced)});
    }
    batch->AddTextKey(replaced);
  }

  // The keys ended first: count the rows that are left, to name both numbers.
  Status TooFew(uint64_t got) {
    const uint64_t keys = next_key_ + got;
    if (info_.rows) return WrongCount(keys, *info_.rows);
    RowBatch ignored;
    for (;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, rows_->Next(&ignored));
      if (!more) break;
    }
    return WrongCount(keys, rows_->counts().rows_read + rows_->counts().rows_skipped);
  }

  Status CheckNoneLeft() {
    if (options_.limit != UINT64_MAX) return Status::Ok();
    const uint64_t rows = rows_->counts().rows_read + rows_->counts().rows_skipped;
    RowBatch ignored;
    uint64_t keys = next_key_;
    for (;;) {
      ignored.Clear();
      EDO_ASSIGN_OR_RETURN(const uint64_t got, keys_->Next(4096, &ignored));
      keys += got;
      if (got < 4096) break;
    }
    return keys == rows ? Status::Ok() : WrongCount(keys, rows);
  }

  std::unique_ptr<RowReader> rows_;
  std::unique_ptr<KeySource> keys_;  // before rows_ in destruction: it may read rows_'s input
  const SourceOptions options_;
  SourceInfo info_;
  const bool by_position_;
  uint64_t next_key_ = 0;
  uint64_t keys_changed_ = 0;
  mutable SourceCounts counts_;
};

}  // namespace

Result<std::unique_ptr<RowReader>> MakeKeyedReader(std::unique_ptr<RowReader> rows,
                                                   std::unique_ptr<KeySource> keys,
                                                   const SourceOptions& options) {
  if (keys && options.on_bad_row == OnBadRow::kSkip && rows->info().key_kind != KeyKind::kDense) {
    return Status::InvalidArgument(
        "bad rows cannot be skipped when the keys come from another file "
        "and the rows from " +
        rows->info().format);
  }
  auto reader = std::make_unique<KeyedReader>(std::move(rows), std::move(keys), options);
  EDO_RETURN_IF_ERROR(reader->CheckCounts());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace edo::storage
