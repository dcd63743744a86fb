#include "engine/bulk_lookup.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/lookup.h"
#include "engine/row_sort.h"
#include "engine/table_impl.h"

namespace edo::engine {
namespace {

constexpr uint64_t kMostKeys = kMostPlaces - 1;  // of a window: see ReadRowsByChunk
constexpr size_t kMostFailures = 100;            // listed in the report
// Beside its encoded row: its number, twice its word while words are sorted, and the same again by
// chunk; its slot and its state.
constexpr uint64_t kBytesAKey = 72;

// Keys of a part of the stream and the rows they mean.
struct Window {
  struct Part {
    std::shared_ptr<const KeyBatch> batch;
    uint64_t first_in_batch = 0;
    uint64_t first = 0;  // in the window
    uint64_t count = 0;
  };
  std::vector<Part> parts;
  std::vector<uint32_t> slots;   // (keys) place in codes; kNone: no row
  std::vector<RowState> states;  // (keys)
  std::vector<std::byte> codes;  // (distinct rows), those of a tier one behind the other
  struct TierRows {
    const Tier* tier = nullptr;
    uint64_t first_slot = 0;
    uint64_t end_slot = 0;
    uint64_t first_byte = 0;
  };
  std::vector<TierRows> tiers;  // those that have rows here, in the order of slots
  std::vector<ReadFailure> failures;
  uint64_t chunks = 0;

  static constexpr uint32_t kNone = UINT32_MAX;
};

class BulkJob {
 public:
  BulkJob(const TableImpl& table, const KeySource& source, const BulkOptions& options,
          const BulkSink& sink)
      : table_(table), source_(source), options_(options), output_(table.info(), options_, sink) {
    options_.lookup.out_stride = 0;
    options_.lookup.deadline.reset();
    values_a_row_ = ValuesOf(options_.lookup, table.info());
    most_row_bytes_ = LargestRowBytes(table.info());
  }

  Status Run();
  BulkReport& report() { return output_.report(); }

 private:
  // The next window with its rows; null behind the last key.
  Result<std::unique_ptr<Window>> ReadWindow();
  Result<bool> TakeKeys(Window* window, std::vector<uint64_t>* rows);
  Status ResolvePart(const Window::Part& part, Window* window, std::vector<uint64_t>* rows);
  Status ReadRows(const std::vector<uint64_t>& rows, Window* window);
  Status HandOut(const Window& window);
  Status HandOut(const Window& window, const Window::Part& part, uint64_t begin, uint64_t count);

  const TableImpl& table_;
  const KeySource& source_;
  BulkOptions options_;
  BulkOutput output_;
  uint32_t values_a_row_ = 0;
  uint64_t most_row_bytes_ = 0;

  // Of the thread that reads.
  std::shared_ptr<const KeyBatch> batch_;  // that the last window did not use up
  uint64_t used_ = 0;                      // keys of it
  bool source_done_ = false;
  Status source_error_;  // comes behind the keys that were there before it

