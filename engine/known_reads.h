// KnownReads: tells the cache of a table, the host's or the device's, which rows a loop will read,
// for eviction by next use (gpucache/row_cache.h, "Looking ahead"). Where there is no cache, where
// another loop looks ahead in the table, or where memory is short, the loop goes on without it.
#pragma once

#include <memory>

#include "edo/pipeline.h"
#include "engine/table_impl.h"

namespace edo::engine {

class KnownReads {
 public:
  KnownReads(const TableImpl* table, bool on_device);  // the table must outlive it
  ~KnownReads();
  KnownReads(const KnownReads&) = delete;
  KnownReads& operator=(const KnownReads&) = delete;

  // The batch behind those that are known. Keys that are not rows already are resolved for it.
  void Append(const KeyBatch& keys);
  // The next batch is about to be looked up.
  void Advance();

 private:
  const gpucache::CachedTable* PlaceOf(const Tier& tier) const;
  void End();

  const TableImpl* const table_;
  const bool on_device_;
  gpucache::RowCache* cache_;  // null: without
  size_t begun_ = 0;           // tiers, from the first
};

}  // namespace edo::engine
