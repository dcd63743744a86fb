// TableWriterImpl: rows in, one new generation out. Encodes rows straight into the chunk being
// filled, hands keys to the KeyDirectoryBuilder, and at Commit drops duplicates, finishes the files
// and asks the store to make them visible. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edo/store.h"
#include "engine/generation_writer.h"
#include "engine/position_map.h"
#include "engine/row_spool.h"
#include "engine/table_recoder.h"
#include "storage/catalog.h"
#include "storage/codec.h"
#include "storage/key_directory_builder.h"
#include "storage/row_store.h"

namespace edo::engine {

class StoreImpl;

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
  TableWriterImpl(StoreImpl* store, std::string name, const TableOptions& options, RecodeWork tiers,
                  std::unique_ptr<storage::Codec> codec, std::unique_ptr<RowSpool> spool,
                  std::unique_ptr<GenerationWriter> generation);
  static Result<std::unique_ptr<GenerationWriter>> NewGeneration(
      StoreImpl* store, const TableOptions& options, Compression wish,
      const std::optional<ChunkPlan>& plan = std::nullopt);
  // A codec that learns has not learned yet: rows wait in the spool.
  bool waiting() const { return spool_ != nullptr; }
  // Chooses a codec where that is asked for, learns from the rows in the spool and encodes them.
  Status EncodeSpool();
  // The first of the candidates that keeps the goal over all rows; its learned bytes.
  Status ChooseCodec(const storage::LearnOptions& learn, std::vector<std::byte>* learned);
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
  // Replaces the generation by one without some rows (ascending), laid out by the plan.
  Status Rewrite(const std::vector<uint64_t>& dropped_rows, const ChunkPlan& plan);
  // Rewrites the generation if all rows speak for another plan than the first ones did.
  Status ThinkAgain();
  Status CopyWithout(const std::vector<uint64_t>& dropped_rows, GenerationWriter* to);
  Status CopyKeysWithout(const std::vector<uint64_t>& dropped_rows, GenerationWriter* to);
  // Replaces the generation by one with the rows in the order that was asked for.
  Status PutInOrder();
  storage::TableRecord MakeRecord() const;
  Status CheckTierValues(const float* values, uint64_t count, uint64_t* bad) const;
  // Of mixed precision: the rows that wait as floats, in `record`, into their tiers.
  Status CommitTiers(storage::TableRecord record, TableInfo* info);
  Status CommitInner(TableInfo* info);

  StoreImpl* const store_;
  const std::string name_;
  TableOptions options_;                   // `codec` is set when it is chosen; of mixed precision
                                           // it is F32, in which rows wait
  RecodeWork tiers_;                       // of mixed precision what the rows become; else no `hot`
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
