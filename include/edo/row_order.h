// RowOrder: in which order an import stores the rows of a table. Rows that are used together should
// share chunks, because a chunk is one read.
//
//   file           as the source has them (the default)
//   counts:FILE    most used first; equal counts in the order of the source
//   tiered:FILE    in tiers of floor(log2(count)), most used first; within a tier rows like
//                  each other stand together (a balanced kd order of the rows themselves)
//   tiered         the same, with the source's order for the counts: files of word2vec, GloVe and
//                  fastText begin with the most frequent word. Row r is of tier floor(log2(r + 1)).
//   trace:FILE     tiered, with counts taken from a recording of what was looked up
//
// The FILE of `counts` and `tiered` has lines "key TAB count": keys as the table's (row numbers for
// a dense table), each at most once, whole counts from 0. A key that is not there has count 0. The
// FILE of `trace` has the keys of one batch on a line, with spaces or TABs between; a key counts
// once a line. Keys that hold a space, TAB or line end: when the first line is a JSON array, every
// line must be one, ["key", 12] in a file of counts, ["key", "other key"] in a trace. Blank lines
// are passed over; gzip and zstd are opened. Keys that the table does not hold are left out,
// counted and reported; a file none of whose keys is in the table is an error.
//
// Whatever the order, keys mean what they meant, and an export gives the source's order back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo {

enum class OrderKind : uint8_t { kFile, kCounts, kTrace, kTiered };
std::string_view OrderKindName(OrderKind kind);  // "file", "counts", "trace", "tiered"

struct RowOrder {
  OrderKind kind = OrderKind::kFile;
  std::string file{};  // counts, trace; may be empty for tiered

  // "counts:FILE" and so on. kInvalidArgument names what was given and the words that are known.
  static Result<RowOrder> Parse(std::string_view text);
  Status Validate() const;
};

// What the FILE of an order said.
struct OrderReport {
  uint64_t lines = 0;         // lines that were not blank
  uint64_t keys = 0;          // keys on them
  uint64_t keys_unknown = 0;  // of those, keys that the table does not hold
  std::string first_unknown;  // the first of them, with its file and line; empty when there is none
};

}  // namespace edo
