// The loops of a composed table, and the ticket over its parts' tickets.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <mutex>
#include <string>
#include <utility>

#include "engine/backends.h"
#include "engine/composed_table.h"
#include "engine/lookup.h"
#include "kernels/float_convert.h"

namespace edo::engine {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What failed worst: damage before a deadline or a cancellation.
void Worsen(Status* status, const Status& other) {
  const auto weight = [](const Status& s) {
    if (s.ok()) return 0;
    if (s.code() == StatusCode::kCancelled) return 1;
    return s.code() == StatusCode::kDeadlineExceeded ? 2 : 3;
  };
  if (weight(other) > weight(*status)) *status = other;
}

class JointTicket final : public PrefetchTicket {
 public:
  JointTicket(std::vector<std::unique_ptr<PrefetchTicket>> tickets, uint64_t keys, uint64_t missing)
      : tickets_(std::move(tickets)), keys_(keys), missing_(missing) {}

  bool IsReady() const override {
    return std::all_of(tickets_.begin(), tickets_.end(),
                       [](const auto& t) { return t->IsReady(); });
  }
  Status Wait() override {
    Status worst;
    for (const auto& ticket : tickets_) Worsen(&worst, ticket->Wait());
    return worst;
  }
  void OnDone(std::function<void(const Status&)> call) override {
    if (!call) return;
    struct Joint {
      std::mutex mutex;
      size_t left;  // guarded by mutex, as is the next
      Status worst;
      std::function<void(const Status&)> call;
    };
    auto joint = std::make_shared<Joint>();
    joint->left = tickets_.size();
    joint->call = std::move(call);
    for (const auto& ticket : tickets_) {
      ticket->OnDone([joint](const Status& status) {
        {
          const std::lock_guard lock(joint->mutex);
          Worsen(&joint->worst, status);
          if (--joint->left > 0) return;
        }
        joint->call(joint->worst);
      });
    }
  }
  void Cancel() override {
    for (const auto& ticket : tickets_) ticket->Cancel();
  }
  void Expire() override {
    for (const auto& ticket : tickets_) ticket->Expire();
  }
  PrefetchReport report() const override {
    if (!IsReady()) return {};
    PrefetchReport sum;
    sum.keys = keys_;
    sum.missing = missing_;
    for (const auto& ticket : tickets_) {
      const PrefetchReport part = ticket->report();
      sum.resident += part.resident;
      sum.staged += part.staged;
      sum.unread += part.unread;
      sum.chunks += part.chunks;
      sum.chunks_joined += part.chunks_joined;
      for (const ReadFailure& failure : part.failures) {
        sum.failures.push_back({failure.status, 0, 0});
      }
    }
    return sum;
  }

 private:
  const std::vector<std::unique_ptr<PrefetchTicket>> tickets_;
  const uint64_t keys_, missing_;
};

class ComposedPipeline final : public Pipeline {
 public:
  ComposedPipeline(const ComposedTable* table, KeySource source, const PipelineOptions& options,
                   std::shared_ptr<kernels::Backend> device)
      : table_(table),
        source_(std::move(source)),
        options_(options),
        device_(std::move(device)),
        busy_before_(table->context().prefetcher->reads().busy_seconds()) {
    options_.lookup.out_stride = 0;
    options_.lookup.deadline.reset();
  }
  ~ComposedPipeline() override {
    lookup_.reset();
    if (device_ != nullptr) device_->Free(device_values_, device_bytes_);
  }

