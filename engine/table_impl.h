// TableImpl: a handle on one generation of a table, or on those of its tiers. Holds their pins, so
// that the pages stay on disk while the handle lives. Immutable after Make; every method is safe
// from many threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edo/store.h"
#include "edo/table.h"
#include "engine/inner_table.h"
#include "engine/row_gather.h"
#include "engine/store_context.h"
#include "engine/tier.h"
#include "storage/catalog.h"
#include "storage/codec.h"
#include "storage/key_directory.h"
#include "storage/order_map.h"

namespace edo::engine {

// Keys as row numbers, and what else became of them.
struct Resolved {
  std::span<const uint64_t> rows;    // (count); >= the table's rows: missing, padding or unread
  std::vector<uint64_t> owned_rows;  // behind `rows`, unless they are the caller's own
  std::vector<uint8_t> unread;   // (count) 1 where the key directory could not be read; or empty
  std::vector<uint8_t> padding;  // (count) 1 where the key is the padding id; or empty
  std::vector<ReadFailure> failures;
  uint64_t pages_read = 0;
};

// Where the values that a lookup asks for go.
inline storage::DecodeTarget TargetOf(const LookupOptions& options, const TableInfo& info,
                                      void* out) {
  const uint32_t values = ValuesOf(options, info);
  return {out, options.out_type, options.out_stride == 0 ? values : options.out_stride, values};
}

struct DeviceQuery;

class TableImpl : public InnerTable {
 public:
  // `cached` false: without a place in the caches.
  static Result<std::unique_ptr<TableImpl>> Make(std::shared_ptr<StoreContext> context,
                                                 std::shared_ptr<GenerationPin> pin,
                                                 storage::TableRecord record,
                                                 const ReadOptions& options, bool cached = true);

  const TableInfo& info() const override { return record_.info; }
  std::span<const std::byte> Learned() const override {
    return tiers_.size() == 1 ? tiers_.front().codec->learned() : std::span<const std::byte>();
  }
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

  const storage::TableRecord& record() const { return record_; }
  const std::vector<Tier>& tiers() const { return tiers_; }
  const StoreContext& context() const override { return *context_; }
  const TableImpl* stored() const override { return this; }
  // For those who may outlive the handle.
  const std::shared_ptr<StoreContext>& shared_context() const { return context_; }
  // Keys to row numbers. kInvalidArgument: keys of the wrong kind.
  Result<Resolved> Resolve(std::span<const int64_t> ids, const LookupOptions& options) const;
  Result<Resolved> Resolve(std::span<const std::string_view> tokens,
                           const LookupOptions& options) const;
  Result<std::unique_ptr<DeviceLookup>> LookupHostRowsOnDevice(std::span<const uint64_t> rows,
                                                               const LookupOptions& options,
                                                               void* out,
                                                               void* stream) const override;
  Status CheckKeys(const KeyBatch& keys) const override;
  const RowGather& gather() const { return gather_; }
  // Rows of resolved keys to `target`: what a lookup does to its output.
  GatherOutcome GatherResolved(const Resolved& keys, const LookupOptions& options,
                               const storage::DecodeTarget& target, kernels::RowMark* marks) const;
  // Options of a pooled lookup, but for mode and weights.
  RowGather::BagOptions PoolOptions(const Resolved& keys, const LookupOptions& options) const;
  const storage::OrderMap& order() const { return order_; }
  // Counts a batch, fills its report, and says how it ended. `marks` as the rows' reads left them.
  Status Conclude(Resolved* keys, GatherOutcome outcome, std::span<const kernels::RowMark> marks,
                  const LookupOptions& options, LookupReport* report) const;
  // Encoded rows of the whole table in order, chunk by chunk: fn(tier, first row, rows, codes).
  using CodesFunction = std::function<Status(const Tier& tier, uint64_t first_row, uint64_t rows,
                                             std::string_view codes)>;
  Status ScanCodes(const CodesFunction& fn) const;
  // Of the rows from `first_row` (of the table) on, `rows` of them, which one tier holds.
  Status ScanCodesOf(const Tier& tier, uint64_t first_row, uint64_t rows,
                     const CodesFunction& fn) const;
  // Rows by number, in the order asked, past the cache; they must be < info().rows. All or an
  // error. As floats, (rows.size(), dim):
  Status ReadValues(std::span<const uint64_t> rows, float* values) const;
  // Encoded; of a table of one tier.
  Status ReadCodes(std::span<const uint64_t> rows, std::byte* codes) const;

 private:
  TableImpl(std::shared_ptr<StoreContext> context, storage::TableRecord record,
            std::vector<Tier> tiers);
  Status WrongKeyKind(std::string_view asked) const;
  storage::FindResult FindInts(std::span<const int64_t> ids,
                               const storage::Deadline& deadline) const;
  static Resolved FromDirectory(storage::FindResult found);
  Status LookupResolved(Resolved keys, const LookupOptions& options, void* out,
                        LookupReport* report) const;
  Result<std::unique_ptr<DeviceLookup>> OnDevice(DeviceQuery query) const;
  Status PoolResolved(Resolved keys, const Bags& bags, const LookupOptions& options, void* out,
                      LookupReport* report) const;

  const std::shared_ptr<StoreContext> context_;
  const storage::TableRecord record_;
  const std::vector<Tier> tiers_;
  const storage::KeyDirectory keys_;
  const storage::OrderMap order_;
  const RowGather gather_;
};

}  // namespace edo::engine
