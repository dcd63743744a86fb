#include "engine/lookup.h"

#include <algorithm>
#include <utility>

namespace edo::engine {
namespace {

uint64_t ChunkFirstRow(const storage::TableRecord& record, uint64_t number) {
  return number * record.info.chunk_rows;
}

uint64_t ChunkRowCount(const storage::TableRecord& record, uint64_t number) {
  return std::min<uint64_t>(record.info.chunk_rows,
                            record.info.rows - ChunkFirstRow(record, number));
}

}  // namespace

std::string ChunkName(const storage::TableRecord& record, uint64_t number) {
  const uint64_t first = ChunkFirstRow(record, number);
  return "table '" + record.info.name + "': chunk " + std::to_string(number) + " (rows " +
         std::to_string(first) + ".." + std::to_string(first + ChunkRowCount(record, number) - 1) +
         ")";
}

Status CheckChunk(const storage::TableRecord& record, uint64_t number,
                  const storage::PageView& page) {
  const uint64_t rows = ChunkRowCount(record, number);
  if (page.count == rows && page.payload.size() == rows * record.info.row_bytes) {
    return Status::Ok();
  }
  return Status::Corruption("holds " + std::to_string(page.count) + " rows in " +
                            std::to_string(page.payload.size()) + " bytes, expected " +
                            std::to_string(rows) + " rows of " +
                            std::to_string(record.info.row_bytes) + " bytes");
}

uint64_t ReadRowsByChunk(const storage::RowStore& store, const storage::TableRecord& record,
                         std::span<const uint64_t> row_numbers, const storage::Deadline& deadline,
                         const ChunkRead& read) {
  // Row numbers are below 2^40 and places below 2^24: one word sorts both.
  constexpr int kPlaceBits = 24;
  constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  std::vector<uint64_t> sorted(row_numbers.size());
  for (size_t i = 0; i < row_numbers.size(); ++i) sorted[i] = row_numbers[i] << kPlaceBits | i;
  std::sort(sorted.begin(), sorted.end());

  std::vector<uint64_t> chunks;
  std::vector<uint32_t> begin;
  const uint32_t chunk_rows = record.info.chunk_rows;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const uint64_t chunk = (sorted[i] >> kPlaceBits) / chunk_rows;
    if (chunks.empty() || chunks.back() != chunk) {
      chunks.push_back(chunk);
      begin.push_back(static_cast<uint32_t>(i));
    }
  }
  begin.push_back(static_cast<uint32_t>(sorted.size()));

  uint64_t proved = 0;
  std::vector<uint32_t> places;
  std::vector<const std::byte*> codes;
  const auto on_chunk = [&](size_t c, const Status& status, const storage::PageView& page) {
    const uint64_t number = chunks[c];
    Status s = storage::AsDamage(status);
    if (s.ok()) s = CheckChunk(record, number, page);
    places.clear();
    codes.clear();
    for (uint32_t i = begin[c]; i < begin[c + 1]; ++i) {
      places.push_back(static_cast<uint32_t>(sorted[i] & kPlaceMask));
      if (s.ok()) {
        const uint64_t slot = (sorted[i] >> kPlaceBits) - number * chunk_rows;
        codes.push_back(reinterpret_cast<const std::byte*>(page.payload.data()) +
                        slot * record.info.row_bytes);
      }
    }
    if (s.ok()) {
      ++proved;
      read.rows(places, codes);
    } else {
      read.failed(places, {s.WithContext(ChunkName(record, number)), ChunkFirstRow(record, number),
                           ChunkRowCount(record, number)});
    }
  };
  store.ReadPages(storage::PageKind::kChunk, record.info.generation, chunks, deadline, on_chunk);
  return proved;
}

}  // namespace edo::engine
