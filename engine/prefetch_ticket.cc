#include "engine/prefetch_ticket.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "engine/backends.h"
#include "engine/lookup.h"

namespace edo::engine {

// ---- keys to chunks ----------------------------------------------------------------------------

Result<std::vector<uint64_t>> PrefetchTicketState::FindRows() {
  std::vector<uint64_t> rows;
  std::vector<ReadFailure> failures;
  std::vector<uint8_t> unread;
  if (!keys_.rows.empty()) {
    rows = std::move(keys_.rows);
  } else {
    LookupOptions lookup;
    lookup.deadline = options_.deadline;
    Result<Resolved> found =
        keys_.tokens.empty()
            ? table_->Resolve(std::span<const int64_t>(keys_.ids), lookup)
            : table_->Resolve(
                  std::vector<std::string_view>(keys_.tokens.begin(), keys_.tokens.end()), lookup);
    if (!found.ok()) return found.status();
    rows.assign(found->rows.begin(), found->rows.end());
    failures = std::move(found->failures);
    unread = std::move(found->unread);
    context_->counters.key_pages_read.fetch_add(found->pages_read, std::memory_order_relaxed);
  }
  keys_ = {};
  uint64_t lost = 0;
  uint64_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    lost += !unread.empty() && unread[i];
    if (rows[i] < record().info.rows) rows[kept++] = rows[i];
  }
  {
    const std::lock_guard lock(mutex_);
    report_.missing = rows.size() - kept - lost;
    report_.unread += lost;
    report_.failures = std::move(failures);
  }
  rows.resize(kept);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Pins what the cache holds; the rest is to be staged.
void PrefetchTicketState::TakeResident(std::vector<uint64_t> rows) {
  gpucache::RowCache* const cache =
      on_device() ? context_->device_cache.get() : context_->cache.get();
  const gpucache::CachedTable* const place =
      on_device() ? table_->places().device.get() : table_->places().host.get();
  std::vector<uint8_t> pinned;
  if (cache == nullptr || place == nullptr || !cache->Pin(*place, rows, &pinned).ok()) {
    pinned.assign(rows.size(), 0);
  }
  uint64_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (pinned[i]) {
      pinned_.push_back(rows[i]);
    } else {
      rows[kept++] = rows[i];
    }
  }
  rows.resize(kept);
  staged_ = std::make_shared<StagedRows>();
  staged_->row_bytes = record().info.row_bytes;
  staged_->rows = std::move(rows);
}

Status PrefetchTicketState::MakeStaging() {
  const uint64_t bytes = staged_->rows.size() * staged_->row_bytes;
  if (bytes == 0) return Status::Ok();
  if (!on_device()) {
    auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
    staged_->codes = memory.get();
    staged_->memory = std::move(memory);
    return Status::Ok();
  }
  EDO_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceBuffers> buffers, DeviceBuffersOf(*context_));
  EDO_ASSIGN_OR_RETURN(auto taken, buffers->Take(bytes, 0));
  device_buffer_ = taken.get();
  staged_->codes = taken->pinned;
  staged_->memory = std::shared_ptr<DeviceBuffers::Buffer>(
      taken.release(), [buffers](DeviceBuffers::Buffer* buffer) {
        (void)buffers->backend().Synchronize(buffer->done);
        buffers->Give(std::unique_ptr<DeviceBuffers::Buffer>(buffer));
      });
  return Status::Ok();
}

void PrefetchTicketState::DivideByChunk() {
  const uint64_t chunk_rows = record().info.chunk_rows;
  for (uint32_t i = 0; i < staged_->rows.size(); ++i) {
    const uint64_t chunk = staged_->rows[i] / chunk_rows;
    if (!chunks_.empty() && chunks_.back() == chunk) continue;
    chunks_.push_back(chunk);
    begins_.push_back(i);
  }
  begins_.push_back(static_cast<uint32_t>(staged_->rows.size()));
}

