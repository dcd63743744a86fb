// Import and Export between a table and a file of an outside format.
//
// Both stream in constant memory (but for an order of the rows: TableOptions). Import sniffs
// content first and extension second; a format given in the options wins. Strict by default: what a
// lenient option lets through is counted and listed in the report. Formats by name: see
// ImportFormats() and ExportFormats(); bytes: docs/formats.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edo/codebook.h"
#include "edo/codec_goal.h"
#include "edo/codec_spec.h"
#include "edo/options.h"
#include "edo/row_order.h"
#include "edo/status.h"
#include "edo/store.h"
#include "edo/table.h"

namespace edo {

enum class OnNonFinite : uint8_t { kError, kZero, kKeep };
enum class OnInvalidUtf8 : uint8_t { kError, kKeep, kReplace };
enum class OnBadRow : uint8_t { kError, kSkip };
enum class HeaderLine : uint8_t { kAuto, kYes, kNo };

// One thing that a lenient import skipped or changed.
struct ImportNote {
  enum class Kind : uint8_t { kSkippedRow, kChangedValue, kChangedKey, kDuplicate };
  Kind kind = Kind::kSkippedRow;
  uint64_t position = 0;      // line (from 1) or row (from 0), see position_unit
  std::string position_unit;  // "line" or "row"
  std::string key;            // bytes, when known
  std::string what;           // one sentence
};

// How to read one input file. What a reader needs to know; nothing about the store.
struct SourceOptions {
  std::string path;                 // a file, a FIFO, or "-" for standard input
  std::string format;               // a name of ImportFormats(); empty = sniff
  std::string keys;                 // keys file, "dense" for row numbers, "npz:NAME" for an
                                    // array of the .npz itself, empty = from input
  std::optional<KeyKind> key_kind;  // tsv, csv, jsonl, keys files: int64 or text; default auto
  std::string keys_dtype;           // raw keys file: i32 i64 u32 u64; empty = text or sniffed
  std::string tensor;               // safetensors, npz: which one; empty = the only 2-D one
  uint32_t dim = 0;                 // raw: required. Text: the number of values if given
  std::string dtype;                // raw: f32 f16 bf16 f64 i8 u8, with be- prefix for
                                    // big-endian (be-f32); npy, npz |V2: bf16
  // npy, npz: rows are codes of this codec (PQ, OPQ) for rows of `dim` values, as faiss and its
  // like keep them: u8, one code a byte, or two of 4 bits, the first in the lower half. An import
  // of them needs ImportOptions::codebook.
  std::optional<CodecSpec> codes{};
  HeaderLine header = HeaderLine::kAuto;  // word2vec/glove/tsv/csv: is line 1 a header?
  char delimiter = 0;                     // csv/tsv: 0 = by format (',' or TAB)
  uint64_t limit = UINT64_MAX;            // read at most this many rows
  OnNonFinite non_finite = OnNonFinite::kError;
  OnInvalidUtf8 invalid_utf8 = OnInvalidUtf8::kError;
  OnBadRow on_bad_row = OnBadRow::kError;
  std::function<bool()> cancelled;  // asked, from the reading thread, while a pipe has nothing
                                    // to give; true ends the call with kCancelled
  std::function<void(const ImportNote&)> note;  // every row skipped or changed; may be empty
};

struct ImportOptions {
  SourceOptions source;
  std::string table;               // name of the table to make
  std::optional<CodecSpec> codec;  // default: exact, the narrowest of F32 F16 BF16 that holds
                                   // the source's type (f64 is rounded to F32)
  std::optional<CodecGoal> choose_codec;  // instead of `codec`; see TableOptions
  std::vector<HotTier> hot;  // the first rows in finer codecs; see TableOptions. Not of an archive
                             // that holds codes
  // What `codec`, PQ or OPQ, codes rows by, instead of what it would learn from them: rows are
  // encoded as TableOptions::learned_elsewhere says, and codes (SourceOptions::codes) taken over.
  std::optional<Codebook> codebook{};
  OnDuplicate on_duplicate = OnDuplicate::kError;
  bool replace = false;       // replace an existing table, atomically, at the end
  bool reproducible = false;  // see TableOptions
  uint32_t threads = 2;       // 1: all in the calling thread; 2 or more: reads ahead
  Metadata metadata;          // added to what the source carries; wins over it
  Compression compression = Compression::kAuto;  // of the chunks on disk; see TableOptions
  RowOrder order{};                              // of the rows in the table; see TableOptions
  ProgressFunction progress;
};

struct ImportReport {
  TableInfo table;
  std::string format;         // what was recognised
  std::string compression;    // "", "gzip", "zstd"; of the array of a .npz: "deflate"
  std::string source_dtype;   // "text", "f32", "f16", ...
  std::string position_unit;  // "line" or "row"
  uint64_t rows_read = 0;
  uint64_t rows_skipped = 0;       // on_bad_row = skip
  uint64_t rows_duplicate = 0;     // dropped by on_duplicate
  uint64_t values_changed = 0;     // non_finite = zero
  uint64_t keys_changed = 0;       // invalid_utf8 = replace
  uint64_t values_non_finite = 0;  // kept by non_finite = keep
  uint64_t rows_zero = 0;          // rows that are all zeros
  uint64_t input_bytes = 0;        // as read from the file, compressed
  OrderReport order;               // what the file of the order said
  std::vector<std::string> warnings;
};

// Imports a file as a new table. On any error no table of that name appears and an old one stays.
Result<ImportReport> Import(Store* store, const ImportOptions& options);

struct ExportOptions {
  std::string path;                   // "-" for standard output
  std::string format;                 // a name of ExportFormats(); empty = by extension
  std::string ids;                    // file of keys, one a line: only these rows, in this order
  FloatType dtype = FloatType::kF32;  // npy, safetensors, raw
  bool force = false;  // overwrite an existing file (always by temporary file and rename)
  ProgressFunction progress;
};

struct ExportReport {
  std::string format;
  uint64_t rows = 0;
  std::vector<std::string> files;  // the file, and a keys file where the format needs one
  uint64_t bytes = 0;
};

// Exports a table, in the order that its source had, whatever order its rows are stored in. Values
// are the table's decoded values: text formats print the shortest decimals that read back to the
// same float. A format that cannot hold a key (a newline in a text line, ...) ends in kBadInput
// naming the key before the target file is made.
Result<ExportReport> Export(const Table& table, const ExportOptions& options);

struct FormatInfo {
  std::string_view name;
  std::string_view extensions;  // comma-separated, may be empty
  std::string_view what;        // one line
};
std::vector<FormatInfo> ImportFormats();
std::vector<FormatInfo> ExportFormats();

// What a file is, without importing it (`edo info FILE`).
struct SourceDescription {
  std::string format, compression, source_dtype;
  KeyKind key_kind = KeyKind::kDense;
  uint32_t dim = 0;
  std::optional<uint64_t> rows;  // when the file says so
  struct Tensor {
    std::string name, dtype;
    std::vector<uint64_t> shape;
  };
  std::vector<Tensor> tensors;  // safetensors, npz
  Metadata metadata;
};
Result<SourceDescription> DescribeSource(const SourceOptions& options);

}  // namespace edo
