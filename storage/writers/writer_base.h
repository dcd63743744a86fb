// WriterBase: what every writer shares: its output file, the count of rows, keys as text. A
// format's writer checks keys, writes a head, rows and a tail. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/row_writer.h"
#include "storage/writers/output_file.h"

namespace edo::storage {

class WriterBase : public RowWriter {
 public:
  Status CheckKey(std::string_view key, uint64_t row) const final;
  Status Begin() final;
  Status Append(const RowBatch& batch) final;
  Status Finish() final;
  const std::string& format() const final { return target_.format; }
  std::vector<std::string> files() const final;
  uint64_t bytes_written() const final;

 protected:
  explicit WriterBase(const TargetInfo& target) : target_(target) {}

  // Why the format cannot hold the key; empty when it can.
  virtual std::string WhyNot(std::string_view, uint64_t) const { return ""; }
  // What can be refused before any file is made (0 rows in a format without a header).
  virtual Status CheckTarget() const { return Status::Ok(); }
  // Path of a second file with the keys; empty when there is none.
  virtual std::string KeysPath() const { return ""; }
  virtual Status WriteHead() { return Status::Ok(); }
  virtual Status WriteRows(const RowBatch& batch) = 0;
  virtual Status WriteTail() { return Status::Ok(); }

  // The key of a row as text: int64 and dense keys in decimal. The view dies with the next call.
  std::string_view KeyText(const RowBatch& batch, uint64_t i);
  uint64_t first_row() const { return rows_; }  // of the batch in WriteRows

  const TargetInfo target_;
  std::unique_ptr<OutputFile> output_;
  std::unique_ptr<OutputFile> keys_;  // the second file, or nullptr

 private:
  uint64_t rows_ = 0;
  char number_[24];
};

// Appends the shortest decimal that reads back to the same float, at `to` (32 bytes of room), and
// returns its end. Non-finite: nan, -nan, inf, -inf.
char* PrintFloat(float value, char* to);

// Little-endian bytes of an unsigned integer, appended.
void AppendUnsigned(uint64_t value, uint32_t bytes, std::string* to);

// The batch's values as `type`, little-endian; `scratch` holds them when they had to be converted.
// A finite value that `type` cannot hold is kBadInput naming its row (from `first_row` on).
Result<std::string_view> EncodeValues(const RowBatch& batch, FloatType type, uint64_t first_row,
                                      std::string* scratch);

// True when `start`, the first bytes of a text file, would be taken for something else on import.
bool LooksForeign(std::string_view start);

}  // namespace edo::storage
