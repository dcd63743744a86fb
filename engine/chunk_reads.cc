#include "engine/chunk_reads.h"

#include <algorithm>
#include <utility>

#include "storage/page_key.h"

namespace edo::engine {
namespace {

using storage::PageKind;
using storage::PageRequest;
using storage::PageView;

// Reads of one job on an executor that is not ours: others want its threads too.
constexpr uint64_t kReadsAJob = 1024;

Status Closed() { return Status::Cancelled("the store is being closed"); }

uint64_t IdOf(uint64_t generation, uint64_t number) {
  return storage::PageId(PageKind::kChunk, generation, number);
}

}  // namespace

const std::byte* StagedRows::Find(uint64_t row, uint32_t begin, uint32_t end) const {
  const auto first = rows.begin() + begin;
  const auto last = rows.begin() + end;
  const auto found = std::lower_bound(first, last, row);
  if (found == last || *found != row) return nullptr;
  return codes + static_cast<uint64_t>(found - rows.begin()) * row_bytes;
}

// The queue, as the row store reads it.
class ChunkReads::Stream : public storage::PageStream {
 public:
  Stream(ChunkReads* reads, const std::function<bool()>& go_on, uint64_t most)
      : reads_(reads), go_on_(go_on), most_(most) {}

  bool Next(PageRequest* request) override {
    while (taken_ < most_ && (!go_on_ || go_on_())) {
      uint64_t id = 0;
      std::vector<std::pair<std::shared_ptr<ChunkWaiter>, Status>> gone;
      bool wanted = false;
      {
        const std::lock_guard lock(reads_->mutex_);
        if (reads_->queue_.empty()) return false;
        id = reads_->queue_.front();
        reads_->queue_.pop_front();
        const auto found = reads_->entries_.find(id);
        if (found == reads_->entries_.end() || found->second.state != Entry::State::kQueued) {
          continue;
        }
        Entry& entry = found->second;
        std::erase_if(entry.waiters, [&](std::shared_ptr<ChunkWaiter>& waiter) {
          Status s = waiter->StillWanted();
          if (s.ok()) return false;
          gone.emplace_back(std::move(waiter), std::move(s));
          return true;
        });
        wanted = !entry.waiters.empty();
        --reads_->queued_;
        if (wanted) {
          entry.state = Entry::State::kReading;
          ++reads_->reading_;
        } else {
          entry.state = Entry::State::kHeld;
          reads_->EraseIfUnused(found);
          reads_->CountBusy(reads_->queued_ + reads_->reading_ > 0);
        }
      }
      for (auto& [waiter, status] : gone) {
        (void)waiter->OnChunk(storage::NumberOf(id), status, {});
        reads_->LetGo(std::move(waiter));
      }
      if (!wanted) continue;
      ++taken_;
      request->kind = PageKind::kChunk;
      request->generation = storage::GenerationOf(id);
      request->number = storage::NumberOf(id);
      return true;
    }
    return false;
  }

  void Done(const PageRequest& request, const Status& status, const PageView& page) override {
    reads_->Arrived(request.generation, request.number, storage::AsDamage(status), page);
  }

  uint64_t taken() const { return taken_; }

 private:
  ChunkReads* const reads_;
  const std::function<bool()>& go_on_;
  const uint64_t most_;
  uint64_t taken_ = 0;
};

void ChunkReads::CountBusy(bool busy) {
  const auto now = std::chrono::steady_clock::now();
  const bool was = busy_since_ != std::chrono::steady_clock::time_point();
  if (busy && !was) busy_since_ = now;
  if (!busy && was) {
    busy_seconds_ += std::chrono::duration<double>(now - busy_since_).count();
    busy_since_ = {};
  }
}

double ChunkReads::busy_seconds() const {
  const std::lock_guard lock(mutex_);
  double seconds = busy_seconds_;
  if (busy_since_ != std::chrono::steady_clock::time_point()) {
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - busy_since_).count();
  }
  return seconds;
}

void ChunkReads::Queue(uint64_t id, Entry* entry) {
  entry->state = Entry::State::kQueued;
  queue_.push_back(id);
  ++queued_;
}

