// What the parts of one open store share: the row store, the options, the counters, and the pins
// that keep a replaced generation on disk until its last reader is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "edo/options.h"
#include "edo/stats.h"
#include "storage/directory_lock.h"
#include "storage/row_store.h"

namespace edo::engine {

struct StoreCounters {
  std::atomic<uint64_t> lookups{0};
  std::atomic<uint64_t> rows_found{0};
  std::atomic<uint64_t> keys_missing{0};
  std::atomic<uint64_t> rows_unread{0};
  std::atomic<uint64_t> chunks_read{0};
  std::atomic<uint64_t> key_pages_read{0};

  void AddTo(Stats* stats) const {
    stats->lookups += lookups.load(std::memory_order_relaxed);
    stats->rows_found += rows_found.load(std::memory_order_relaxed);
    stats->keys_missing += keys_missing.load(std::memory_order_relaxed);
    stats->rows_unread += rows_unread.load(std::memory_order_relaxed);
    stats->chunks_read += chunks_read.load(std::memory_order_relaxed);
    stats->key_pages_read += key_pages_read.load(std::memory_order_relaxed);
  }
};

struct StoreContext {
  std::string directory;
  StoreOptions options;
  std::unique_ptr<storage::DirectoryLock> lock;  // of a writable store on disk; outlives `rows`
  std::unique_ptr<storage::RowStore> rows;
  StoreCounters counters;

  void Log(LogLevel level, const std::string& message) const {
    if (options.log) options.log(level, message);
  }
};

// Held by the catalog and by every handle on a generation. When the last holder of a generation
// that was replaced or dropped goes, its pages are removed from the disk.
class GenerationPin {
 public:
  GenerationPin(std::shared_ptr<StoreContext> context, uint64_t generation)
      : context_(std::move(context)), generation_(generation) {}
  ~GenerationPin() {
    if (!doomed_.load()) return;
    const Status s = context_->rows->DropGeneration(generation_);
    if (!s.ok()) context_->Log(LogLevel::kWarning, s.ToString());
  }
  GenerationPin(const GenerationPin&) = delete;
  GenerationPin& operator=(const GenerationPin&) = delete;

  void Doom() { doomed_.store(true); }

 private:
  const std::shared_ptr<StoreContext> context_;
  const uint64_t generation_;
  std::atomic<bool> doomed_{false};
};

}  // namespace edo::engine
