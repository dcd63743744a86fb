// RowWriter: the seam between the store and outside files on export. One file a format in
// storage/writers/. Output files are written under a temporary name beside the target, synced and
// renamed by Finish; a writer destroyed before Finish leaves nothing. "-" is standard output.
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edo/status.h"
#include "edo/transfer.h"
#include <span>

#include "storage/row_batch.h"

namespace edo::storage {

struct TargetInfo {
  std::string path;    // "-" = standard output
  std::string format;  // a name of ExportFormats(); empty = by extension of path
  FloatType dtype = FloatType::kF32;
  bool force = false;
  KeyKind key_kind = KeyKind::kDense;
  CodecSpec codec;  // of the table; the archive stores codes
  std::span<const std::byte> learned{};  // by that codec; valid while the writer lives
  uint64_t row_bytes = 0;
  uint32_t dim = 0;
  uint64_t rows = 0;  // exact number of rows that will be appended
  std::string table;  // name, for messages and archives
  Metadata metadata;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // True when Append wants RowBatch::codes instead of values (edo archives).
  virtual bool wants_codes() const { return false; }
  // OK when the format can hold this key exactly; else kBadInput naming key and row. Called for
  // every key before the target file is made (cheap; no I/O).
  virtual Status CheckKey(std::string_view key, uint64_t row) const = 0;
  // Makes the (temporary) files. kAlreadyExists without force; kIoError: is a directory, ...
  virtual Status Begin() = 0;
  virtual Status Append(const RowBatch& batch) = 0;
  // Flushes, syncs, renames. kInvalidArgument when fewer rows than promised came.
  virtual Status Finish() = 0;
  virtual const std::string& format() const = 0;
  virtual std::vector<std::string> files() const = 0;
  virtual uint64_t bytes_written() const = 0;
};

Result<std::unique_ptr<RowWriter>> OpenRowWriter(const TargetInfo& target);

}  // namespace edo::storage
