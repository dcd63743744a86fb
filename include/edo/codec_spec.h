// CodecSpec: how the rows of a table are encoded, as one short string in the style of faiss's
// index factory. The same word stands in the catalog, the command line, logs and benchmarks.
//
//   F32   4 bytes a value, exact.
//   F16   2 bytes a value, IEEE binary16, round to nearest even.
//   BF16  2 bytes a value, the upper half of binary32, round to nearest even.
//   INT8  1 byte a value and one 2-byte scale a row (docs/format.md, "INT8").
//
// Bounds of what a lookup returns for an input x (a row's largest magnitude is M):
//   F32 exact; F16 nearest-even of x (|x| <= 65504); BF16 nearest-even of x;
//   INT8 |error| <= M / 127 and, for 1e-35 <= M <= 3.3e38, <= M / 252.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo {

enum class CodecKind : uint8_t {  // ON DISK by name only; order is free
  kF32,
  kF16,
  kBF16,
  kInt8,
};

struct CodecSpec {
  CodecKind kind = CodecKind::kF32;

  // "INT8" -> spec; case matters. kInvalidArgument names the word and lists the known ones.
  static Result<CodecSpec> Parse(std::string_view text);
  std::string ToString() const;

  // Bytes of one encoded row of `dim` values, side data (scale) included.
  uint64_t RowBytes(uint32_t dim) const;

  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

}  // namespace edo
