// RowReader: the seam between outside files and the store. One file a format in storage/readers/.
//
// A reader streams in constant memory, checks what it reads (options.h of the call: SourceOptions)
// and reports the first fault as kBadInput with file, line or byte, found and expected. It knows
// nothing of the store: duplicates across the file are the TableWriter's business.
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edo/status.h"
#include "edo/transfer.h"
#include "storage/row_batch.h"

namespace edo::storage {

struct SourceInfo {
  std::string format;       // "word2vec", ...
  std::string compression;  // "", "gzip", "zstd"
  std::string dtype;        // "text", "f32", "f16", "bf16", "f64", "i8", "u8", "f8_e4m3", ...
  KeyKind key_kind = KeyKind::kDense;
  uint32_t dim = 0;
  std::optional<uint64_t> rows;       // what the file declares; never trusted for allocation
  uint64_t estimated_rows = 0;        // rows, or a guess from the file's size; 0 = unknown
  std::string position_unit = "row";  // unit of RowBatch::positions: "line" or "row"
  std::optional<CodecSpec> codec;     // set when the source brings codes (edo archives)
  std::vector<std::byte> learned;     // by that codec
  Metadata metadata;
  std::vector<SourceDescription::Tensor> tensors;
};

// Counts of what a lenient read let through; the notes go to SourceOptions::note.
struct SourceCounts {
  uint64_t rows_read = 0;
  uint64_t rows_skipped = 0;
  uint64_t values_changed = 0;
  uint64_t values_non_finite = 0;
  uint64_t keys_changed = 0;
  std::vector<std::string> warnings;
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual const SourceInfo& info() const = 0;
  // Clears and fills `batch` with up to some thousand rows (about 1-4 MiB of values; at least one
  // row) and returns true, or returns false at the end of the source. After an error the reader
  // can only be destroyed.
  virtual Result<bool> Next(RowBatch* batch) = 0;
  virtual const SourceCounts& counts() const = 0;
  // Progress in bytes of the file as it lies on disk; total 0 = not known (pipe).
  virtual uint64_t bytes_read() const = 0;
  virtual uint64_t bytes_total() const = 0;
};

// Sniffs, then opens. kNotFound, kIoError, kUnsupported (says what the file really is), kBadInput,
// kInvalidArgument (a format name that is not one, an option that does not fit).
Result<std::unique_ptr<RowReader>> OpenRowReader(const SourceOptions& options);

}  // namespace edo::storage