void ChunkReads::EraseIfUnused(Entries::iterator entry) {
  if (entry->second.state != Entry::State::kHeld || !entry->second.holders.empty()) return;
  entries_.erase(entry);
  live_.fetch_sub(1, std::memory_order_release);
}

// Jobs to be handed to the executor once the mutex is free: it may be anyone's.
void ChunkReads::Schedule(std::vector<Executor::Work>* jobs) {
  while (jobs_ < most_jobs_ && queued_ > jobs_ * uint64_t{64}) {
    ++jobs_;
    jobs->push_back([self = shared_from_this()] { self->Work(); });
  }
}

void ChunkReads::Work() {
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    closed = closed_;
    if (!closed) ++working_;
  }
  if (closed) return;  // the row store may be gone
  {
    const std::function<bool()> always;
    Stream stream(this, always, executor_->own() ? UINT64_MAX : kReadsAJob);
    rows_->ReadStream(&stream);
  }
  Bury();
  std::vector<Executor::Work> jobs;
  {
    const std::lock_guard lock(mutex_);
    --jobs_;
    --working_;
    if (!closed_) Schedule(&jobs);
    changed_.notify_all();
  }
  for (auto& job : jobs) executor_->Run(std::move(job));
}

void ChunkReads::LetGo(std::shared_ptr<ChunkWaiter> waiter) {
  const std::lock_guard lock(mutex_);
  spent_.push_back(std::move(waiter));
}

void ChunkReads::Bury() {
  std::vector<std::shared_ptr<ChunkWaiter>> spent;  // destroyed without the mutex
  {
    const std::lock_guard lock(mutex_);
    spent.swap(spent_);
  }
}

uint64_t ChunkReads::Ask(uint64_t generation, std::span<const uint64_t> numbers,
                         const std::shared_ptr<ChunkWaiter>& waiter, const FromKept& from_kept) {
  uint64_t joined = 0;
  bool closed = false;
  std::vector<Executor::Work> jobs;
  {
    const std::lock_guard lock(mutex_);
    closed = closed_;
    std::vector<ChunkWaiter::Kept> kept;
    for (size_t i = 0; i < numbers.size() && !closed; ++i) {
      const uint64_t id = IdOf(generation, numbers[i]);
      const auto [found, is_new] = entries_.try_emplace(id);
      Entry& entry = found->second;
      if (is_new) {
        live_.fetch_add(1, std::memory_order_release);
      } else {
        ++joined;
        kept.clear();
        for (const Entry::Holder& holder : entry.holders) kept.push_back(holder.kept);
        if (!kept.empty()) {
          ChunkWaiter::Kept own = from_kept(i, kept);
          if (own.staged) {
            entry.holders.push_back({waiter.get(), std::move(own)});
            continue;
          }
        }
      }
      entry.waiters.push_back(waiter);
      if (is_new || entry.state == Entry::State::kHeld) Queue(id, &entry);
    }
    if (queued_ > 0) CountBusy(true);
    Schedule(&jobs);
  }
  if (closed) {
    for (const uint64_t number : numbers) (void)waiter->OnChunk(number, Closed(), {});
  }
  for (auto& job : jobs) executor_->Run(std::move(job));
  return joined;
}

void ChunkReads::Leave(uint64_t generation, std::span<const uint64_t> numbers,
                       const ChunkWaiter* waiter) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t number : numbers) {
    const auto found = entries_.find(IdOf(generation, number));
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    std::erase_if(entry.waiters, [&](const auto& other) { return other.get() == waiter; });
    std::erase_if(entry.holders, [&](const auto& holder) { return holder.waiter == waiter; });
    if (entry.state == Entry::State::kQueued && entry.waiters.empty()) {
      entry.state = Entry::State::kHeld;  // its place in the queue is passed over
      --queued_;
    }
    EraseIfUnused(found);
  }
  CountBusy(queued_ + reading_ > 0);
}

