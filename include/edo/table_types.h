// What became of the rows of a lookup: small types that lookups, prefetches and loops share.
#pragma once

#include <cstdint>
#include <vector>

#include "edo/status.h"

namespace edo {

enum class RowState : uint8_t {
  kFound,    // written to `out`
  kMissing,  // the table does not hold this key
  kPadding,  // LookupOptions::padding_id; zeros
  kUnread,   // held, or perhaps held, but could not be read; `out` is left as it was
};

// One reason why rows stayed unread.
struct ReadFailure {
  Status status;           // names table, chunk and rows
  uint64_t first_row = 0;  // rows [first_row, first_row + row_count) share the damaged chunk;
  uint64_t row_count = 0;  // both 0 when a page of the key directory is what could not be read
};

struct LookupReport {
  uint64_t found = 0;
  uint64_t missing = 0;
  uint64_t unread = 0;
  std::vector<RowState> states;  // (count) one a key, in the order of the keys
  std::vector<ReadFailure> failures;
};

}  // namespace edo
