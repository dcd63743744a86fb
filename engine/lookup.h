// The read path of a batch: row numbers to chunks, each chunk read once, rows decoded straight into
// the caller's memory. What could not be read is told apart from what is not stored.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/table.h"
#include "storage/catalog.h"
#include "storage/row_store.h"

namespace edo::engine {

class ChunkReads;

// Calls rows(places, codes of each place) for every chunk that could be read and failed(...) for
// every one that could not. `places` index `row_numbers`.
struct ChunkRead {
  std::function<void(std::span<const uint32_t> places, std::span<const std::byte* const> codes)>
      rows;
  std::function<void(std::span<const uint32_t> places, ReadFailure failure)> failed;
};

// `row_numbers` in any order, with repeats, all < record.info.rows; at most 2^24 of them. Rows that
// `ahead` (may be null) keeps are taken from there, and reads under way there are joined. Returns
// the number of chunks read and proved here. One call of `read` at a time, not always from the
// caller's thread.
uint64_t ReadRowsByChunk(const storage::RowStore& store, ChunkReads* ahead,
                         const storage::TableRecord& record, std::span<const uint64_t> row_numbers,
                         const storage::Deadline& deadline, const ChunkRead& read);

// The page of chunk `number` must hold these rows; kCorruption otherwise.
Status CheckChunk(const storage::TableRecord& record, uint64_t number,
                  const storage::PageView& page);
// What a lookup or a prefetch says of a chunk that it could not read.
ReadFailure FailureOf(const storage::TableRecord& record, uint64_t number, const Status& status);
// The failure that says most: damage before a deadline or a cancellation that also happened.
const Status& WorstOf(std::span<const ReadFailure> failures);
// "table 'x': chunk 12 (rows 372..402)".
std::string ChunkName(const storage::TableRecord& record, uint64_t number);

}  // namespace edo::engine
