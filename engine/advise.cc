// AdviseOrder: replays a trace against the orders that a table might be stored in.
#include "edo/advise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "engine/composed_table.h"
#include "engine/key_uses.h"
#include "engine/row_order.h"
#include "engine/table_impl.h"
#include "storage/key_page.h"

namespace edo {

Status AdviseOptions::Validate() const {
  if (trace.empty()) return Status::InvalidArgument("no trace was given to advise on");
  if (batch_lines == 0) return Status::InvalidArgument("batch_lines 0; at least 1 is needed");
  if (cache_percent >= 0 && cache_percent <= 100) return Status::Ok();
  return Status::InvalidArgument("cache_percent " + std::to_string(cache_percent) +
                                 "; allowed are 0 to 100");
}

namespace {

using engine::RowSource;
using engine::TableImpl;

// The rows used last, at most so many.
class RecentRows {
 public:
  RecentRows(uint64_t rows, uint64_t capacity)
      : capacity_(capacity), next_(rows + 1, kOut), previous_(rows + 1, kOut) {
    next_[rows] = previous_[rows] = rows;  // the ring's head
  }

  // Uses a row; whether it was among them.
  bool Use(uint64_t row) {
    if (capacity_ == 0) return false;
    const bool hit = next_[row] != kOut;
    if (hit) {
      Unlink(row);
    } else if (size_ == capacity_) {
      Unlink(previous_[head()]);
    } else {
      ++size_;
    }
    next_[row] = next_[head()];
    previous_[row] = head();
    previous_[next_[row]] = row;
    next_[head()] = row;
    return hit;
  }

 private:
  static constexpr uint64_t kOut = UINT64_MAX;
  uint64_t head() const { return next_.size() - 1; }
  void Unlink(uint64_t row) {
    next_[previous_[row]] = next_[row];
    previous_[next_[row]] = previous_[row];
    next_[row] = previous_[row] = kOut;
  }

  const uint64_t capacity_;
  uint64_t size_ = 0;
  std::vector<uint64_t> next_, previous_;
};

class OrderAdviser {
 public:
  OrderAdviser(const TableImpl& table, const AdviseOptions& options)
      : table_(table),
        options_(options),
        source_{table.context().rows.get(), &table.record(), table.tiers().front().codec.get()},
        trace_{OrderKind::kTrace, options.trace},
        step_([this]() -> Status {
          ++steps_;
          if (!options_.progress || options_.progress({steps_, 0, 0, "steps"})) return Status::Ok();
          return Status::Cancelled("advising was cancelled");
        }) {}

  Result<OrderAdvice> Run() {
    EDO_RETURN_IF_ERROR(options_.Validate());
    if (table_.tiers().size() > 1) {
      return Status::InvalidArgument(
          "table '" + table_.info().name + "' has " + std::to_string(table_.tiers().size()) +
          " tiers in codecs of their own, whose rows an order would mix; advice on an order is for "
          "tables of one codec");
    }
    EDO_RETURN_IF_ERROR(CountLines());
    EDO_RETURN_IF_ERROR(ReadPlaces());
    advice_.cache_rows = static_cast<uint64_t>(
        std::llround(static_cast<double>(table_.info().rows) * options_.cache_percent / 100));
    // The half that trains: uses of each row, and what the cache holds afterwards.
    engine::KeyUses uses(trace_, source_);
    RecentRows recent(table_.info().rows, advice_.cache_rows);
    std::vector<uint64_t> counts(table_.info().rows);
    std::vector<uint64_t> rows;
    for (uint64_t line = 0; line < advice_.lines / 2;) {
      const uint64_t end = std::min(line + options_.batch_lines, advice_.lines / 2);
      rows.clear();
      for (; line < end; ++line) {
        EDO_RETURN_IF_ERROR(NextLine(&uses));
        for (const uint64_t row : uses.rows()) ++counts[row];
        rows.insert(rows.end(), uses.rows().begin(), uses.rows().end());
      }
      for (const uint64_t row : Distinct(&rows)) recent.Use(row);
    }
    EDO_RETURN_IF_ERROR(MakeOrders(counts));
    counts = {};
    EDO_RETURN_IF_ERROR(Replay(&uses, &recent));
    advice_.keys = uses.report().keys;
    advice_.keys_unknown = uses.report().keys_unknown;
    if (table_.info().rows > 0 && advice_.keys > 0 && advice_.keys == advice_.keys_unknown) {
      return Status::BadInput(uses.report().first_unknown + " is no key of table '" +
                              table_.info().name + "', nor is any other key of the file");
    }
    return std::move(advice_);
  }

 private:
  // An order that is tried: the chunk of each row, and when that was last read.
  struct Candidate {
    std::vector<uint64_t> position_of;
    std::vector<uint64_t> read_in;         // (chunks) batch + 1 that read it without a cache
    std::vector<uint64_t> cached_read_in;  // (chunks) likewise behind the cache
    uint64_t reads = 0, cached_reads = 0;
  };

  Status CountLines() {
    EDO_ASSIGN_OR_RETURN(advice_.lines, engine::CountLines(trace_, table_.info().key_kind, step_));
    if (advice_.lines >= 2) return Status::Ok();
    return Status::BadInput(options_.trace + ": found " + std::to_string(advice_.lines) +
                            " lines with keys, expected at least 2: one half trains, the other is "
                            "held out");
  }

