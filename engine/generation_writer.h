// GenerationWriter: the pages of one generation as they are written, packed (compressed) or not;
// apart from TableWriterImpl because dropping duplicates, another order and a second thought about
// compression write a second one. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edo/options.h"
#include "engine/compression_sample.h"
#include "storage/catalog.h"
#include "storage/chunk_layout.h"
#include "storage/key_directory_builder.h"
#include "storage/row_store.h"

namespace edo::engine {

class GenerationWriter {
 public:
  struct Shape {
    KeyKind key_kind = KeyKind::kDense;
    uint64_t row_bytes = 0;
    uint32_t dim = 0;
  };
  // With a `plan` that is it. Else kAuto and kZstd hold the first 4 MiB of rows back and choose by
  // samples of them; kAuto goes on to sample, see BetterPlan.
  GenerationWriter(std::unique_ptr<storage::BulkWriter> files, uint64_t generation,
                   const Shape& shape, Compression wish, const std::optional<ChunkPlan>& plan);

  // Before the first row, when the codec was not known at first.
  void SetRowBytes(uint64_t row_bytes, uint32_t dim);
  // Whole encoded rows.
  Status AppendCodes(std::span<const std::byte> codes);
  // Room for up to `wanted` encoded rows in the chunk being filled; *granted >= 1 rows.
  std::byte* ReserveRows(uint64_t wanted, uint64_t* granted);
  // Takes rows that were written into the room of the last ReserveRows.
  Status CommitRows(uint64_t count);
  // Behind the last row.
  Status FinishRows();
  // With kAuto, after FinishRows: the plan that all rows speak for, where that is another than the
  // one that the first rows spoke for.
  std::optional<ChunkPlan> BetterPlan();

  storage::BulkWriter& files() { return *files_; }
  storage::KeyDirectoryBuilder& keys() { return keys_; }
  uint64_t rows() const { return rows_; }
  uint64_t generation() const { return generation_; }
  // The following after FinishRows.
  const ChunkPlan& plan() const { return plan_; }
  uint64_t chunk_count() const { return next_chunk_; }
  uint32_t chunk_bytes() const { return plan_.packed ? 0 : layout_.bytes; }
  // Bytes of blocks of all chunks as they would be without compression.
  uint64_t plain_bytes() const;
  // What the record of a table says of its generation's rows and files.
  void Describe(storage::TableRecord* record) const;

 private:
  void Start(const Shape& shape, const std::optional<ChunkPlan>& plan);
  void Begin(const ChunkPlan& plan);
  Status Settle();
  Status FlushChunk();
  Status FlushSizes();
  void Sample(std::string_view codes);

  const std::unique_ptr<storage::BulkWriter> files_;
  const uint64_t generation_;
  uint64_t row_bytes_ = 0;
  storage::ChunkLayout layout_;  // of chunks that are not packed
  const Compression wish_;
  storage::KeyDirectoryBuilder keys_;
  ChunkPlan plan_;
  std::string chunk_;  // the page being filled, as it is without compression
  uint32_t chunk_rows_ = 0;
  uint64_t next_chunk_ = 0;
  uint64_t rows_ = 0;

  // Rows held back.
  bool holding_ = false;
  std::string held_;
  uint64_t hold_rows_ = 0;

  // Sampling of what is not packed.
  std::unique_ptr<CompressionSample> sample_;  // null: nothing to decide any more
  uint64_t unsampled_bytes_ = 0;
  std::string window_;
  bool sampled_more_ = false;

  // Of packed chunks.
  storage::ChunkPacker packer_;
  std::string packed_;
  uint64_t packed_bytes_ = 0;  // of all chunks, with what they cost beside
  std::vector<uint32_t> sizes_;
  uint64_t next_size_page_ = 0;
};

}  // namespace edo::engine
