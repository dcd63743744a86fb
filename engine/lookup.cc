#include "engine/lookup.h"

#include <algorithm>
#include <array>
#include <bit>
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

// Row numbers are below 2^40 and places below 2^24: one word sorts both.
constexpr int kPlaceBits = 24;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;

// Sorts words by their row, those of one row in the order they came (by place), digit by digit:
// three times as fast as a sort by comparison for the rows of a usual batch.
void SortByRow(uint64_t rows, std::vector<uint64_t>* words) {
  constexpr int kDigitBits = 11;
  constexpr size_t kDigits = size_t{1} << kDigitBits;
  constexpr size_t kFewWords = 512;  // counting digits would take longer
  if (words->size() < kFewWords) {
    std::sort(words->begin(), words->end());
    return;
  }
  std::vector<uint64_t> other(words->size());
  const int row_bits = std::bit_width(rows);
  for (int done = 0; done < row_bits; done += kDigitBits) {
    const int shift = kPlaceBits + done;
    std::array<uint32_t, kDigits> begin{};
    for (const uint64_t word : *words) ++begin[word >> shift & (kDigits - 1)];
    uint32_t sum = 0;
    for (uint32_t& count : begin) sum += std::exchange(count, sum);
    for (const uint64_t word : *words) other[begin[word >> shift & (kDigits - 1)]++] = word;
    words->swap(other);
  }
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
  std::vector<uint64_t> sorted(row_numbers.size());
  for (size_t i = 0; i < row_numbers.size(); ++i) sorted[i] = row_numbers[i] << kPlaceBits | i;
  SortByRow(record.info.rows, &sorted);

  std::vector<uint64_t> chunks;
  std::vector<uint32_t> begin;
  chunks.reserve(sorted.size());
  begin.reserve(sorted.size() + 1);
  const uint32_t chunk_rows = record.info.chunk_rows;
  uint64_t chunk_end = 0;  // first row behind the chunk
  for (size_t i = 0; i < sorted.size(); ++i) {
    const uint64_t row = sorted[i] >> kPlaceBits;
    if (row < chunk_end) continue;
    chunks.push_back(row / chunk_rows);
    begin.push_back(static_cast<uint32_t>(i));
    chunk_end = (chunks.back() + 1) * chunk_rows;
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