  // Where each row stood in the source; empty when it stands there still.
  Status ReadPlaces() {
    if (!table_.record().ordered()) return Status::Ok();
    std::vector<uint64_t> places(table_.info().rows);
    std::iota(places.begin(), places.end(), uint64_t{0});
    const storage::FindResult found = table_.order().RowsOf(places, std::nullopt);
    if (!found.failures.empty()) return found.failures[0].status;
    places_ = places;
    for (uint64_t place = 0; place < found.rows.size(); ++place) places_[found.rows[place]] = place;
    return Status::Ok();
  }

  Status NextLine(engine::KeyUses* uses) {
    EDO_ASSIGN_OR_RETURN(const bool more, uses->Next());
    if (more) return uses->line() % 4096 == 0 ? step_() : Status::Ok();
    return Status::IoError(options_.trace + ": became shorter while it was read");
  }

  uint64_t PlaceOf(uint64_t row) const { return places_.empty() ? row : places_[row]; }

  // In the order of their places, so that the advice does not hang on how the table is stored now.
  std::span<const uint64_t> Distinct(std::vector<uint64_t>* rows) const {
    std::sort(rows->begin(), rows->end(),
              [this](uint64_t a, uint64_t b) { return PlaceOf(a) < PlaceOf(b); });
    rows->erase(std::unique(rows->begin(), rows->end()), rows->end());
    return *rows;
  }

  void Add(std::string name, std::vector<uint64_t> position_of) {
    OrderCost cost;
    cost.order = std::move(name);
    advice_.orders.push_back(std::move(cost));
    Candidate candidate;
    candidate.position_of = std::move(position_of);
    candidate.read_in.resize(table_.info().chunk_count);
    candidate.cached_read_in.resize(table_.info().chunk_count);
    candidates_.push_back(std::move(candidate));
  }

  Status MakeOrders(std::span<const uint64_t> counts) {
    const uint64_t rows = table_.info().rows;
    std::vector<uint64_t> order(rows);
    std::iota(order.begin(), order.end(), uint64_t{0});
    Add("stored", order);
    const auto hash_of = [this](uint64_t row) {
      return storage::HashKey(static_cast<int64_t>(PlaceOf(row)));
    };
    std::sort(order.begin(), order.end(),
              [&](uint64_t a, uint64_t b) { return hash_of(a) < hash_of(b); });
    Add("hash", engine::InverseOf(order));
    if (!places_.empty()) Add("file", places_);
    Add("counts", engine::InverseOf(engine::OrderByCount(counts, places_)));
    const auto add_tiered = [&](const char* name, std::span<const uint8_t> tiers) -> Status {
      EDO_ASSIGN_OR_RETURN(order, engine::OrderByTier(source_, tiers, places_,
                                                      table_.context().order_limits, step_));
      Add(name, engine::InverseOf(order));
      return Status::Ok();
    };
    EDO_RETURN_IF_ERROR(add_tiered("tiered", engine::TiersOfPlaces(rows, places_)));
    return add_tiered("trace", engine::TiersOfCounts(counts));
  }

  Status Replay(engine::KeyUses* uses, RecentRows* recent) {
    const uint64_t chunk_rows = table_.info().chunk_rows;
    std::vector<uint64_t> rows, missed;
    uint64_t asked = 0, missed_rows = 0;
    for (uint64_t line = advice_.lines / 2; line < advice_.lines;) {
      const uint64_t end = std::min(line + options_.batch_lines, advice_.lines);
      rows.clear();
      missed.clear();
      for (; line < end; ++line) {
        EDO_RETURN_IF_ERROR(NextLine(uses));
        rows.insert(rows.end(), uses->rows().begin(), uses->rows().end());
      }
      for (const uint64_t row : Distinct(&rows)) {
        if (!recent->Use(row)) missed.push_back(row);
      }
      asked += rows.size();
      missed_rows += missed.size();
      const uint64_t batch = ++advice_.batches;
      for (Candidate& c : candidates_) {
        const auto read = [&](uint64_t row, std::vector<uint64_t>* read_in) -> uint64_t {
          return std::exchange((*read_in)[c.position_of[row] / chunk_rows], batch) != batch;
        };
        for (const uint64_t row : rows) c.reads += read(row, &c.read_in);
        for (const uint64_t row : missed) c.cached_reads += read(row, &c.cached_read_in);
      }
    }
    const auto a_batch = [&](uint64_t count) {
      return static_cast<double>(count) / static_cast<double>(advice_.batches);
    };
    advice_.rows_a_batch = a_batch(asked);
    advice_.missed_rows_a_batch = a_batch(missed_rows);
    size_t best = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      advice_.orders[i].chunk_reads = a_batch(c.reads);
      advice_.orders[i].cached_reads = a_batch(c.cached_reads);
      const Candidate& b = candidates_[best];
      if (std::pair(c.cached_reads, c.reads) < std::pair(b.cached_reads, b.reads)) best = i;
    }
    advice_.best = advice_.orders[best].order;
    return Status::Ok();
  }

  const TableImpl& table_;
  const AdviseOptions& options_;
  const RowSource source_;
  const RowOrder trace_;
  uint64_t steps_ = 0;
  const engine::OrderStep step_;
  std::vector<uint64_t> places_;
  std::vector<Candidate> candidates_;
  OrderAdvice advice_;
};

}  // namespace

Result<OrderAdvice> AdviseOrder(const Table& table, const AdviseOptions& options) {
  EDO_RETURN_IF_ERROR(engine::RefuseComposed(table, "advice on an order"));
  const auto* impl = dynamic_cast<const TableImpl*>(&table);
  if (impl == nullptr) return Status::InvalidArgument("AdviseOrder needs a table that EDO opened");
  return OrderAdviser(*impl, options).Run();
}

}  // namespace edo