  Result<bool> Next(PipelineBatch* batch) override {
    if (number_ > 0 && !spent_) stats_.compute_seconds += Since(returned_);
    lookup_.reset();
    current_ = {};
    *batch = {};
    ReadAhead();
    if (ahead_.empty()) {
      spent_ = true;
      if (!source_error_.ok()) return source_error_;
      return false;
    }
    current_ = std::move(ahead_.front());
    ahead_.pop_front();
    const Clock::time_point start = Clock::now();
    if (current_.ticket) {
      (void)current_.ticket->Wait();  // what it could not read, the lookup will say
      stats_.rows_staged += current_.ticket->report().staged;
      stats_.stall_seconds += Since(start);
    }
    const Clock::time_point ready = Clock::now();
    batch->status = Lookup(&batch->report);
    (current_.ticket ? stats_.lookup_seconds : stats_.stall_seconds) += Since(ready);
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

  void ReadAhead() {
    while (!source_done_ && ahead_.size() <= options_.depth) {
      Ahead next;
      Result<bool> more = source_(&next.keys);
      Status s = more.status();
      if (s.ok() && *more) {
        s = table_->KeysOf(next.keys, options_.lookup)
                .status()
                .WithContext("batch " + std::to_string(number_ + ahead_.size()));
      }
      if (!s.ok() || !*more) {
        source_done_ = true;
        source_error_ = s;
        break;
      }
      ahead_.push_back(std::move(next));
    }
    PrefetchOptions options;
    options.when_full = PrefetchOptions::WhenFull::kRefuse;
    for (Ahead& batch : ahead_) {
      if (batch.asked || batch.keys.size() == 0) continue;
      auto ticket = batch.keys.rows.empty()
                        ? table_->Prefetch(std::span<const int64_t>(batch.keys.ids), options)
                        : table_->PrefetchRows(batch.keys.rows, options);
      if (ticket.status().code() == StatusCode::kBusy) return;  // asked for again
      batch.asked = true;
      if (ticket.ok()) batch.ticket = std::move(*ticket);
    }
  }

  Status Lookup(LookupReport* report) {
    const KeyBatch& keys = current_.keys;
    const uint64_t bytes = keys.size() * uint64_t{table_->ValuesOf(options_.lookup)} *
                           FloatTypeBytes(options_.lookup.out_type);
    if (device_ == nullptr) {
      values_.resize(bytes);
      if (keys.rows.empty()) {
        return table_->Lookup(std::span<const int64_t>(keys.ids), options_.lookup, values_.data(),
                              report);
      }
      return table_->LookupRows(keys.rows, options_.lookup, values_.data(), report);
    }
    if (bytes > device_bytes_) {
      device_->Free(device_values_, device_bytes_);
      device_values_ = nullptr;
      device_bytes_ = 0;
      EDO_ASSIGN_OR_RETURN(device_values_, device_->Allocate(bytes));
      device_bytes_ = bytes;
    }
    // Row numbers of a composed table are its keys. (A padding id is for keys, not for rows.)
    LookupOptions options = options_.lookup;
    if (!keys.rows.empty()) options.padding_id.reset();
    const std::vector<int64_t> rows(keys.rows.begin(), keys.rows.end());
    EDO_ASSIGN_OR_RETURN(
        lookup_, table_->LookupOnDevice(std::span<const int64_t>(rows.empty() ? keys.ids : rows),
                                        options, device_values_, options_.stream));
    return lookup_->Finish(report);
  }

  const ComposedTable* const table_;
  const KeySource source_;
  PipelineOptions options_;
  const std::shared_ptr<kernels::Backend> device_;  // null: rows go to the host
  const double busy_before_;
  Ahead current_;
  std::deque<Ahead> ahead_;
  bool source_done_ = false;
  Status source_error_;  // comes behind the batches that were there before it
  bool spent_ = false;
  uint64_t number_ = 0;
  std::vector<std::byte> values_;
  void* device_values_ = nullptr;
  uint64_t device_bytes_ = 0;
  std::unique_ptr<DeviceLookup> lookup_;
  Clock::time_point returned_{};
  PipelineStats stats_;
};

// Windows of the stream, composed with each chunk read once a window; the next one is read while
// one is handed out.
class ComposedBulk {
 public:
  ComposedBulk(const ComposedTable& table, const KeySource& source, const BulkOptions& options,
               const BulkSink& sink)
      : table_(table), source_(source), options_(options), sink_(sink) {
    options_.lookup.out_stride = 0;
    options_.lookup.deadline.reset();
    width_ = table.ValuesOf(options_.lookup);
  }

  Status Run() {
    EDO_RETURN_IF_ERROR(table_.CheckOutput(options_.lookup));
    EDO_ASSIGN_OR_RETURN(std::unique_ptr<Window> window, ReadWindow());
    while (window != nullptr) {
      std::future<Result<std::unique_ptr<Window>>> next =
          std::async(std::launch::async, [this] { return ReadWindow(); });
      EDO_RETURN_IF_ERROR(HandOut(*window));
      window.reset();
      EDO_ASSIGN_OR_RETURN(window, next.get());
    }
    report_.complete = true;
    if (unread_.ok()) return Status::Ok();
    return Status(unread_.code(), std::string(unread_.message()) + " [" +
                                      std::to_string(report_.unread) + " of " +
                                      std::to_string(report_.keys) + " rows are unread]");
  }
  BulkReport& report() { return report_; }

 private:
  struct Part {
    std::shared_ptr<const KeyBatch> batch;
    uint64_t first_in_batch = 0;
    uint64_t first = 0;  // in the window
    uint64_t count = 0;
  };
  struct Window {
    std::vector<Part> parts;
    ComposedTable::Keys keys;
    std::vector<float> values;
    std::vector<ReadFailure> failures;
    uint64_t chunks = 0;
  };

