// How many rows go into a chunk. A chunk is one read, and the unit of cost is the read, so chunks
// are as small as the device's 4096-byte sector allows without wasting much of it.
#pragma once

#include <cstdint>

namespace edo::storage {

struct ChunkLayout {
  uint32_t rows = 0;   // rows a chunk (the last chunk of a table may hold fewer)
  uint32_t bytes = 0;  // bytes on disk, a multiple of 4096, RocksDB's block and our header included
};

// Bytes of a block that are not rows: our page header (16), RocksDB's entry header, internal key,
// restart array and block trailer (at most 34).
inline constexpr uint32_t kChunkOverheadBytes = 50;

// Smallest k such that the rows fit k * 4096 bytes with less than 7 % wasted, but never a read of
// more than twice the larger of a sector and a row; else, within that bound, the k that wastes
// least. `row_bytes` >= 1.
ChunkLayout ChooseChunkLayout(uint64_t row_bytes);

}  // namespace edo::storage
