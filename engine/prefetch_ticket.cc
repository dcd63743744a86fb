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
    if (rows[i] < table_rows_) rows[kept++] = rows[i];
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

// Pins what the cache holds of the tier's `rows`; the rest is to be staged.
void PrefetchTicketState::TakeResident(std::span<const uint64_t> rows, Part* part) {
  gpucache::RowCache* const cache =
      on_device() ? context_->device_cache.get() : context_->cache.get();
  const gpucache::CachedTable* const place = PlaceOf(*part);
  std::vector<uint64_t> of_tier(rows.begin(), rows.end());
  for (uint64_t& row : of_tier) row -= part->record->first_row;
  std::vector<uint8_t> pinned;
  if (cache == nullptr || place == nullptr || !cache->Pin(*place, of_tier, &pinned).ok()) {
    pinned.assign(of_tier.size(), 0);
  }
  uint64_t kept = 0;
  for (size_t i = 0; i < of_tier.size(); ++i) {
    if (pinned[i]) {
      part->pinned.push_back(of_tier[i]);
    } else {
      of_tier[kept++] = of_tier[i];
    }
  }
  of_tier.resize(kept);
  part->staged = std::make_shared<StagedRows>();
  part->staged->row_bytes = part->record->info.row_bytes;
  part->staged->rows = std::move(of_tier);
}

Status PrefetchTicketState::MakeStaging(Part* part) {
  StagedRows& staged = *part->staged;
  const uint64_t bytes = staged.rows.size() * staged.row_bytes;
  if (bytes == 0) return Status::Ok();
  if (!on_device()) {
    auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
    staged.codes = memory.get();
    staged.memory = std::move(memory);
    return Status::Ok();
  }
  EDO_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceBuffers> buffers, DeviceBuffersOf(*context_));
  EDO_ASSIGN_OR_RETURN(auto taken, buffers->Take(bytes, 0));
  part->device_buffer = taken.get();
  staged.codes = taken->pinned;
  staged.memory = std::shared_ptr<DeviceBuffers::Buffer>(
      taken.release(), [buffers](DeviceBuffers::Buffer* buffer) {
        (void)buffers->backend().Synchronize(buffer->done);
        buffers->Give(std::unique_ptr<DeviceBuffers::Buffer>(buffer));
      });
  return Status::Ok();
}

void PrefetchTicketState::DivideByChunk(Part* part) {
  const uint64_t chunk_rows = part->record->info.chunk_rows;
  const std::vector<uint64_t>& rows = part->staged->rows;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const uint64_t chunk = rows[i] / chunk_rows;
    if (!part->chunks.empty() && part->chunks.back() == chunk) continue;
    part->chunks.push_back(chunk);
    part->begins.push_back(i);
  }
  part->begins.push_back(static_cast<uint32_t>(rows.size()));
}

void PrefetchTicketState::Resolve() {
  if (resolve_taken_.exchange(true)) return;
  uint64_t surplus = 0;
  {
    const std::lock_guard use(use_mutex_);
    if (left_ || done()) return;
    Result<std::vector<uint64_t>> rows = FindRows();
    if (!rows.ok()) return Complete(rows.status());
    Status s;
    ForEachTier(
        table_->tiers(), *rows, [&](const Tier& tier, size_t, std::span<const uint64_t> of_tier) {
          Part* const part =
              &parts_.emplace_back(this, static_cast<size_t>(&tier - table_->tiers().data()));
          TakeResident(of_tier, part);
          if (s.ok()) s = MakeStaging(part);
          DivideByChunk(part);
        });
    if (!s.ok()) return Complete(s);
    const std::lock_guard lock(mutex_);
    uint64_t bytes = 0;
    waiting_for_ = 1;
    for (Part& part : parts_) {
      report_.resident += part.pinned.size();
      bytes += part.staged->rows.size() * (part.staged->row_bytes + kTicketBytesAKey);
      part.arrived.assign(part.chunks.size(), 0);
      part.failed.assign(part.chunks.size(), 0);
      waiting_for_ += part.chunks.size();
    }
    if (!given_back_ && bytes < bytes_) {
      surplus = bytes_ - bytes;
      bytes_ = bytes;
    }
    asked_ = true;
  }
  prefetcher_->GiveBack(surplus);
  uint64_t chunks = 0, joined = 0;
  for (Part& part : parts_) {
    chunks += part.chunks.size();
    joined += Ask(&part);
  }
  {
    const std::lock_guard lock(mutex_);
    report_.chunks = chunks;
    report_.chunks_joined = joined;
  }
  Arrive(1);
}

// Asks for the chunks of a part; returns how many of them others had asked for.
uint64_t PrefetchTicketState::Ask(Part* part) {
  StagedRows& staged = *part->staged;
  const auto from_kept = [&](size_t i,
                             std::span<const ChunkWaiter::Kept> kept) -> ChunkWaiter::Kept {
    const uint32_t begin = part->begins[i];
    const uint32_t end = part->begins[i + 1];
    for (uint32_t r = begin; r < end; ++r) {
      const std::byte* codes = nullptr;
      for (const ChunkWaiter::Kept& k : kept) {
        codes = k.staged->Find(staged.rows[r], k.begin, k.end);
        if (codes != nullptr) break;
      }
      if (codes == nullptr) return {};
      std::memcpy(staged.codes + r * staged.row_bytes, codes, staged.row_bytes);
    }
    const std::lock_guard lock(mutex_);
    if (done_) return {};
    part->arrived[i] = 1;
    --waiting_for_;
    report_.staged += end - begin;
    return {part->staged, begin, end};
  };
  // The part lives as long as its ticket.
  const std::shared_ptr<ChunkWaiter> waiter(shared_from_this(), part);
  return prefetcher_->reads().Ask(part->record->info.generation, part->chunks, waiter, from_kept);
}

