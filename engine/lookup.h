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

// Calls rows(places, codes of each place) for every chunk that could be read and failed(...) for
// every one that could not. `places` index `row_numbers`.
struct ChunkRead {
  std::function<void(std::span<const uint32_t> places, std::span<const std::byte* const> codes)>
      rows;
  std::function<void(std::span<const uint32_t> places, ReadFailure failure)> failed;
};

// `row_numbers` in any order, with repeats, all < record.info.rows; at most 2^24 of them. Returns
// the number of chunks read and proved.
uint64_t ReadRowsByChunk(const storage::RowStore& store, const storage::TableRecord& record,
                         std::span<const uint64_t> row_numbers, const storage::Deadline& deadline,
                         const ChunkRead& read);

// The page of chunk `number` must hold these rows; kCorruption otherwise.
Status CheckChunk(const storage::TableRecord& record, uint64_t number,
                  const storage::PageView& page);
// "table 'x': chunk 12 (rows 372..402)".
std::string ChunkName(const storage::TableRecord& record, uint64_t number);

}  // namespace edo::engine
