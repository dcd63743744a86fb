// ComposedTable: a table whose rows are computed from rows of other tables (edo/compose.h), over
// their public interface. Holds handles on its parts, and so their generations. Immutable; every
// method is safe from many threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edo/table.h"
#include "engine/inner_table.h"
#include "engine/store_context.h"
#include "storage/catalog.h"

namespace edo::engine {

// Whether a table fits its place in a composition of `rows` ids; the status begins with what is
// wrong: "part 'x': ...".
Status CheckPart(const ComposedPart& part, const storage::TableRecord& of_part, uint64_t rows);
// The dim of the composition, or why the parts do not go together.
Result<uint32_t> ComposedDim(ComposedOp op, std::span<const TableInfo* const> parts);
// That a call is for tables that hold rows themselves.
Status RefuseComposed(const Table& table, std::string_view call);

class ComposedTable : public InnerTable {
 public:
  // `parts`: one handle a part of the record's composition, checked.
  ComposedTable(std::shared_ptr<StoreContext> context, storage::TableRecord record,
                std::vector<std::shared_ptr<const Table>> parts);

  const TableInfo& info() const override { return record_.info; }
  std::span<const std::byte> Learned() const override { return {}; }
  Status LookupRows(std::span<const uint64_t> row_numbers, const LookupOptions& options, void* out,
                    LookupReport* report) const override;
  Status Lookup(std::span<const int64_t> ids, const LookupOptions& options, void* out,
                LookupReport* report) const override;
  Status Lookup(std::span<const int32_t> ids, const LookupOptions& options, void* out,
                LookupReport* report) const override;
  Status Lookup(std::span<const std::string_view> tokens, const LookupOptions& options, void* out,
                LookupReport* report) const override;
  Status LookupBagRows(std::span<const uint64_t> row_numbers, const Bags& bags,
                       const LookupOptions& options, void* out,
                       LookupReport* report) const override;
  Status LookupBags(std::span<const int64_t> ids, const Bags& bags, const LookupOptions& options,
                    void* out, LookupReport* report) const override;
  Status LookupBags(std::span<const int32_t> ids, const Bags& bags, const LookupOptions& options,
                    void* out, LookupReport* report) const override;
  Status LookupBags(std::span<const std::string_view> tokens, const Bags& bags,
                    const LookupOptions& options, void* out, LookupReport* report) const override;
  Result<std::unique_ptr<PrefetchTicket>> PrefetchRows(
      std::span<const uint64_t> row_numbers, const PrefetchOptions& options) const override;
  Result<std::unique_ptr<PrefetchTicket>> Prefetch(std::span<const int64_t> ids,
                                                   const PrefetchOptions& options) const override;
  Result<std::unique_ptr<PrefetchTicket>> Prefetch(std::span<const std::string_view> tokens,
                                                   const PrefetchOptions& options) const override;
  Result<std::unique_ptr<Pipeline>> MakePipeline(KeySource source,
                                                 const PipelineOptions& options) const override;
  Status BulkLookup(const KeySource& source, const BulkOptions& options, const BulkSink& sink,
                    BulkReport* report) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupRowsOnDevice(const int64_t* row_numbers,
                                                           uint64_t count,
                                                           const LookupOptions& options, void* out,
                                                           void* stream) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupOnDevice(std::span<const int64_t> ids,
                                                       const LookupOptions& options, void* out,
                                                       void* stream) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupOnDevice(std::span<const std::string_view> tokens,
                                                       const LookupOptions& options, void* out,
                                                       void* stream) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupBagRowsOnDevice(
      const int64_t* row_numbers, uint64_t count, const DeviceBags& bags,
      const LookupOptions& options, void* out, void* stream) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupBagsOnDevice(std::span<const int64_t> ids,
                                                           const Bags& bags,
                                                           const LookupOptions& options, void* out,
                                                           void* stream) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupBagsOnDevice(std::span<const std::string_view> tokens,
                                                           const Bags& bags,
                                                           const LookupOptions& options, void* out,
                                                           void* stream) const override;
  Result<std::vector<uint64_t>> FindRows(std::span<const int64_t> ids) const override;
  Result<std::vector<uint64_t>> FindRows(std::span<const std::string_view> tokens) const override;
  Result<bool> Contains(int64_t id) const override;
  Result<bool> Contains(std::string_view token) const override;
  Result<std::vector<int64_t>> IntKeysOf(std::span<const uint64_t> row_numbers) const override;
  Result<std::vector<std::string>> TextKeysOf(std::span<const uint64_t> row_numbers) const override;
  Result<std::unique_ptr<TableScan>> Scan(const ScanOptions& options) const override;

  const StoreContext& context() const override { return *context_; }
  const TableImpl* stored() const override { return nullptr; }
  Status CheckKeys(const KeyBatch& keys) const override;
  Result<std::unique_ptr<DeviceLookup>> LookupHostRowsOnDevice(std::span<const uint64_t> rows,
                                                               const LookupOptions& options,
                                                               void* out,
                                                               void* stream) const override;

  // For the bulk job (composed_loops.cc). Ids, and what became of each: kFound is still to be read.
  struct Keys {
    std::vector<uint64_t> ids;
    std::vector<RowState> states;
  };
  Result<Keys> KeysOf(const KeyBatch& batch, const LookupOptions& options) const;
  // Values of the ids that are kFound, as f32: (count, values a row); others are left alone. Those
  // that could not be read become kUnread. `by_disk`: past the caches (Table::BulkLookup).
  Status Compose(Keys* keys, const LookupOptions& options, bool by_disk, float* values,
                 std::vector<ReadFailure>* failures, uint64_t* chunks) const;

 private:
  Status NoRowNumbers() const;
  Status NoTokens() const;
  Keys KeysOfIds(std::span<const int64_t> ids, const LookupOptions& options) const;
  Result<Keys> KeysOfRows(std::span<const uint64_t> rows) const;
  Status LookupKeys(Keys keys, const LookupOptions& options, void* out, LookupReport* report) const;
  Status PoolKeys(Keys keys, const Bags& bags, const LookupOptions& options, void* out,
                  LookupReport* report) const;
  Status Conclude(Keys keys, std::vector<ReadFailure> failures, const LookupOptions& options,
                  LookupReport* report) const;
  // A lookup of the host, by fn, into device memory: `rows` rows at `out`.
  using HostLookup =
      std::function<Status(const LookupOptions& options, void* out, LookupReport* report)>;
  Result<std::unique_ptr<DeviceLookup>> OnDevice(uint64_t rows, const Bags* bags,
                                                 const LookupOptions& options, void* out,
                                                 void* stream, const HostLookup& fn) const;
  Result<std::unique_ptr<PrefetchTicket>> PrefetchKeys(const Keys& keys,
                                                       const PrefetchOptions& options) const;

  const std::shared_ptr<StoreContext> context_;
  const storage::TableRecord record_;
  const std::vector<std::shared_ptr<const Table>> parts_;
};

Status RunComposedBulk(const ComposedTable& table, const KeySource& source,
                       const BulkOptions& options, const BulkSink& sink, BulkReport* report);
// One ticket over tickets of the parts; it has `missing` keys beside theirs.
std::unique_ptr<PrefetchTicket> JoinTickets(std::vector<std::unique_ptr<PrefetchTicket>> tickets,
                                            uint64_t keys, uint64_t missing);

}  // namespace edo::engine
