#include "engine/prefetcher.h"

#include <utility>

#include "engine/backends.h"
#include "engine/prefetch_ticket.h"
#include "engine/table_impl.h"

namespace edo::engine {

namespace {

class Ticket : public PrefetchTicket {
 public:
  explicit Ticket(std::shared_ptr<PrefetchTicketState> state) : state_(std::move(state)) {}
  ~Ticket() override { state_->Release(); }
  bool IsReady() const override { return state_->done(); }
  Status Wait() override { return state_->Wait(); }
  void OnDone(std::function<void(const Status&)> call) override { state_->OnDone(std::move(call)); }
  void Cancel() override { state_->Cancel(); }
  void Expire() override { state_->Expire(); }
  PrefetchReport report() const override { return state_->report(); }

 private:
  const std::shared_ptr<PrefetchTicketState> state_;
};

}  // namespace

Prefetcher::Prefetcher(const storage::RowStore* rows, const StoreOptions& options)
    : most_bytes_(options.prefetch_bytes),
      // One more: while all others read, it turns the keys of the next ticket into chunks.
      executor_(options.executor, options.prefetch_threads + 1),
      reads_(std::make_shared<ChunkReads>(rows, &executor_, options.prefetch_threads)) {}

Prefetcher::~Prefetcher() { Close(); }

Result<std::unique_ptr<PrefetchTicket>> Prefetcher::Start(const TableImpl* table, KeyBatch keys,
                                                          const PrefetchOptions& options) {
  const TableInfo& info = table->info();
  if (options.to_device) EDO_RETURN_IF_ERROR(DeviceOf(table->context()).status());
  const uint64_t bytes = keys.size() * (LargestRowBytes(info) + kTicketBytesAKey);
  if (bytes > most_bytes_) {
    return Status::InvalidArgument("table '" + info.name + "': a prefetch of " +
                                   std::to_string(keys.size()) + " keys may need " +
                                   std::to_string(bytes) + " bytes; prefetch_bytes is " +
                                   std::to_string(most_bytes_));
  }
  auto state = std::make_shared<PrefetchTicketState>(this, table, std::move(keys), options, bytes);
  bool begin = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return Status::Cancelled("the store is being closed");
    begin = waiting_.empty() && bytes_ + bytes <= most_bytes_;
    if (!begin && options.when_full == PrefetchOptions::WhenFull::kRefuse) {
      return Status::Busy("table '" + info.name + "': a prefetch needs " + std::to_string(bytes) +
                          " bytes; " + std::to_string(bytes_) + " of " +
                          std::to_string(most_bytes_) + " (prefetch_bytes) are held by others");
    }
    live_.insert(state.get());
    if (begin) {
      (void)state->Admit();
      bytes_ += bytes;
    } else {
      waiting_.push_back(state);
    }
  }
  auto ticket = std::make_unique<Ticket>(state);
  state->WatchDeadline();
  if (begin) state->Begin();
  return std::unique_ptr<PrefetchTicket>(std::move(ticket));
}

std::shared_ptr<PrefetchTicketState> Prefetcher::NextAdmitted() {
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty()) {
    auto state = waiting_.front().lock();
    if (state != nullptr && !state->done() && bytes_ + state->bytes() > most_bytes_) {
      return nullptr;
    }
    waiting_.pop_front();
    if (state != nullptr && state->Admit()) {
      bytes_ += state->bytes();
      return state;
    }
  }
  return nullptr;
}

void Prefetcher::Admit() {
  while (const auto state = NextAdmitted()) state->Begin();
}

void Prefetcher::GiveBack(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
  }
  Admit();
}

void Prefetcher::Forget(PrefetchTicketState* ticket) {
  const std::lock_guard lock(mutex_);
  live_.erase(ticket);
}

uint64_t Prefetcher::bytes_held() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Prefetcher::Close() {
  std::vector<std::shared_ptr<PrefetchTicketState>> tickets;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    for (PrefetchTicketState* const state : live_) {
      if (auto held = state->weak_from_this().lock()) tickets.push_back(std::move(held));
    }
    waiting_.clear();
  }
  for (const auto& ticket : tickets) ticket->End(Status::Cancelled("the store is being closed"));
  for (const auto& ticket : tickets) ticket->Settle();
  reads_->Close();
  executor_.Close();
}

}  // namespace edo::engine
