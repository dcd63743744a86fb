// CodecSpec: how the rows of a table are encoded, as one short string in the style of faiss's
// index factory. The same word stands in the catalog, the command line, logs and benchmarks.
//
//   F32            4 bytes a value, exact.
//   F16            2 bytes a value, IEEE binary16, round to nearest even.
//   BF16           2 bytes a value, the upper half of binary32, round to nearest even.
//   INT8           1 byte a value, one 2-byte scale with an offset (a coarse zero point) a row.
//   F8             1 byte a value (E4M3) and one 2-byte scale a row; for exchange with others.
//   L4             half a byte a value, 16 Lloyd-Max levels, and one 2-byte scale a row.
//   L4+4           L4 and half a byte a value that refines it; the L4 part can be used alone.
//   P,INT8  P,L4  P,L4+4
//                  the same on rows from which the table's profile (mean and deviation of every
//                  column) was taken out; 2 bytes a row more.
//   PQ{m}x{b}      product quantisation: m codes of b (4 or 8) bits a row, and a 2-byte gain.
//   OPQ{m},PQ{m}x{b}
//                  the same after a learned rotation: smaller error, slower encoding and decoding.
//   RQ{m}x{b}      residual quantisation: m codes of b (4 or 8) bits, each for the whole row.
//
// The profile, PQ, OPQ and RQ learn from sample rows; what they learned is stored with the table.
//
// What a lookup as f32 returns for an input x (M = the largest magnitude of its row):
//   F32 x itself; F16 and BF16 the value nearest to x, ties to even (a finite x that would become
//   infinity, from 65520 and from 3.3961e38, is refused); INT8 a finite value within M / 252 of x
//   when M >= 1.5e-36, within M / 127 down to M = 5.9e-39, and below that within 4.6e-41 and never
//   further off than M. F8 within 2^-4 of |x| or M 2^-18 of x, whichever is more (M >= 5e-36). The
//   others keep rows, not values: their squared error over a row is never larger than the row's
//   energy (the sum of its squares), and usually the fraction that docs/codecs.md has measured.
// Rows of zeros come back as zeros in every codec, in those from INT8 on of either sign.
// INT8 and all below it take finite values only, L4 and all below it magnitudes below 2^126
// (8.5e37) only. Bytes, formulas and proofs: docs/codecs.md.
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
  kF8,
  kL4,
  kL4Plus4,
  kPQ,
  kRQ,
};

struct CodecSpec {
  CodecKind kind = CodecKind::kF32;
  bool profile = false;  // "P,": INT8, L4, L4+4 only
  bool rotated = false;  // "OPQ{m},": PQ only
  uint32_t parts = 0;    // PQ, RQ: m, codes of a row
  uint32_t bits = 0;     // PQ, RQ: b, bits of a code

  // "INT8" -> spec; case matters. kInvalidArgument names the word and lists the known ones.
  static Result<CodecSpec> Parse(std::string_view text);
  std::string ToString() const;

  // kInvalidArgument says why rows of `dim` values (1 .. kMaxDim) cannot be encoded so. A PQ row is
  // cut into sub-vectors of ceil(dim / m) values of which the last may be shorter; m must be such
  // that none is empty.
  Status Check(uint32_t dim) const;

  // Bytes of one encoded row of `dim` values, side data (scale, gain) included.
  uint64_t RowBytes(uint32_t dim) const;
  // Bytes that the table stores once: profile, rotation, codebooks.
  uint64_t LearnedBytes(uint32_t dim) const;
  bool learns() const { return profile || kind == CodecKind::kPQ || kind == CodecKind::kRQ; }

  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

}  // namespace edo