void PrefetchTicketState::Resolve() {
  if (resolve_taken_.exchange(true)) return;
  uint64_t surplus = 0;
  {
    const std::lock_guard use(use_mutex_);
    if (left_ || done()) return;
    Result<std::vector<uint64_t>> rows = FindRows();
    if (!rows.ok()) return Complete(rows.status());
    TakeResident(std::move(*rows));
    const Status s = MakeStaging();
    if (!s.ok()) return Complete(s);
    DivideByChunk();
    const std::lock_guard lock(mutex_);
    report_.resident = pinned_.size();
    const uint64_t bytes = staged_->rows.size() * (staged_->row_bytes + kTicketBytesAKey);
    if (!given_back_ && bytes < bytes_) {
      surplus = bytes_ - bytes;
      bytes_ = bytes;
    }
    arrived_.assign(chunks_.size(), 0);
    failed_.assign(chunks_.size(), 0);
    waiting_for_ = chunks_.size() + 1;
  }
  prefetcher_->GiveBack(surplus);
  const auto from_kept = [&](size_t i, std::span<const Kept> kept) -> Kept {
    for (uint32_t r = begins_[i]; r < begins_[i + 1]; ++r) {
      const std::byte* codes = nullptr;
      for (const Kept& k : kept) {
        codes = k.staged->Find(staged_->rows[r], k.begin, k.end);
        if (codes != nullptr) break;
      }
      if (codes == nullptr) return {};
      std::memcpy(staged_->codes + r * staged_->row_bytes, codes, staged_->row_bytes);
    }
    const std::lock_guard lock(mutex_);
    if (done_) return {};
    arrived_[i] = 1;
    --waiting_for_;
    report_.staged += begins_[i + 1] - begins_[i];
    return {staged_, begins_[i], begins_[i + 1]};
  };
  const uint64_t joined =
      prefetcher_->reads().Ask(record().info.generation, chunks_, shared_from_this(), from_kept);
  {
    const std::lock_guard lock(mutex_);
    report_.chunks = chunks_.size();
    report_.chunks_joined = joined;
  }
  Arrive(1);
}

// ---- chunks to rows ----------------------------------------------------------------------------

ChunkWaiter::Kept PrefetchTicketState::OnChunk(uint64_t number, const Status& status,
                                               const storage::PageView& page) {
  const size_t i = static_cast<size_t>(std::lower_bound(chunks_.begin(), chunks_.end(), number) -
                                       chunks_.begin());
  const uint32_t begin = begins_[i];
  const uint32_t end = begins_[i + 1];
  Status s = status;
  if (s.ok()) s = CheckChunk(record(), number, page);
  Kept kept;
  {
    const std::lock_guard lock(mutex_);
    if (done_ || arrived_[i]) return {};
    arrived_[i] = 1;
    if (s.ok()) {
      const uint64_t row_bytes = staged_->row_bytes;
      for (uint32_t r = begin; r < end; ++r) {
        const uint64_t slot = staged_->rows[r] - number * record().info.chunk_rows;
        std::memcpy(staged_->codes + r * row_bytes, page.payload.data() + slot * row_bytes,
                    row_bytes);
      }
      report_.staged += end - begin;
      kept = {staged_, begin, end};
    } else {
      failed_[i] = 1;
      report_.unread += end - begin;
      report_.failures.push_back(FailureOf(record(), number, s));
    }
  }
  if (s.ok()) context_->counters.chunks_read.fetch_add(1, std::memory_order_relaxed);
  Arrive(1);
  return kept;
}

void PrefetchTicketState::Arrive(uint64_t chunks) {
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    waiting_for_ -= chunks;
    if (waiting_for_ > 0) return;
    copying_ = on_device();
    changed_.notify_all();
  }
  if (!on_device()) return Complete(Status::Ok());
  RunSoon(&PrefetchTicketState::CopyUp);
}

void PrefetchTicketState::CopyUp() {
  if (copy_taken_.exchange(true)) return;
  {
    const std::lock_guard use(use_mutex_);
    if (left_ || done()) return;
    const Status s = CopyToCache();
    // The rows lie ready on the host all the same.
    if (!s.ok()) {
      context_->Log(LogLevel::kWarning, "rows read ahead stay on the host: " + s.ToString());
    }
  }
  Complete(Status::Ok());
}

// Copies staged rows to the device, offers them to its cache, and pins those that it took.
Status PrefetchTicketState::CopyToCache() {
  const auto& place = table_->places().device;
  if (place == nullptr) return Status::Ok();
  for (size_t i = 0; i < chunks_.size();) {
    if (failed_[i]) {
      ++i;
      continue;
    }
    size_t last = i + 1;
    while (last < chunks_.size() && !failed_[last]) ++last;
    EDO_RETURN_IF_ERROR(CopyRun(begins_[i], begins_[last]));
    i = last;
  }
  return Status::Ok();
}

