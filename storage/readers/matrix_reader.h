// MatrixReader: rows of a bare array of fixed-size elements (npy, raw, one safetensors tensor).
// Streams rows in C order; an array in Fortran order is gathered column by column from a file that
// can be read at any place. Keys are row numbers; keyed_reader.h adds others. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/readers/element_type.h"
#include "storage/readers/reader_base.h"

namespace edo::storage {

struct MatrixLayout {
  ElementType type = ElementType::kF32;
  bool big_endian = false;
  bool fortran_order = false;
  std::optional<uint64_t> rows;  // unset: until the input ends
  uint32_t dim = 0;
  uint64_t data_offset = 0;  // bytes before it are skipped
  bool ends_file = true;     // nothing may follow the data
};

class MatrixReader final : public ReaderBase {
 public:
  // `info`: what the format knows: format, metadata, tensors. The input stands at byte 0.
  static Result<std::unique_ptr<RowReader>> Open(std::unique_ptr<Input> input,
                                                 const SourceOptions& options, SourceInfo info,
                                                 const MatrixLayout& layout);

 protected:
  Result<bool> Fill(RowBatch* batch, uint64_t max_rows) override;
  std::string NameValue(uint32_t i, float value) const override;

 private:
  MatrixReader(std::unique_ptr<Input> input, const SourceOptions& options, SourceInfo info,
               const MatrixLayout& layout);
  Status CheckSize() const;
  Status ReadRows(uint64_t count, float* to);
  Status ReadColumns(uint64_t count, float* to);
  Result<uint64_t> ReadSome(uint64_t wanted, float* to);
  Status CheckEnd();
  Status Truncated(uint64_t at) const;

  const MatrixLayout layout_;
  const uint64_t row_bytes_;
  uint64_t next_row_ = 0;
  uint64_t end_row_ = UINT64_MAX;
  std::vector<std::byte> raw_;          // encoded rows of the batch; unused for little-endian f32
  const std::byte* raw_row_ = nullptr;  // the row being checked, for NameValue
  std::vector<std::byte> column_;
};

}  // namespace edo::storage