// ---- chunks to rows ----------------------------------------------------------------------------

ChunkWaiter::Kept PrefetchTicketState::OnChunk(Part* part, uint64_t number, const Status& status,
                                               const storage::PageView& page) {
  const std::vector<uint64_t>& chunks = part->chunks;
  const auto i =
      static_cast<size_t>(std::lower_bound(chunks.begin(), chunks.end(), number) - chunks.begin());
  const uint32_t begin = part->begins[i];
  const uint32_t end = part->begins[i + 1];
  const storage::TableRecord& record = *part->record;
  Status s = status;
  if (s.ok()) s = CheckChunk(record, number, page);
  ChunkWaiter::Kept kept;
  {
    const std::lock_guard lock(mutex_);
    if (done_ || part->arrived[i]) return {};
    part->arrived[i] = 1;
    if (s.ok()) {
      StagedRows& staged = *part->staged;
      const uint64_t row_bytes = staged.row_bytes;
      for (uint32_t r = begin; r < end; ++r) {
        const uint64_t slot = staged.rows[r] - number * record.info.chunk_rows;
        std::memcpy(staged.codes + r * row_bytes, page.payload.data() + slot * row_bytes,
                    row_bytes);
      }
      report_.staged += end - begin;
      kept = {part->staged, begin, end};
    } else {
      part->failed[i] = 1;
      report_.unread += end - begin;
      report_.failures.push_back(FailureOf(record, number, s));
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
    for (Part& part : parts_) {
      const Status s = CopyToCache(&part);
      // The rows lie ready on the host all the same.
      if (!s.ok()) {
        context_->Log(LogLevel::kWarning, "rows read ahead stay on the host: " + s.ToString());
      }
    }
  }
  Complete(Status::Ok());
}

// Copies staged rows to the device, offers them to its cache, and pins those that it took.
Status PrefetchTicketState::CopyToCache(Part* part) {
  if (PlaceOf(*part) == nullptr) return Status::Ok();
  for (size_t i = 0; i < part->chunks.size();) {
    if (part->failed[i]) {
      ++i;
      continue;
    }
    size_t last = i + 1;
    while (last < part->chunks.size() && !part->failed[last]) ++last;
    EDO_RETURN_IF_ERROR(CopyRun(part, part->begins[i], part->begins[last]));
    i = last;
  }
  return Status::Ok();
}

// Rows [begin, end) of the part's, all of which have arrived.
Status PrefetchTicketState::CopyRun(Part* part, uint32_t begin, uint32_t end) {
  const gpucache::CachedTable& place = *PlaceOf(*part);
  gpucache::RowCache& cache = *context_->device_cache;
  kernels::Backend& backend = *context_->device;
  const StagedRows& staged = *part->staged;
  const auto rows = std::span<const uint64_t>(staged.rows).subspan(begin, end - begin);
  const uint64_t first = begin * staged.row_bytes;
  const uint64_t bytes = rows.size() * staged.row_bytes;
  const std::byte* const codes = staged.codes + first;
  if (backend.synchronous()) {
    cache.Fill(place, rows, std::vector<std::byte>(codes, codes + bytes));
  } else {
    EDO_ASSIGN_OR_RETURN(const kernels::Stream stream, CopyStreamOf(*context_));
    DeviceBuffers::Buffer* const buffer = part->device_buffer;
    std::byte* const on_device = buffer->device + first;
    EDO_RETURN_IF_ERROR(backend.CopyToDevice(on_device, codes, bytes, stream));
    const Status filled = cache.FillFromDevice(place, rows, on_device, stream);
    EDO_RETURN_IF_ERROR(backend.Record(buffer->done, stream));
    EDO_RETURN_IF_ERROR(filled);
  }
  std::vector<uint8_t> pinned;
  EDO_RETURN_IF_ERROR(cache.Pin(place, rows, &pinned));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (pinned[i]) part->pinned.push_back(rows[i]);
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
  std::vector<std::pair<const Part*, std::vector<uint64_t>>> pending;
  bool was_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    was_waiting = !admitted_;
    for (size_t p = 0; asked_ && p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      std::vector<uint64_t>& chunks = pending.emplace_back(&part, std::vector<uint64_t>()).second;
      for (size_t i = 0; i < part.arrived.size(); ++i) {
        if (part.arrived[i]) continue;
        chunks.push_back(part.chunks[i]);
        report_.unread += part.begins[i + 1] - part.begins[i];
      }
    }
  }
  Complete(status);
  for (const auto& [part, chunks] : pending) {
    prefetcher_->reads().Leave(part->record->info.generation, chunks, part);
  }
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
    for (const Part& part : parts_) {
      if (part.pinned.empty()) continue;
      gpucache::RowCache& cache = on_device() ? *context_->device_cache : *context_->cache;
      const Status s = cache.Unpin(*PlaceOf(part), part.pinned);
      if (!s.ok()) context_->Log(LogLevel::kWarning, s.ToString());
    }
    const std::lock_guard lock(mutex_);
    bytes = admitted_ ? bytes_ : 0;
    given_back_ = true;
  }
  for (const Part& part : parts_) {
    prefetcher_->reads().Leave(part.record->info.generation, part.chunks, &part);
  }
  prefetcher_->Forget(this);
  prefetcher_->GiveBack(bytes);
}

}  // namespace edo::engine
