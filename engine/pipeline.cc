#include "engine/pipeline.h"

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends.h"
#include "engine/inner_table.h"
#include "engine/known_reads.h"

namespace edo {
namespace engine {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class PipelineImpl : public Pipeline {
 public:
  PipelineImpl(const InnerTable* table, KeySource source, const PipelineOptions& options,
               std::shared_ptr<kernels::Backend> device)
      : table_(table),
        source_(std::move(source)),
        options_(options),
        device_(std::move(device)),
        busy_before_(table->context().prefetcher->reads().busy_seconds()) {
    options_.lookup.out_stride = 0;
    options_.lookup.deadline.reset();
    if (options_.look_ahead > options_.depth && table->stored() != nullptr) {
      known_reads_.emplace(table->stored(), device_ != nullptr);
    }
  }

  ~PipelineImpl() override {
    lookup_.reset();  // waits for its work
    if (device_ != nullptr) device_->Free(device_values_, device_bytes_);
  }

  Result<bool> Next(PipelineBatch* batch) override;
  PipelineStats stats() const override {
    PipelineStats stats = stats_;
    stats.read_seconds = table_->context().prefetcher->reads().busy_seconds() - busy_before_;
    return stats;
  }

 private:
  struct Ahead {
    KeyBatch keys;
    std::unique_ptr<PrefetchTicket> ticket;  // null: not asked for yet, or could not be
    bool asked = false;
  };

  uint64_t BytesOf(const KeyBatch& keys) const {
    return keys.size() * uint64_t{ValuesOf(options_.lookup, table_->info())} *
           FloatTypeBytes(options_.lookup.out_type);
  }
  // Asks for keys and rows of the batches behind the current one.
  void ReadAhead();
  void TakeKeys();
  Result<std::unique_ptr<PrefetchTicket>> Ask(const KeyBatch& keys) const;
  Status Lookup(const KeyBatch& keys, LookupReport* report);
  Status LookupOnDevice(const KeyBatch& keys, LookupReport* report);

  const InnerTable* const table_;
  const KeySource source_;
  PipelineOptions options_;
  const std::shared_ptr<kernels::Backend> device_;  // null: rows go to the host
  const double busy_before_;

