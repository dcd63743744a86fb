// Advice on how to store a table, from a recording of how it is used. Nothing is changed.
//
//   auto advice = edo::AdviseOrder(*table, {.trace = "lookups.txt", .batch_lines = 1024});
//   // advice->best is "trace": import the table again with order trace:lookups.txt
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edo/options.h"
#include "edo/row_order.h"
#include "edo/status.h"
#include "edo/table.h"

namespace edo {

struct AdviseOptions {
  std::string trace;          // as the FILE of order `trace` (row_order.h), oldest line first
  uint64_t batch_lines = 64;  // lines of the trace that one lookup asks for together
  double cache_percent = 5;   // rows that a cache of hot rows holds, of all rows; 0 to 100
  ProgressFunction progress{};

  Status Validate() const;
};

// Chunks that a batch of the held-out half would read if the rows stood in this order.
struct OrderCost {
  std::string order;        // "stored" (as the table is now), "hash", "file", "counts", "tiered",
                            // "trace"; see RowOrder
  double chunk_reads = 0;   // a batch, without a cache
  double cached_reads = 0;  // a batch, behind a cache of the rows used last
};

struct OrderAdvice {
  uint64_t lines = 0;         // of the trace; the first half trains, the rest is held out
  uint64_t batches = 0;       // held out
  uint64_t keys = 0;          // on all lines
  uint64_t keys_unknown = 0;  // of those, keys that the table does not hold; left out
  uint64_t cache_rows = 0;
  double rows_a_batch = 0;         // distinct rows that a held-out batch asks for
  double missed_rows_a_batch = 0;  // of those, rows that the cache does not hold
  std::vector<OrderCost> orders;   // "stored" first
  std::string best;                // the order of the fewest cached_reads, then chunk_reads
};

// Splits the trace in time and replays its later half. "hash" is a random order; "counts" and
// "trace" know the first half only; "tiered" and "file" know only the order of the table's source.
// Whatever the order, a cache holds the same rows, those used last, also before the held-out half
// begins. kBadInput names file and line of what is no trace of this table's keys; also a trace of
// fewer than two lines. Memory: about 110 bytes a row.
Result<OrderAdvice> AdviseOrder(const Table& table, const AdviseOptions& options);

}  // namespace edo