ChunkReads::Share ChunkReads::ShareOf(uint64_t generation, std::span<const uint64_t> numbers,
                                      const std::function<std::shared_ptr<ChunkWaiter>()>& waiter) {
  Share share;
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    const auto found = entries_.find(IdOf(generation, numbers[i]));
    if (found == entries_.end()) {
      share.mine.push_back(i);
      continue;
    }
    Entry& entry = found->second;
    if (!entry.holders.empty()) {
      share.ready.push_back({i, static_cast<uint32_t>(share.kept.size()),
                             static_cast<uint32_t>(entry.holders.size())});
      for (const Entry::Holder& holder : entry.holders) share.kept.push_back(holder.kept);
    } else if (entry.state == Entry::State::kQueued) {
      entry.state = Entry::State::kReading;
      --queued_;
      ++reading_;
      share.mine.push_back(i);
      share.taken.push_back(i);
    } else {
      entry.waiters.push_back(waiter());
      share.joined.push_back(i);
    }
  }
  return share;
}

// A chunk whose reader ran out of time, while others may still want it.
void ChunkReads::Requeue(uint64_t id) {
  std::vector<Executor::Work> jobs;
  std::vector<std::shared_ptr<ChunkWaiter>> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    --reading_;
    if (closed_) dropped.swap(found->second.waiters);
    if (found->second.waiters.empty()) {
      found->second.state = Entry::State::kHeld;
      EraseIfUnused(found);
    } else {
      Queue(id, &found->second);
      Schedule(&jobs);
    }
    CountBusy(queued_ + reading_ > 0);
    changed_.notify_all();
  }
  for (const auto& waiter : dropped) (void)waiter->OnChunk(storage::NumberOf(id), Closed(), {});
  for (auto& job : jobs) executor_->Run(std::move(job));
}

void ChunkReads::Arrived(uint64_t generation, uint64_t number, const Status& status,
                         const PageView& page) {
  const uint64_t id = IdOf(generation, number);
  std::vector<std::shared_ptr<ChunkWaiter>> waiters;
  std::vector<Entry::Holder> kept;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.state != Entry::State::kReading) return;
    if (status.code() != StatusCode::kDeadlineExceeded || closed_) {
      waiters.swap(found->second.waiters);
    }
  }
  if (waiters.empty() && status.code() == StatusCode::kDeadlineExceeded) return Requeue(id);
  for (;;) {
    for (const auto& waiter : waiters) {
      ChunkWaiter::Kept keeps = waiter->OnChunk(number, status, page);
      if (keeps.staged) kept.push_back({waiter.get(), std::move(keeps)});
    }
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    Entry& entry = found->second;
    for (Entry::Holder& holder : kept) {
      if (!holder.waiter->left()) entry.holders.push_back(std::move(holder));
    }
    kept.clear();
    for (auto& waiter : waiters) spent_.push_back(std::move(waiter));
    waiters.clear();
    waiters.swap(entry.waiters);  // whoever joined meanwhile
    if (!waiters.empty()) continue;
    entry.state = Entry::State::kHeld;
    --reading_;
    EraseIfUnused(found);
    CountBusy(queued_ + reading_ > 0);
    changed_.notify_all();
    return;
  }
}

bool ChunkReads::Help(const std::function<bool()>& go_on) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || queued_ == 0) return false;
    ++working_;
  }
  Stream stream(this, go_on, UINT64_MAX);
  rows_->ReadStream(&stream);
  Bury();
  const std::lock_guard lock(mutex_);
  --working_;
  changed_.notify_all();
  return stream.taken() > 0;
}

void ChunkReads::Close() {
  std::vector<std::pair<uint64_t, std::shared_ptr<ChunkWaiter>>> dropped;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    queue_.clear();
    for (auto it = entries_.begin(); it != entries_.end();) {
      const auto entry = it++;
      if (entry->second.state != Entry::State::kQueued) continue;
      for (auto& waiter : entry->second.waiters) {
        dropped.emplace_back(storage::NumberOf(entry->first), std::move(waiter));
      }
      entry->second.waiters.clear();
      entry->second.state = Entry::State::kHeld;
      --queued_;
      EraseIfUnused(entry);
    }
    changed_.wait(lock, [&] { return reading_ == 0 && working_ == 0; });
    CountBusy(false);
  }
  for (const auto& [number, waiter] : dropped) (void)waiter->OnChunk(number, Closed(), {});
  Bury();
}

}  // namespace edo::engine
