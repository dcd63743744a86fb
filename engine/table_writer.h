// TableWriterImpl: rows in, one new generation out. Encodes rows straight into the chunk being
// filled, hands keys to the KeyDirectoryBuilder, and at Commit drops duplicates, finishes the files
// and asks the store to make them visible. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "edo/store.h"
#include "engine/position_map.h"
#include "engine/row_spool.h"
#include "storage/catalog.h"
#include "storage/chunk_layout.h"
#include "storage/codec.h"
#include "storage/key_directory_builder.h"
#include "storage/row_store.h"

namespace edo::engine {

class StoreImpl;

// The pages of one generation as they are written; apart from TableWriterImpl because dropping
// duplicates writes a second one.
class GenerationWriter {
 public:
  GenerationWriter(std::unique_ptr<storage::BulkWriter> files, uint64_t generation, KeyKind kind,
                   uint64_t row_bytes);

  // Room for up to `wanted` encoded rows in the chunk being filled; *granted >= 1 rows.
  std::byte* ReserveRows(uint64_t wanted, uint64_t* granted);
  // Takes rows that were written into the room of the last ReserveRows.
  Status CommitRows(uint64_t count);
  // Whole encoded rows.
  Status AppendCodes(std::span<const std::byte> codes);
  Status FlushChunk();

  storage::BulkWriter& files() { return *files_; }
  storage::KeyDirectoryBuilder& keys() { return keys_; }
  uint64_t rows() const { return rows_; }
  uint64_t generation() const { return generation_; }
  const storage::ChunkLayout& layout() const { return layout_; }
  uint64_t chunk_count() const { return next_chunk_; }

 private:
  const std::unique_ptr<storage::BulkWriter> files_;
  const uint64_t generation_;
  const uint64_t row_bytes_;
  const storage::ChunkLayout layout_;
  storage::KeyDirectoryBuilder keys_;
  std::string chunk_;
  uint32_t chunk_rows_ = 0;
  uint64_t next_chunk_ = 0;
  uint64_t rows_ = 0;
};

class TableWriterImpl : public TableWriter {
 public:
  static Result<std::unique_ptr<TableWriter>> Make(StoreImpl* store, std::string name,
                                                   const TableOptions& options);

  Status Append(const Rows& rows) override;
  Status AppendCodes(std::span<const std::byte> codes, const Rows& keys) override;
  Result<TableInfo> Commit() override;
  const std::vector<DroppedRow>& dropped() const override { return dropped_; }
  const OrderReport& order_report() const override { return order_report_; }

 private:
  TableWriterImpl(StoreImpl* store, std::string name, const TableOptions& options,
                  std::unique_ptr<storage::Codec> codec, std::unique_ptr<RowSpool> spool,
                  std::unique_ptr<GenerationWriter> generation);
  static Result<std::unique_ptr<GenerationWriter>> NewGeneration(StoreImpl* store,
                                                                 const TableOptions& options);
  // A codec that learns has not learned yet: rows wait in the spool.
  bool waiting() const { return spool_ != nullptr; }
  // Learns from the rows in the spool and encodes them.
  Status EncodeSpool();
  Status CheckKeys(const Rows& rows, uint64_t count) const;
  Status AppendKeys(const Rows& rows, uint64_t count);
  // The error of row i of an Append whose first row is `first`, with its place and key.
  Status BadValue(const Status& status, const Rows& rows, uint64_t first, uint64_t i) const;
  Status AppendRows(
      const Rows& rows, uint64_t size, uint64_t row_size, const char* what,
      const std::function<Status(uint64_t done, uint64_t n, std::byte* codes)>& encode);
  std::string Place(uint64_t row) const;
  Status RefuseDuplicates(const std::vector<storage::DuplicateRows>& duplicates);
  Status DropDuplicates(const std::vector<storage::DuplicateRows>& duplicates);
  Status CopyWithout(const std::vector<uint64_t>& dropped_rows, GenerationWriter* to);
  Status CopyKeysWithout(const std::vector<uint64_t>& dropped_rows, GenerationWriter* to);
  // Replaces the generation by one with the rows in the order that was asked for.
  Status PutInOrder();
  storage::TableRecord MakeRecord() const;
  Status CommitInner(TableInfo* info);

  StoreImpl* const store_;
  const std::string name_;
  const TableOptions options_;
  std::unique_ptr<storage::Codec> codec_;  // null while rows wait
  std::unique_ptr<GenerationWriter> generation_;
  std::unique_ptr<RowSpool> spool_;
  uint64_t rows_ = 0;  // appended
  PositionMap positions_;
  std::vector<DroppedRow> dropped_;
  OrderReport order_report_;
  uint64_t order_pages_ = 0;
  bool spent_ = false;  // committed, or failed
};

}  // namespace edo::engine
