// RowGather: the read path of a table, from row numbers to decoded values. Tier by tier, rows that
// the cache of hot rows holds are decoded from there; the others are read by chunk (lookup.h),
// decoded, and offered to the cache. Immutable; safe from many threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edo/table.h"
#include "engine/tier.h"
#include "gpucache/row_cache.h"
#include "storage/codec.h"
#include "storage/row_store.h"

namespace edo::engine {

// What became of the rows of one gather. Found = count - absent - unread.
struct GatherOutcome {
  uint64_t absent = 0;  // row numbers beyond the table
  uint64_t unread = 0;
  uint64_t chunks = 0;  // read and proved
  std::vector<ReadFailure> failures;

  void Add(GatherOutcome&& other);
};

class RowGather {
 public:
  // Of a table of `rows` rows in `tiers`, which must outlive it.
  RowGather(const StoreContext* context, std::span<const Tier> tiers, uint64_t rows)
      : context_(context), tiers_(tiers), rows_(rows) {}

  struct Options {
    bool zero_absent = true;  // else the place of an absent row is left as it was
    storage::Deadline deadline{};
  };

  // Targets here have `values` and `stride` filled in.

  // Row rows[i] to row i of `target`. A row that is unread leaves its place as it was. `marks`:
  // (rows.size()), or null.
  GatherOutcome Gather(std::span<const uint64_t> rows, const storage::DecodeTarget& target,
                       const Options& options, kernels::RowMark* marks) const;

  // Pools bags (offsets of all, bag count + 1 of them, ascending, the last = rows.size()) to the
  // rows of `target`, by the rules of Table::LookupBags. A bag that holds an unread row or a lost
  // key
  // - or, with `whole_bags_only`, an absent row that is no padding - leaves its place as it was.
  struct BagOptions {
    kernels::PoolMode mode = kernels::PoolMode::kSum;
    const float* weights = nullptr;
    bool whole_bags_only = false;
    const uint8_t* padding = nullptr;  // (rows.size()) 1: absent on purpose; or null
    const uint8_t* lost = nullptr;  // (rows.size()) 1: the key directory could not be read; or null
    storage::Deadline deadline{};
  };
  GatherOutcome Pool(std::span<const uint64_t> rows, std::span<const uint64_t> offsets,
                     const storage::DecodeTarget& target, const BagOptions& options,
                     kernels::RowMark* marks) const;

  // Encoded rows of a tier: row rows[i] to codes + i * row_bytes, unread[i] = 1 where it could not
  // be read. All row numbers, which are the table's, must be the tier's. Past the cache:
  GatherOutcome ReadEncoded(const Tier& tier, std::span<const uint64_t> rows,
                            const storage::Deadline& deadline, std::byte* codes,
                            uint8_t* unread) const;
  // Through the cache, as Gather: it is the level between a device and the disk.
  GatherOutcome ReadEncodedCached(const Tier& tier, std::span<const uint64_t> rows,
                                  const storage::Deadline& deadline, std::byte* codes,
                                  uint8_t* unread) const;

 private:
  struct Scratch;
  GatherOutcome ReadMisses(const Tier& tier, std::span<const uint64_t> rows,
                           std::span<const uint32_t> misses, const storage::DecodeTarget& target,
                           const storage::Deadline& deadline, kernels::RowMark* marks) const;
  GatherOutcome PoolBags(std::span<const uint64_t> rows, std::span<const uint64_t> offsets,
                         std::span<const uint32_t> bags, const storage::DecodeTarget& target,
                         const BagOptions& options, kernels::RowMark* marks) const;
  GatherOutcome PoolLongBag(std::span<const uint64_t> rows, std::span<const uint64_t> offsets,
                            uint32_t bag, const storage::DecodeTarget& target,
                            const BagOptions& options, kernels::RowMark* marks) const;

  const StoreContext* const context_;
  const std::span<const Tier> tiers_;
  const uint64_t rows_;
};

}  // namespace edo::engine