  // Null behind the last key.
  Result<std::unique_ptr<Window>> ReadWindow() {
    auto window = std::make_unique<Window>();
    const uint64_t bytes_a_key = 72 + uint64_t{width_} * 4;
    const uint64_t most = std::clamp<uint64_t>(options_.window_bytes / 2 / bytes_a_key, 1, 1 << 23);
    while (window->keys.ids.size() < most) {
      if (batch_ == nullptr || used_ == batch_->size()) {
        if (source_done_) break;
        auto batch = std::make_shared<KeyBatch>();
        Result<bool> more = source_(batch.get());
        Status s = more.status();
        if (s.ok() && *more) {
          Result<ComposedTable::Keys> keys = table_.KeysOf(*batch, options_.lookup);
          s = keys.status();
          if (s.ok()) batch_keys_ = std::move(*keys);
        }
        if (!s.ok() || !*more) {
          source_done_ = true;
          source_error_ = s;
          break;
        }
        batch_ = std::move(batch);
        used_ = 0;
        continue;
      }
      const uint64_t first = window->keys.ids.size();
      const uint64_t count = std::min(batch_->size() - used_, most - first);
      const auto from = static_cast<ptrdiff_t>(used_), to = static_cast<ptrdiff_t>(used_ + count);
      window->keys.ids.insert(window->keys.ids.end(), batch_keys_.ids.begin() + from,
                              batch_keys_.ids.begin() + to);
      window->keys.states.insert(window->keys.states.end(), batch_keys_.states.begin() + from,
                                 batch_keys_.states.begin() + to);
      window->parts.push_back({batch_, used_, first, count});
      used_ += count;
    }
    if (window->parts.empty()) {
      if (!source_error_.ok()) return source_error_;
      return std::unique_ptr<Window>();
    }
    window->values.resize(window->keys.ids.size() * width_);
    EDO_RETURN_IF_ERROR(table_.Compose(&window->keys, options_.lookup, true, window->values.data(),
                                       &window->failures, &window->chunks));
    for (size_t i = 0; i < window->keys.states.size(); ++i) {
      if (window->keys.states[i] == RowState::kFound) continue;
      std::fill_n(window->values.begin() + static_cast<ptrdiff_t>(i * width_), width_, 0.0f);
    }
    return window;
  }

  Status HandOut(const Window& window) {
    ++report_.windows;
    report_.chunks += window.chunks;
    if (unread_.ok() && !window.failures.empty()) unread_ = WorstOf(window.failures);
    for (const ReadFailure& failure : window.failures) {
      if (report_.failures.size() < 100) report_.failures.push_back(failure);
    }
    for (const Part& part : window.parts) {
      for (uint64_t begin = 0; begin < part.count; begin += 4096) {
        EDO_RETURN_IF_ERROR(
            HandOut(window, part, begin, std::min<uint64_t>(4096, part.count - begin)));
      }
    }
    return Status::Ok();
  }

  Status HandOut(const Window& window, const Part& part, uint64_t begin, uint64_t count) {
    const uint64_t first = part.first + begin;
    BulkRows rows;
    rows.first = report_.keys;
    rows.count = count;
    rows.values_a_row = width_;
    const std::span<const float> values =
        std::span(window.values).subspan(first * width_, count * width_);
    if (options_.lookup.out_type == FloatType::kF32) {
      rows.values = values;
      rows.data = values.data();
    } else {
      half_.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        half_[i] = options_.lookup.out_type == FloatType::kF16 ? kernels::F32ToF16(values[i])
                                                               : kernels::F32ToBF16(values[i]);
      }
      rows.data = half_.data();
    }
    rows.states = std::span(window.keys.states).subspan(first, count);
    rows.keys = part.batch.get();
    rows.first_in_batch = part.first_in_batch + begin;
    for (uint64_t i = 0; i < count; ++i) {
      report_.found += rows.states[i] == RowState::kFound;
      report_.unread += rows.states[i] == RowState::kUnread;
      report_.missing += rows.states[i] == RowState::kMissing;
      if (rows.states[i] == RowState::kMissing && options_.lookup.on_missing == OnMissing::kError) {
        return Status::NotFound("table '" + table_.info().name + "' does not hold key number " +
                                std::to_string(report_.keys + i) + " of the stream");
      }
    }
    EDO_RETURN_IF_ERROR(sink_(rows));
    report_.keys += count;
    if (options_.progress && !options_.progress({report_.keys, 0, report_.keys, "rows"})) {
      return Status::Cancelled("the bulk lookup was cancelled");
    }
    return Status::Ok();
  }

  const ComposedTable& table_;
  const KeySource& source_;
  BulkOptions options_;
  const BulkSink& sink_;
  uint32_t width_ = 0;
  // Of the thread that reads.
  std::shared_ptr<const KeyBatch> batch_;  // that the last window did not use up
  ComposedTable::Keys batch_keys_;
  uint64_t used_ = 0;
  bool source_done_ = false;
  Status source_error_;
  std::vector<uint16_t> half_;
  BulkReport report_;
  Status unread_;
};

}  // namespace

std::unique_ptr<PrefetchTicket> JoinTickets(std::vector<std::unique_ptr<PrefetchTicket>> tickets,
                                            uint64_t keys, uint64_t missing) {
  return std::make_unique<JointTicket>(std::move(tickets), keys, missing);
}

Result<std::unique_ptr<Pipeline>> StartComposedPipeline(const ComposedTable* table,
                                                        KeySource source,
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
      std::make_unique<ComposedPipeline>(table, std::move(source), options, std::move(device)));
}

Status RunComposedBulk(const ComposedTable& table, const KeySource& source,
                       const BulkOptions& options, const BulkSink& sink, BulkReport* report) {
  if (report != nullptr) *report = {};
  if (!source || !sink) {
    return Status::InvalidArgument("table '" + table.info().name +
                                   "': a bulk lookup without a source or a sink");
  }
  ComposedBulk job(table, source, options, sink);
  Status s = job.Run();
  if (report != nullptr) *report = std::move(job.report());
  return s;
}

}  // namespace edo::engine
