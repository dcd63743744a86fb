// What the parts of one open store share: the row store, the options, the counters, and the pins
// that keep a replaced generation on disk until its last reader is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "edo/options.h"
#include "edo/stats.h"
#include "edo/table.h"
#include "engine/device_buffers.h"
#include "engine/order_limits.h"
#include "engine/prefetcher.h"
#include "gpucache/row_cache.h"
#include "kernels/backend.h"
#include "storage/catalog.h"
#include "storage/codec.h"
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
  OrderLimits order_limits;  // tests make them small

  // What computes: the CPU for lookups into host memory, the device for those "on device" (which
  // may be the CPU as well; see DeviceOf), and the cache of hot rows of each; null: none was asked
  // for.
  std::shared_ptr<kernels::Backend> cpu = kernels::MakeCpuBackend();
  mutable std::mutex device_mutex;                   // guards the next three
  mutable std::shared_ptr<kernels::Backend> device;  // null until it is needed
  mutable std::shared_ptr<DeviceBuffers> device_buffers;
  mutable kernels::Stream copy_stream;  // of reads ahead; null until it is needed
  std::unique_ptr<gpucache::RowCache> cache;
  std::unique_ptr<gpucache::RowCache> device_cache;
  std::unique_ptr<Prefetcher> prefetcher;  // reads ahead; goes first

  mutable std::mutex composed_tickets;  // held while the tickets of one composed table's are made

  StoreContext() = default;
  ~StoreContext();
  StoreContext(const StoreContext&) = delete;
  StoreContext& operator=(const StoreContext&) = delete;

  ChunkReads* reads_ahead() const { return prefetcher ? &prefetcher->reads() : nullptr; }
  void Log(LogLevel level, const std::string& message) const {
    if (options.log) options.log(level, message);
  }
};

// A generation's places in the caches; null where there is none.
struct CachedPlaces {
  std::shared_ptr<const gpucache::CachedTable> host;
  std::shared_ptr<const gpucache::CachedTable> device;
};

struct OpenedGeneration {
  std::shared_ptr<const storage::Codec> codec;
  CachedPlaces places;
};

// Held by the catalog and by every handle on a generation. When the last holder of a generation
// that was replaced or dropped goes, its rows leave the caches and its pages the disk. So a handle
// never sees rows of another generation, and a table that is opened again finds its hot rows.
class GenerationPin {
 public:
  // `tiers`: of a table of mixed precision the pins of its other tiers, which go with this one.
  GenerationPin(std::shared_ptr<StoreContext> context, uint64_t generation,
                std::vector<std::shared_ptr<GenerationPin>> tiers = {})
      : context_(std::move(context)), generation_(generation), tiers_(std::move(tiers)) {}
  ~GenerationPin() {
    opened_ = {};
    if (!doomed_.load()) return;
    const Status s = context_->rows->DropGeneration(generation_);
    if (!s.ok()) context_->Log(LogLevel::kWarning, s.ToString());
  }
  GenerationPin(const GenerationPin&) = delete;
  GenerationPin& operator=(const GenerationPin&) = delete;

  void Doom() {
    doomed_.store(true);
    for (const auto& tier : tiers_) tier->Doom();
  }
  // A generation that was staged has become part of a table.
  void Keep() { doomed_.store(false); }
  std::span<const std::shared_ptr<GenerationPin>> tiers() const { return tiers_; }

  // What readers of the generation share: its codec, read when it is first opened, and its places
  // in the caches; `read_dims` as in ReadOptions. kInvalidArgument when a cache holds not even one
  // block of such rows; a cache that has no room beside other tables is done without, which the log
  // says.
  // `cached` false, of the first to open it: it gets no places. `base_only`: where its codec
  // refines another, only that is read.
  struct OpenOptions {
    uint32_t read_dims = 0;
    bool base_only = false;
    bool cached = true;
  };
  Result<OpenedGeneration> Open(const storage::TableRecord& record, const OpenOptions& options);
  // How kernels of the context's device decode the generation's rows by a codec that Open gave:
  // what it has learned is copied there when it is first asked for, beside the budgets of the
  // caches.
  Result<kernels::RowFormat> DeviceFormat(const storage::Codec& codec);

 private:
  Status OpenOnce(const storage::TableRecord& record, const OpenOptions& options);
  void KeepHalves(const OpenedGeneration& whole) const;
  Result<kernels::RowFormat> DeviceFormatLocked(const storage::Codec& codec);
  Result<std::shared_ptr<const gpucache::CachedTable>> Place(gpucache::RowCache* cache,
                                                             const kernels::RowFormat& format,
                                                             const TableInfo& info,
                                                             uint32_t cell_bytes) const;

  const std::shared_ptr<StoreContext> context_;
  const uint64_t generation_;
  const std::vector<std::shared_ptr<GenerationPin>> tiers_;
  std::atomic<bool> doomed_{false};
  std::mutex mutex_;                      // guards what follows
  OpenedGeneration opened_;               // of the last who opened it; codec null: not yet
  std::shared_ptr<void> device_learned_;  // in the device's memory
};

}  // namespace edo::engine