  std::vector<std::byte> values_;
};

uint64_t TokenBytes(const KeyBatch& batch, uint64_t i) {
  return batch.tokens.empty() ? 8 : batch.tokens[i].size() + sizeof(std::string);
}

// Appends the rows of a part's keys.
Status BulkJob::ResolvePart(const Window::Part& part, Window* window, std::vector<uint64_t>* rows) {
  const KeyBatch& batch = *part.batch;
  if (!batch.rows.empty()) {
    const auto begin = batch.rows.begin() + static_cast<ptrdiff_t>(part.first_in_batch);
    rows->insert(rows->end(), begin, begin + static_cast<ptrdiff_t>(part.count));
    for (uint64_t i = 0; i < part.count; ++i) {
      const bool held = (*rows)[part.first + i] < table_.info().rows;
      window->states.push_back(held ? RowState::kFound : RowState::kMissing);
    }
    return Status::Ok();
  }
  Result<Resolved> keys = [&] {
    if (batch.tokens.empty()) {
      return table_.Resolve(std::span(batch.ids).subspan(part.first_in_batch, part.count),
                            options_.lookup);
    }
    const auto begin = batch.tokens.begin() + static_cast<ptrdiff_t>(part.first_in_batch);
    const std::vector<std::string_view> tokens(begin, begin + static_cast<ptrdiff_t>(part.count));
    return table_.Resolve(std::span<const std::string_view>(tokens), options_.lookup);
  }();
  if (!keys.ok()) return keys.status();
  rows->insert(rows->end(), keys->rows.begin(), keys->rows.end());
  for (uint64_t i = 0; i < part.count; ++i) {
    RowState state = RowState::kFound;
    if (keys->rows[i] >= table_.info().rows) state = RowState::kMissing;
    if (!keys->padding.empty() && keys->padding[i]) state = RowState::kPadding;
    if (!keys->unread.empty() && keys->unread[i]) state = RowState::kUnread;
    window->states.push_back(state);
  }
  window->failures.insert(window->failures.end(), std::make_move_iterator(keys->failures.begin()),
                          std::make_move_iterator(keys->failures.end()));
  table_.shared_context()->counters.key_pages_read.fetch_add(keys->pages_read,
                                                             std::memory_order_relaxed);
  return Status::Ok();
}

// Fills the window with keys; false: there are none left.
Result<bool> BulkJob::TakeKeys(Window* window, std::vector<uint64_t>* rows) {
  const uint64_t room = std::max<uint64_t>(options_.window_bytes / 2, 1);
  uint64_t bytes = 0;
  while (bytes < room && rows->size() < kMostKeys) {
    if (batch_ == nullptr || used_ == batch_->size()) {
      if (source_done_) break;
      auto batch = std::make_shared<KeyBatch>();
      Result<bool> more = source_(batch.get());
      Status s = more.status();
      if (s.ok() && *more) s = table_.CheckKeys(*batch);
      if (!s.ok() || !*more) {
        source_done_ = true;
        source_error_ = s;
        break;
      }
      batch_ = std::move(batch);
      used_ = 0;
      continue;
    }
    Window::Part part{batch_, used_, rows->size(), 0};
    while (used_ < batch_->size() && rows->size() + part.count < kMostKeys && bytes < room) {
      bytes += kBytesAKey + most_row_bytes_ + TokenBytes(*batch_, used_);
      ++used_;
      ++part.count;
    }
    EDO_RETURN_IF_ERROR(ResolvePart(part, window, rows));
    window->parts.push_back(std::move(part));
  }
  if (window->parts.empty() && !source_error_.ok()) return source_error_;
  return !window->parts.empty();
}

// Reads each distinct row once.
Status BulkJob::ReadRows(const std::vector<uint64_t>& rows, Window* window) {
  std::vector<uint64_t> sorted;
  sorted.reserve(rows.size());
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < table_.info().rows) sorted.push_back(WithPlace(rows[i], i));
  }
  SortByRow(table_.info().rows, &sorted);
  window->slots.assign(rows.size(), Window::kNone);
  std::vector<uint64_t> distinct;
  for (const uint64_t word : sorted) {
    const uint64_t row = RowOf(word);
    if (distinct.empty() || distinct.back() != row) distinct.push_back(row);
    window->slots[PlaceIn(word)] = static_cast<uint32_t>(distinct.size() - 1);
  }
  uint64_t bytes = 0;
  ForEachTier(table_.tiers(), distinct,
              [&](const Tier& tier, size_t first, std::span<const uint64_t> of_tier) {
                window->tiers.push_back({&tier, first, first + of_tier.size(), bytes});
                bytes += of_tier.size() * tier.row_bytes();
              });
  window->codes.resize(bytes);
  std::vector<uint8_t> unread(distinct.size());
  GatherOutcome outcome;
  for (const Window::TierRows& part : window->tiers) {
    outcome.Add(table_.gather().ReadEncoded(
        *part.tier, std::span(distinct).subspan(part.first_slot, part.end_slot - part.first_slot),
        std::nullopt, window->codes.data() + part.first_byte, unread.data() + part.first_slot));
  }
  window->chunks = outcome.chunks;
  if (outcome.failures.empty()) return Status::Ok();
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (window->slots[i] == Window::kNone || !unread[window->slots[i]]) continue;
    window->states[i] = RowState::kUnread;
    window->slots[i] = Window::kNone;
  }
  window->failures.insert(window->failures.end(), std::make_move_iterator(outcome.failures.begin()),
                          std::make_move_iterator(outcome.failures.end()));
  return Status::Ok();
}

Result<std::unique_ptr<Window>> BulkJob::ReadWindow() {
  auto window = std::make_unique<Window>();
  std::vector<uint64_t> rows;
  EDO_ASSIGN_OR_RETURN(const bool any, TakeKeys(window.get(), &rows));
  if (!any) return std::unique_ptr<Window>();
  EDO_RETURN_IF_ERROR(ReadRows(rows, window.get()));
  return window;
}

