// Prefetcher: the tickets of a store, and the memory they may hold together. One a store. The rules
// are in edo/prefetch.h; chunk_reads.h does the reading.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/options.h"
#include "edo/pipeline.h"
#include "edo/prefetch.h"
#include "engine/chunk_reads.h"
#include "engine/executor.h"
#include "storage/row_store.h"

namespace edo::engine {

class TableImpl;
class PrefetchTicketState;

// Counted for each key of a ticket beside its row: its number, and its place among the chunks.
inline constexpr uint64_t kTicketBytesAKey = 16;

class Prefetcher {
 public:
  Prefetcher(const storage::RowStore* rows, const StoreOptions& options);
  ~Prefetcher();  // Close
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  Result<std::unique_ptr<PrefetchTicket>> Start(const TableImpl* table, KeyBatch keys,
                                                const PrefetchOptions& options);
  ChunkReads& reads() { return *reads_; }
  Executor& executor() { return executor_; }
  // Cancels every ticket, waits for reads under way, ends the threads.
  void Close();

  uint64_t bytes_held() const;

 private:
  friend class PrefetchTicketState;
  // A ticket that is at the head of the line and fits, or null.
  std::shared_ptr<PrefetchTicketState> NextAdmitted();
  void Admit();
  void GiveBack(uint64_t bytes);
  void Forget(PrefetchTicketState* ticket);

  const uint64_t most_bytes_;
  Executor executor_;
  const std::shared_ptr<ChunkReads> reads_;

  mutable std::mutex mutex_;                               // guards what follows
  uint64_t bytes_ = 0;                                     // of admitted tickets
  std::list<std::weak_ptr<PrefetchTicketState>> waiting_;  // in the order they were made
  std::set<PrefetchTicketState*> live_;
  bool closed_ = false;
};

}  // namespace edo::engine