  Ahead current_;  // in the caller's hands; its rows stay pinned
  std::deque<Ahead> ahead_;
  std::optional<KnownReads> known_reads_;  // with a look-ahead
  bool source_done_ = false;
  Status source_error_;  // comes behind the batches that were there before it
  bool spent_ = false;
  uint64_t number_ = 0;
  std::vector<std::byte> values_;
  void* device_values_ = nullptr;
  uint64_t device_bytes_ = 0;
  std::unique_ptr<DeviceLookup> lookup_;  // of the current batch
  Clock::time_point returned_{};
  PipelineStats stats_;
};

Result<std::unique_ptr<PrefetchTicket>> PipelineImpl::Ask(const KeyBatch& keys) const {
  PrefetchOptions ahead;
  ahead.to_device = device_ != nullptr;
  // Not to wait for room that others hold: two loops would wait for each other.
  ahead.when_full = PrefetchOptions::WhenFull::kRefuse;
  if (!keys.rows.empty()) {
    return table_->PrefetchRows(keys.rows, ahead);
  }
  if (!keys.ids.empty()) {
    return table_->Prefetch(std::span<const int64_t>(keys.ids), ahead);
  }
  if (!keys.tokens.empty()) {
    const std::vector<std::string_view> tokens(keys.tokens.begin(), keys.tokens.end());
    return table_->Prefetch(std::span<const std::string_view>(tokens), ahead);
  }
  return std::unique_ptr<PrefetchTicket>();
}

void PipelineImpl::TakeKeys() {
  const size_t wanted = (known_reads_ ? options_.look_ahead : options_.depth) + size_t{1};
  while (!source_done_ && ahead_.size() < wanted) {
    Ahead next;
    Result<bool> more = source_(&next.keys);
    Status s = more.status();
    if (s.ok() && *more) {
      s = table_->CheckKeys(next.keys).WithContext("batch " +
                                                   std::to_string(number_ + ahead_.size()));
    }
    if (!s.ok() || !*more) {
      source_done_ = true;
      source_error_ = s;
      return;
    }
    if (known_reads_) known_reads_->Append(next.keys);
    ahead_.push_back(std::move(next));
  }
}

void PipelineImpl::ReadAhead() {
  TakeKeys();
  for (size_t i = 0; i < ahead_.size() && i <= options_.depth; ++i) {
    if (ahead_[i].asked) continue;
    Result<std::unique_ptr<PrefetchTicket>> ticket = Ask(ahead_[i].keys);
    // No room now: asked for again when there may be, and read in its turn if there is none then.
    if (ticket.status().code() == StatusCode::kBusy) return;
    ahead_[i].asked = true;
    // What prefetch_bytes can never hold is read when its turn comes, too.
    if (ticket.ok()) ahead_[i].ticket = std::move(*ticket);
  }
}

Status PipelineImpl::LookupOnDevice(const KeyBatch& keys, LookupReport* report) {
  const uint64_t bytes = BytesOf(keys);
  if (bytes > device_bytes_) {
    device_->Free(device_values_, device_bytes_);
    device_values_ = nullptr;
    device_bytes_ = 0;
    EDO_ASSIGN_OR_RETURN(device_values_, device_->Allocate(bytes));
    device_bytes_ = bytes;
  }
  void* const out = device_values_;
  if (!keys.ids.empty()) {
    EDO_ASSIGN_OR_RETURN(lookup_, table_->LookupOnDevice(std::span<const int64_t>(keys.ids),
                                                         options_.lookup, out, options_.stream));
  } else if (!keys.tokens.empty()) {
    const std::vector<std::string_view> tokens(keys.tokens.begin(), keys.tokens.end());
    EDO_ASSIGN_OR_RETURN(lookup_, table_->LookupOnDevice(std::span<const std::string_view>(tokens),
                                                         options_.lookup, out, options_.stream));
  } else {
    EDO_ASSIGN_OR_RETURN(
        lookup_, table_->LookupHostRowsOnDevice(keys.rows, options_.lookup, out, options_.stream));
  }
  return lookup_->Finish(report);
}

Status PipelineImpl::Lookup(const KeyBatch& keys, LookupReport* report) {
  if (device_ != nullptr) return LookupOnDevice(keys, report);
  values_.resize(BytesOf(keys));
  if (!keys.ids.empty()) {
    return table_->Lookup(std::span<const int64_t>(keys.ids), options_.lookup, values_.data(),
                          report);
  }
  if (!keys.tokens.empty()) {
    const std::vector<std::string_view> tokens(keys.tokens.begin(), keys.tokens.end());
    return table_->Lookup(std::span<const std::string_view>(tokens), options_.lookup,
                          values_.data(), report);
  }
  return table_->LookupRows(keys.rows, options_.lookup, values_.data(), report);
}

Result<bool> PipelineImpl::Next(PipelineBatch* batch) {
  if (number_ > 0 && !spent_) stats_.compute_seconds += Since(returned_);
  lookup_.reset();
  current_ = {};
  *batch = {};
  ReadAhead();
  if (ahead_.empty()) {
    spent_ = true;
    known_reads_.reset();
    if (!source_error_.ok()) return source_error_;
    return false;
  }
  current_ = std::move(ahead_.front());
  ahead_.pop_front();
  const Clock::time_point start = Clock::now();
  if (current_.ticket) {
    // What it could not read, the lookup will say.
    (void)current_.ticket->Wait();
    stats_.rows_staged += current_.ticket->report().staged;
    stats_.stall_seconds += Since(start);
  }
  const Clock::time_point ready = Clock::now();
  if (known_reads_) known_reads_->Advance();
  batch->status = Lookup(current_.keys, &batch->report);
  (current_.ticket || current_.keys.size() == 0 ? stats_.lookup_seconds : stats_.stall_seconds) +=
      Since(ready);
  batch->number = number_++;
  batch->keys = &current_.keys;
  batch->data = device_ != nullptr ? device_values_ : values_.data();
  if (device_ == nullptr && options_.lookup.out_type == FloatType::kF32) {
    batch->values = {reinterpret_cast<const float*>(values_.data()),
                     values_.size() / sizeof(float)};
  }
  ++stats_.batches;
  stats_.rows += current_.keys.size();
  returned_ = Clock::now();
  return true;
}

}  // namespace

Result<std::unique_ptr<Pipeline>> StartPipeline(const InnerTable* table, KeySource source,
                                                const PipelineOptions& options) {
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidArgument("table '" + table->info().name + "': " + what);
  };
  if (!source) return wrong("a pipeline without a source of keys");
  if (options.depth < 1 || options.depth > 64) {
    return wrong("pipeline depth " + std::to_string(options.depth) + "; allowed are 1 to 64");
  }
  LookupOptions lookup = options.lookup;
  lookup.out_stride = 0;
  EDO_RETURN_IF_ERROR(table->CheckOutput(lookup));
  std::shared_ptr<kernels::Backend> device;
  if (options.on_device) {
    EDO_ASSIGN_OR_RETURN(device, DeviceOf(table->context()));
  }
  return std::unique_ptr<Pipeline>(
      std::make_unique<PipelineImpl>(table, std::move(source), options, std::move(device)));
}

}  // namespace engine

KeySource KeysFrom(std::span<const std::vector<uint64_t>> batches_of_rows) {
  return [batches_of_rows, next = size_t{0}](KeyBatch* batch) mutable -> Result<bool> {
    if (next == batches_of_rows.size()) return false;
    batch->rows = batches_of_rows[next++];
    return true;
  };
}

}  // namespace edo
