// ReaderBase: what every reader shares: batches, the row limit, counts, and the rules for values
// and keys of a row (SourceOptions: non_finite, invalid_utf8, on_bad_row, key_kind), so that they
// mean the same in every format. A format's reader fills rows by Fill and hands each to AddRow.
// One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/readers/input.h"
#include "storage/row_reader.h"

namespace edo::storage {

class ReaderBase : public RowReader {
 public:
  const SourceInfo& info() const final { return info_; }
  Result<bool> Next(RowBatch* batch) final;
  const SourceCounts& counts() const final { return counts_; }
  uint64_t bytes_read() const override { return input_->raw_bytes(); }
  uint64_t bytes_total() const override { return input_->raw_total(); }

 protected:
  ReaderBase(std::unique_ptr<Input> input, const SourceOptions& options);

  // Appends rows until the batch holds `max_rows`, or the source ends (returns false then).
  // info_.dim is set; batch->values has room for max_rows rows.
  virtual Result<bool> Fill(RowBatch* batch, uint64_t max_rows) = 0;

  // Where the row after the last one of the batch has its values.
  float* NextRow(RowBatch* batch) const {
    return batch->values.data() + batch->row_count * info_.dim;
  }
  // Checks the values that lie in NextRow, and the key, and makes them a row of the batch.
  // Formats without keys give an empty one.
  Status AddRow(RowBatch* batch, std::string_view key, uint64_t position);
  // For formats whose keys are integers already.
  Status AddIntRow(RowBatch* batch, int64_t key, uint64_t position);
  // A row that cannot be taken: `error` itself, or OK when bad rows are skipped (then noted).
  Status BadRow(const Status& error, uint64_t position, std::string_view key);

  // "FILE line 3" or "FILE row 7"; what messages about a row begin with.
  virtual std::string At(uint64_t position) const;
  // The same for byte `byte` of the row's key.
  virtual std::string KeyAt(uint64_t position, size_t byte) const;
  // What value `i` of the row just read is called in a message when it is not finite; f64 and text
  // sources know the number that did not fit fp32.
  virtual std::string NameValue(uint32_t i, float value) const;

  const std::string& name() const { return input_->name(); }

  std::unique_ptr<Input> input_;
  const SourceOptions options_;
  SourceInfo info_;
  SourceCounts counts_;
  bool key_is_bytes_ = false;  // the next key was given as bytes on purpose: not checked as UTF-8

 private:
  Status CheckValues(float* values, uint64_t position, std::string_view key);
  Status TextKey(RowBatch* batch, std::string_view key, uint64_t position, bool* skipped);
  Status IntKey(std::string_view key, uint64_t position, int64_t* value) const;
  void Note(ImportNote::Kind kind, uint64_t position, std::string_view key, std::string what);
  void NoteNonFinite(float* values, uint64_t position, std::string_view key);

  std::string replaced_key_;
  bool ended_ = false;
};

// Any value infinite or NaN? One pass that the compiler vectorises.
bool HasNonFinite(const float* values, size_t count);

}  // namespace edo::storage