// Rows [begin, end) of staged_, all of which have arrived.
Status PrefetchTicketState::CopyRun(uint32_t begin, uint32_t end) {
  const gpucache::CachedTable& place = *table_->places().device;
  gpucache::RowCache& cache = *context_->device_cache;
  kernels::Backend& backend = *context_->device;
  const auto rows = std::span<const uint64_t>(staged_->rows).subspan(begin, end - begin);
  const uint64_t first = begin * staged_->row_bytes;
  const uint64_t bytes = rows.size() * staged_->row_bytes;
  const std::byte* const codes = staged_->codes + first;
  if (backend.synchronous()) {
    cache.Fill(place, rows, std::vector<std::byte>(codes, codes + bytes));
  } else {
    EDO_ASSIGN_OR_RETURN(const kernels::Stream stream, CopyStreamOf(*context_));
    std::byte* const on_device = device_buffer_->device + first;
    EDO_RETURN_IF_ERROR(backend.CopyToDevice(on_device, codes, bytes, stream));
    const Status filled = cache.FillFromDevice(place, rows, on_device, stream);
    EDO_RETURN_IF_ERROR(backend.Record(device_buffer_->done, stream));
    EDO_RETURN_IF_ERROR(filled);
  }
  std::vector<uint8_t> pinned;
  EDO_RETURN_IF_ERROR(cache.Pin(place, rows, &pinned));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (pinned[i]) pinned_.push_back(rows[i]);
  }
  return Status::Ok();
}

// ---- the end -----------------------------------------------------------------------------------

void PrefetchTicketState::Complete(const Status& status) {
  Status end;
  std::shared_ptr<Executor::Timer> timer;
  std::vector<std::function<void(const Status&)>> calls;
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    status_ = status;
    if (status_.ok() && !report_.failures.empty()) {
      const Status& s = WorstOf(report_.failures);
      status_ = Status(s.code(), std::string(s.message()) + " [" + std::to_string(report_.unread) +
                                     " rows of this prefetch are unread]");
    }
    end = status_;
    timer = std::move(timer_);
    calls.swap(on_done_);
    changed_.notify_all();
  }
  Executor::Drop(timer);
  for (auto& call : calls) {
    prefetcher_->executor().Run([call = std::move(call), end] { call(end); });
  }
}

void PrefetchTicketState::OnDone(std::function<void(const Status&)> call) {
  if (!call) return;
  Status end;
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return on_done_.push_back(std::move(call));
    end = status_;
  }
  prefetcher_->executor().Run([call = std::move(call), end] { call(end); });
}

void PrefetchTicketState::End(const Status& status) {
  std::vector<uint64_t> pending;
  bool was_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    was_waiting = !admitted_;
    for (size_t i = 0; i < arrived_.size(); ++i) {
      if (arrived_[i]) continue;
      pending.push_back(chunks_[i]);
      report_.unread += begins_[i + 1] - begins_[i];
    }
  }
  Complete(status);
  prefetcher_->reads().Leave(record().info.generation, pending, this);
  if (was_waiting) prefetcher_->Admit();  // the one behind it may fit
}

Status PrefetchTicketState::Wait() {
  for (;;) {
    bool resolve = false;
    bool copy = false;
    {
      std::unique_lock lock(mutex_);
      if (done_) return status_;
      resolve = admitted_ && !resolve_taken_;
      copy = copying_ && !copy_taken_;
      if (!admitted_) {
        const auto go_on = [&] { return done_ || admitted_; };
        if (!options_.deadline) {
          changed_.wait(lock, go_on);
          continue;
        }
        if (changed_.wait_until(lock, *options_.deadline, go_on)) continue;
      }
    }
    if (options_.deadline && std::chrono::steady_clock::now() >= *options_.deadline) {
      Expire();
      continue;
    }
    if (resolve) {
      Resolve();
    } else if (copy) {
      CopyUp();
    } else if (!prefetcher_->reads().Help([&] { return !done(); })) {
      // Others are at it. Looked at again now and then, since what they were reading can come back
      // to the queue.
      std::unique_lock lock(mutex_);
      auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      if (options_.deadline) until = std::min(until, *options_.deadline);
      changed_.wait_until(lock, until, [&] { return done_ || (copying_ && !copy_taken_); });
    }
  }
}

void PrefetchTicketState::Release() {
  End(Status::Cancelled("the prefetch was given up"));
  uint64_t bytes = 0;
  {
    const std::lock_guard use(use_mutex_);
    left_ = true;
    if (!pinned_.empty()) {
      gpucache::RowCache& cache = on_device() ? *context_->device_cache : *context_->cache;
      const auto& place = on_device() ? table_->places().device : table_->places().host;
      const Status s = cache.Unpin(*place, pinned_);
      if (!s.ok()) context_->Log(LogLevel::kWarning, s.ToString());
    }
    const std::lock_guard lock(mutex_);
    bytes = admitted_ ? bytes_ : 0;
    given_back_ = true;
  }
  prefetcher_->reads().Leave(record().info.generation, chunks_, this);
  prefetcher_->Forget(this);
  prefetcher_->GiveBack(bytes);
}

}  // namespace edo::engine
