// TableImpl: a handle on one generation of a table. Holds its pin, so that the pages stay on disk
// while the handle lives. Immutable after Make; every method is safe from many threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edo/table.h"
#include "engine/store_context.h"
#include "storage/catalog.h"
#include "storage/codec.h"
#include "storage/key_directory.h"

namespace edo::engine {

class TableImpl : public Table {
 public:
  static Result<std::unique_ptr<Table>> Make(std::shared_ptr<StoreContext> context,
                                             std::shared_ptr<GenerationPin> pin,
                                             storage::TableRecord record);

  const TableInfo& info() const override { return record_.info; }
  Status LookupRows(std::span<const uint64_t> row_numbers, const LookupOptions& options, void* out,
                    LookupReport* report) const override;
  Status Lookup(std::span<const int64_t> ids, const LookupOptions& options, void* out,
                LookupReport* report) const override;
  Status Lookup(std::span<const int32_t> ids, const LookupOptions& options, void* out,
                LookupReport* report) const override;
  Status Lookup(std::span<const std::string_view> tokens, const LookupOptions& options, void* out,
                LookupReport* report) const override;
  Result<std::vector<uint64_t>> FindRows(std::span<const int64_t> ids) const override;
  Result<std::vector<uint64_t>> FindRows(std::span<const std::string_view> tokens) const override;
  Result<bool> Contains(int64_t id) const override;
  Result<bool> Contains(std::string_view token) const override;
  Result<std::vector<int64_t>> IntKeysOf(std::span<const uint64_t> row_numbers) const override;
  Result<std::vector<std::string>> TextKeysOf(std::span<const uint64_t> row_numbers) const override;
  Result<std::unique_ptr<TableScan>> Scan(const ScanOptions& options) const override;

  const storage::TableRecord& record() const { return record_; }
  const storage::Codec& codec() const { return *codec_; }
  const StoreContext& context() const { return *context_; }
  // Encoded rows of the whole table in order, chunk by chunk: fn(first row, rows, codes).
  using CodesFunction =
      std::function<Status(uint64_t first_row, uint64_t rows, std::string_view codes)>;
  Status ScanCodes(const CodesFunction& fn) const;
  // Encoded rows by number, in the order asked; rows must be < info().rows. All or an error.
  Status ReadCodes(std::span<const uint64_t> rows, std::byte* codes) const;

 private:
  TableImpl(std::shared_ptr<StoreContext> context, std::shared_ptr<GenerationPin> pin,
            storage::TableRecord record, std::unique_ptr<storage::Codec> codec);
  Status WrongKeyKind(std::string_view asked) const;
  storage::FindResult FindInts(std::span<const int64_t> ids,
                               const storage::Deadline& deadline) const;
  Status LookupFound(storage::FindResult found, std::vector<uint8_t> padding,
                     const LookupOptions& options, void* out, LookupReport* report) const;

  const std::shared_ptr<StoreContext> context_;
  const std::shared_ptr<GenerationPin> pin_;
  const storage::TableRecord record_;
  const std::unique_ptr<storage::Codec> codec_;
  const storage::KeyDirectory keys_;
};

}  // namespace edo::engine
