// PrefetchTicketState: what a ticket of Table::Prefetch does, from its keys to its rows. The rules
// are in edo/prefetch.h; Prefetcher makes tickets and bounds their memory, ChunkReads reads for
// them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "edo/prefetch.h"
#include "engine/chunk_reads.h"
#include "engine/executor.h"
#include "engine/prefetcher.h"
#include "engine/table_impl.h"

namespace edo::engine {

// Steps that take time run on the executor, or in the thread of a caller that waits, whichever
// comes first.
class PrefetchTicketState : public std::enable_shared_from_this<PrefetchTicketState> {
 public:
  PrefetchTicketState(Prefetcher* prefetcher, const TableImpl* table, KeyBatch keys,
                      const PrefetchOptions& options, uint64_t bytes)
      : prefetcher_(prefetcher),
        context_(table->shared_context()),
        table_rows_(table->info().rows),
        table_(table),
        options_(options),
        keys_(std::move(keys)),
        bytes_(bytes) {
    report_.keys = keys_.size();
  }

  uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  bool done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }

  void WatchDeadline() {
    if (!options_.deadline) return;
    auto timer = prefetcher_->executor().At(*options_.deadline, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Expire();
    });
    {
      const std::lock_guard lock(mutex_);
      if (!done_) timer_.swap(timer);
    }
    Executor::Drop(timer);
  }

  // It has room; false: it has ended and needs none.
  bool Admit() {
    const std::lock_guard lock(mutex_);
    if (done_) return false;
    admitted_ = true;
    changed_.notify_all();
    return true;
  }
  void Begin() { RunSoon(&PrefetchTicketState::Resolve); }
  // Waits for a step that uses the table or the row store and was begun before the end.
  void Settle() { const std::lock_guard use(use_mutex_); }

  Status Wait();
  void OnDone(std::function<void(const Status&)> call);
  void Expire() {
    End(Status::DeadlineExceeded("the deadline of the prefetch passed before it was done"));
  }
  void Cancel() { End(Status::Cancelled("the prefetch was cancelled")); }
  void End(const Status& status);
  void Release();
  PrefetchReport report() const {
    const std::lock_guard lock(mutex_);
    return done_ ? report_ : PrefetchReport{};
  }

 private:
  // The rows of one tier, and what waits for their chunks.
  struct Part : ChunkWaiter {
    Part(PrefetchTicketState* ticket, size_t tier) : ticket(ticket), tier(tier) {
      record = ticket->table_->tiers()[tier].record;
      pin = ticket->table_->tiers()[tier].pin;
    }
    Kept OnChunk(uint64_t number, const Status& status, const storage::PageView& page) override {
      return ticket->OnChunk(this, number, status, page);
    }
    Status StillWanted() const override { return ticket->StillWanted(); }
    bool left() const override { return ticket->left_.load(); }

    PrefetchTicketState* const ticket;  // whose lifetime is the part's
    const size_t tier;
    std::shared_ptr<const storage::TableRecord> record;
    std::shared_ptr<GenerationPin> pin;
    std::vector<uint64_t> pinned;  // rows pinned in the host's or the device's cache

    // Rows here and above are as the tier numbers them. Written by Resolve before chunks are asked
    // for, then constant.
    std::shared_ptr<StagedRows> staged;
    DeviceBuffers::Buffer* device_buffer = nullptr;  // the memory of `staged`, if on a device
    std::vector<uint64_t> chunks;                    // ascending
    std::vector<uint32_t> begins;                    // (chunks + 1) first row of each in `staged`

    // Guarded by the ticket's mutex_.
    std::vector<uint8_t> arrived;  // (chunks)
    std::vector<uint8_t> failed;   // (chunks) constant once all have arrived
  };

  ChunkWaiter::Kept OnChunk(Part* part, uint64_t number, const Status& status,
                            const storage::PageView& page);
  Status StillWanted() const {
    const std::lock_guard lock(mutex_);
    if (done_) return Status::Cancelled("the prefetch has ended");
    if (options_.deadline && std::chrono::steady_clock::now() >= *options_.deadline) {
      return Status::DeadlineExceeded("the deadline passed before it was read");
    }
    return Status::Ok();
  }
  // A step that was handed to the executor and finds its ticket gone is nothing.
  void RunSoon(void (PrefetchTicketState::*step)()) {
    prefetcher_->executor().Run([weak = weak_from_this(), step] {
      if (const auto self = weak.lock()) (self.get()->*step)();
    });
  }
  bool on_device() const { return options_.to_device; }
  void Resolve();
  Result<std::vector<uint64_t>> FindRows();
  const gpucache::CachedTable* PlaceOf(const Part& part) const {
    const CachedPlaces& places = table_->tiers()[part.tier].places;
    return on_device() ? places.device.get() : places.host.get();
  }
  void TakeResident(std::span<const uint64_t> rows, Part* part);
  Status MakeStaging(Part* part);
  static void DivideByChunk(Part* part);
  uint64_t Ask(Part* part);
  void Arrive(uint64_t chunks);
  void CopyUp();
  Status CopyToCache(Part* part);
  Status CopyRun(Part* part, uint32_t begin, uint32_t end);
  // Ends it with what its chunks came to, or with `status` when that is not OK.
  void Complete(const Status& status);

  Prefetcher* const prefetcher_;
  const std::shared_ptr<StoreContext> context_;
  const uint64_t table_rows_;
  const TableImpl* const table_;  // used under use_mutex_, and not once left_ is set
  const PrefetchOptions options_;
  KeyBatch keys_;

  // Held while the table is used, so that a ticket that goes waits for that.
  std::mutex use_mutex_;
  std::atomic<bool> resolve_taken_{false};
  std::atomic<bool> copy_taken_{false};
  std::atomic<bool> left_{false};
  std::deque<Part> parts_;  // made by Resolve before chunks are asked for, then as many

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  uint64_t bytes_;  // counted for it
  bool admitted_ = false;
  bool copying_ = false;  // all chunks have come, the copy to the device has not been made
  bool asked_ = false;    // parts_ are complete
  bool done_ = false;
  bool given_back_ = false;
  uint64_t waiting_for_ = 0;  // chunks, and one while they are being asked for
  Status status_;
  PrefetchReport report_;
  std::shared_ptr<Executor::Timer> timer_;
  std::vector<std::function<void(const Status&)>> on_done_;
};

}  // namespace edo::engine
