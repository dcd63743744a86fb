// The bulk job of a composed table, and the ticket over its parts' tickets.
#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

#include "engine/bulk_lookup.h"
#include "engine/composed_table.h"
#include "engine/lookup.h"
#include "kernels/float_convert.h"

namespace edo::engine {
namespace {

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

// Windows of the stream, composed with each chunk read once a window; the next one is read while
// one is handed out.
class ComposedBulk {
 public:
  ComposedBulk(const ComposedTable& table, const KeySource& source, const BulkOptions& options,
               const BulkSink& sink)
      : table_(table), source_(source), options_(options), output_(table.info(), options_, sink) {
    options_.lookup.out_stride = 0;
    options_.lookup.deadline.reset();
    width_ = ValuesOf(options_.lookup, table.info());
  }

  Status Run() {
    EDO_RETURN_IF_ERROR(table_.CheckOutput(options_.lookup));
    EDO_RETURN_IF_ERROR(ForEachWindow([this] { return ReadWindow(); },
                                      [this](const Window& window) { return HandOut(window); }));
    return output_.End();
  }
  BulkReport& report() { return output_.report(); }

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
    output_.BeginWindow(window.chunks, window.failures);
    for (const Part& part : window.parts) {
      for (uint64_t begin = 0; begin < part.count; begin += kBulkPiece) {
        EDO_RETURN_IF_ERROR(HandOut(window, part, begin, std::min(kBulkPiece, part.count - begin)));
      }
    }
    return Status::Ok();
  }

  Status HandOut(const Window& window, const Part& part, uint64_t begin, uint64_t count) {
    const uint64_t first = part.first + begin;
    BulkRows rows;
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
    return output_.HandOut(rows);
  }

  const ComposedTable& table_;
  const KeySource& source_;
  BulkOptions options_;
  BulkOutput output_;
  uint32_t width_ = 0;
  // Of the thread that reads.
  std::shared_ptr<const KeyBatch> batch_;  // that the last window did not use up
  ComposedTable::Keys batch_keys_;
  uint64_t used_ = 0;
  bool source_done_ = false;
  Status source_error_;
  std::vector<uint16_t> half_;
};

}  // namespace

std::unique_ptr<PrefetchTicket> JoinTickets(std::vector<std::unique_ptr<PrefetchTicket>> tickets,
                                            uint64_t keys, uint64_t missing) {
  return std::make_unique<JointTicket>(std::move(tickets), keys, missing);
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