Status BulkJob::HandOut(const Window& window, const Window::Part& part, uint64_t begin,
                        uint64_t count) {
  const uint64_t first = part.first + begin;
  const uint64_t out_bytes = uint64_t{values_a_row_} * FloatTypeBytes(options_.lookup.out_type);
  values_.resize(count * out_bytes);
  for (uint64_t i = 0; i < count; ++i) {
    if (window.slots[first + i] != Window::kNone) continue;
    std::fill_n(values_.begin() + static_cast<ptrdiff_t>(i * out_bytes), out_bytes, std::byte{0});
  }
  const storage::DecodeTarget target{values_.data(), options_.lookup.out_type, values_a_row_,
                                     values_a_row_};
  std::vector<const std::byte*> codes;
  std::vector<uint64_t> to;
  for (const Window::TierRows& of_tier : window.tiers) {
    codes.clear();
    to.clear();
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t slot = window.slots[first + i];  // kNone is beyond every end
      if (slot < of_tier.first_slot || slot >= of_tier.end_slot) continue;
      codes.push_back(window.codes.data() + of_tier.first_byte +
                      (slot - of_tier.first_slot) * of_tier.tier->row_bytes());
      to.push_back(i);
    }
    of_tier.tier->codec->DecodeGather(codes.data(), to.data(), codes.size(), target);
  }
  BulkRows rows;
  rows.count = count;
  rows.values_a_row = values_a_row_;
  rows.data = values_.data();
  if (options_.lookup.out_type == FloatType::kF32) {
    rows.values = {reinterpret_cast<const float*>(values_.data()), count * values_a_row_};
  }
  rows.states = std::span(window.states).subspan(first, count);
  rows.keys = part.batch.get();
  rows.first_in_batch = part.first_in_batch + begin;
  return output_.HandOut(rows);
}

Status BulkJob::HandOut(const Window& window) {
  output_.BeginWindow(window.chunks, window.failures);
  for (const Window::Part& part : window.parts) {
    for (uint64_t begin = 0; begin < part.count; begin += kBulkPiece) {
      EDO_RETURN_IF_ERROR(HandOut(window, part, begin, std::min(kBulkPiece, part.count - begin)));
    }
  }
  return Status::Ok();
}

Status BulkJob::Run() {
  EDO_RETURN_IF_ERROR(table_.CheckOutput(options_.lookup));
  EDO_RETURN_IF_ERROR(ForEachWindow([this] { return ReadWindow(); },
                                    [this](const Window& window) { return HandOut(window); }));
  const Status end = output_.End();
  const BulkReport& counted = output_.report();
  StoreCounters& counters = table_.shared_context()->counters;
  counters.lookups.fetch_add(counted.windows, std::memory_order_relaxed);
  counters.rows_found.fetch_add(counted.found, std::memory_order_relaxed);
  counters.keys_missing.fetch_add(counted.missing, std::memory_order_relaxed);
  counters.rows_unread.fetch_add(counted.unread, std::memory_order_relaxed);
  counters.chunks_read.fetch_add(counted.chunks, std::memory_order_relaxed);
  return end;
}

}  // namespace

void BulkOutput::BeginWindow(uint64_t chunks, std::span<const ReadFailure> failures) {
  ++report_.windows;
  report_.chunks += chunks;
  if (unread_.ok() && !failures.empty()) unread_ = WorstOf(failures);
  for (const ReadFailure& failure : failures) {
    if (report_.failures.size() < kMostFailures) report_.failures.push_back(failure);
  }
}

Status BulkOutput::HandOut(BulkRows rows) {
  rows.first = report_.keys;
  for (uint64_t i = 0; i < rows.count; ++i) {
    const RowState state = rows.states[i];
    report_.found += state == RowState::kFound;
    report_.unread += state == RowState::kUnread;
    report_.missing += state == RowState::kMissing;
    if (state == RowState::kMissing && options_.lookup.on_missing == OnMissing::kError) {
      return Status::NotFound("table '" + table_.name + "' does not hold key number " +
                              std::to_string(report_.keys + i) + " of the stream");
    }
  }
  EDO_RETURN_IF_ERROR(sink_(rows));
  report_.keys += rows.count;
  if (options_.progress && !options_.progress({report_.keys, 0, report_.keys, "rows"})) {
    return Status::Cancelled("the bulk lookup was cancelled");
  }
  return Status::Ok();
}

Status BulkOutput::End() {
  report_.complete = true;
  if (unread_.ok()) return Status::Ok();
  return Status(unread_.code(), std::string(unread_.message()) + " [" +
                                    std::to_string(report_.unread) + " of " +
                                    std::to_string(report_.keys) + " rows are unread]");
}

Status RunBulkLookup(const TableImpl& table, const KeySource& source, const BulkOptions& options,
                     const BulkSink& sink, BulkReport* report) {
  if (report != nullptr) *report = {};
  if (!source || !sink) {
    return Status::InvalidArgument("table '" + table.info().name +
                                   "': a bulk lookup without a source or a sink");
  }
  BulkJob job(table, source, options, sink);
  Status s = job.Run();
  if (report != nullptr) *report = std::move(job.report());
  return s;
}

}  // namespace edo::engine
