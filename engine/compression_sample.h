// What compression would gain on a table, from windows of its rows, and how its chunks would best
// be packed then (docs/format.md, "Packed chunks"). One thread at a time.
//
// The rule. A table is packed when its codes shrink by at least a tenth on the windows seen, their
// overhead on disk included. Of the forms (ChunkForm) the one that gives least is taken; of the
// chunk sizes 8, 16 and 32 KiB of codes the smallest that gives no more than an eighth above the
// best: a lookup unpacks a whole chunk for a row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/chunk_packing.h"

namespace edo::engine {

// How the chunks of a generation are laid out.
struct ChunkPlan {
  bool packed = false;
  uint32_t rows = 0;  // rows a chunk
  storage::ChunkForm form{};

  bool operator==(const ChunkPlan&) const = default;
};

// A table is packed only where that takes at most this part of the bytes of its codes.
inline constexpr double kMostPacked = 0.9;
// Bytes that a packed chunk costs beside its payload: page header, RocksDB's block, an entry of its
// index and one of a size page.
inline constexpr uint64_t kPackedOverheadBytes = 75;

class CompressionSample {
 public:
  // `value_bytes`: 1, 2 or 4, of a value of the codec.
  CompressionSample(uint64_t row_bytes, uint32_t value_bytes);

  // Rows that a window has: 32 KiB of codes, at least one row.
  uint64_t window_rows() const { return window_rows_; }
  // Keeps a window of at most window_rows() rows, which stands for `bytes` of the table's codes.
  // Beyond 32 windows every second one goes, and the one before stands for it, too.
  void Add(std::string_view codes, uint64_t bytes);

  struct Finding {
    ChunkPlan plan;  // the best packed one; packed = false when it does not pay
    ChunkPlan best;  // the same, always packed
  };
  Finding Decide();

 private:
  struct Window {
    std::string codes;
    double weight = 0;
  };
  // Bytes that the table would take, as a part of its codes.
  double PartPacked(uint64_t rows, storage::ChunkForm form);

  const uint64_t row_bytes_;
  const uint32_t value_bytes_;
  const uint64_t window_rows_;
  std::vector<Window> windows_;
  storage::ChunkPacker packer_;
};

}  // namespace edo::engine
