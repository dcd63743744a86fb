// CodecSpec: how the rows of a table are encoded, as one short string in the style of faiss's
// index factory. The same word stands in the catalog, the command line, logs and benchmarks.
//
//   F32   4 bytes a value, exact.
//   F16   2 bytes a value, IEEE binary16, round to nearest even.
//   BF16  2 bytes a value, the upper half of binary32, round to nearest even.
//   INT8  1 byte a value and one 2-byte scale a row; finite values only.
//
// What a lookup as f32 returns for an input x (M = the largest magnitude of its row):
//   F32 x itself; F16 and BF16 the value nearest to x, ties to even (a finite x that would become
//   infinity, from 65520 and from 3.3961e38, is refused); INT8 a finite value within M / 252 of x
//   when M >= 1.5e-36, within M / 127 down to M = 5.9e-39, and below that within 4.6e-41 and never
//   further off than M. Rows of zeros come back as zeros; INT8 does not keep the sign of zero.
// Bytes, formulas and proofs: docs/codecs.md.
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
