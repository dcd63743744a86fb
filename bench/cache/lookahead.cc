// Workload `lookahead`: hit rates of the row cache itself, on the CPU backend, when its next
// batches are known, beside those of its online rules and of Belady's optimum, over the traces of
// `policy`. Rows of 16 bytes: what is counted does not depend on their size.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cache/cache_bench.h"
#include "bench/cache/peers.h"
#include "bench/cache/traces.h"
#include "bench/store/bench_util.h"
#include "gpucache/row_cache.h"
#include "kernels/row_layout.h"

namespace edo::bench {
namespace {

constexpr uint32_t kBatch = 256;  // lookups between fills, and of one step of the look-ahead
constexpr std::array<double, 4> kWindows{1, 2, 4, 10};  // known lookups, in times the capacity

// Belady's optimum for the cache as it is: sets of 32 slots, and batches whose rows are all asked
// for before those that were missed are brought.
class BatchedBelady {
 public:
  BatchedBelady(uint32_t rows, uint64_t blocks, uint32_t group_shift, const Trace& trace)
      : blocks_(blocks), group_shift_(group_shift), next_batch_(trace.size()), sets_(blocks) {
    std::vector<uint32_t> batch(rows, kNever);
    // The next use behind the use's own batch: from the back, a batch at a time.
    for (size_t end = trace.size(); end > 0;) {
      const size_t first = (end - 1) / kBatch * kBatch;
      for (size_t i = first; i < end; ++i) next_batch_[i] = batch[trace[i]];
      for (size_t i = first; i < end; ++i) batch[trace[i]] = static_cast<uint32_t>(i / kBatch);
      end = first;
    }
  }

  // Uses [first, last) of the trace, which are one batch; hit[i] for each.
  void Batch(const Trace& trace, size_t first, size_t last, std::vector<bool>* hit) {
    hit->assign(last - first, false);
    for (size_t i = first; i < last; ++i) {
      for (Held& held : SetOf(trace[i])) {
        if (held.row != trace[i]) continue;
        (*hit)[i - first] = true;
        held.next_batch = next_batch_[i];
      }
    }
    for (size_t i = first; i < last; ++i) {
      if ((*hit)[i - first]) continue;
      std::vector<Held>& set = SetOf(trace[i]);
      const auto same = [&](const Held& held) { return held.row == trace[i]; };
      if (std::any_of(set.begin(), set.end(), same)) continue;
      if (set.size() < kernels::kSlots) {
        set.push_back({trace[i], next_batch_[i]});
        continue;
      }
      const auto farthest = std::max_element(
          set.begin(), set.end(),
          [](const Held& a, const Held& b) { return a.next_batch < b.next_batch; });
      if (farthest->next_batch > next_batch_[i]) *farthest = {trace[i], next_batch_[i]};
    }
  }

 private:
  static constexpr uint32_t kNever = ~0u;
  struct Held {
    uint32_t row;
    uint32_t next_batch;
  };
  std::vector<Held>& SetOf(uint32_t row) {
    return sets_[kernels::PlaceOf(row, blocks_, group_shift_).block];
  }

  const uint64_t blocks_;
  const uint32_t group_shift_;
  std::vector<uint32_t> next_batch_;
  std::vector<std::vector<Held>> sets_;
};

// A table of zeros in a cache of the capacity's slots, rounded to whole blocks.
struct Cached {
  kernels::RowFormat format = kernels::MakeRowFormat(kernels::RowCodec::kInt8, 16);
  uint64_t blocks = 0;
  std::unique_ptr<gpucache::RowCache> cache;
  std::shared_ptr<const gpucache::CachedTable> table;

  Cached(uint32_t rows, uint32_t slots)
      : blocks(std::max(1u, (slots + kernels::kSlots / 2) / kernels::kSlots)) {
    gpucache::RowCacheOptions options;
    options.bytes = blocks * kernels::ShapeOf(format).block_bytes();
    cache = Take(gpucache::RowCache::Make(kernels::MakeCpuBackend(), options));
    table = Take(cache->AddTable(format, rows));
  }
};

struct Played {
  double rate = 0;
  double ahead_ns = 0;  // of the look-ahead, a lookup
};

// The trace in batches: look up, then offer what was missed. `window`: known lookups, 0 for none.
Played Play(const Trace& trace, uint32_t rows, uint32_t slots, uint64_t window) {
  Cached cached(rows, slots);
  gpucache::RowCache& cache = *cached.cache;
  const gpucache::CachedTable& table = *cached.table;
  const uint64_t known_batches = (window + kBatch - 1) / kBatch;
  Tally tally(trace.size());
  std::vector<uint64_t> batch, missed;
  std::vector<float> values(size_t{kBatch} * 16);
  std::vector<uint32_t> misses(kBatch);
  std::vector<kernels::RowMark> marks(kBatch);
  const auto rows_of = [&](uint64_t number) {
    const auto first = trace.begin() + static_cast<ptrdiff_t>(number * kBatch);
    batch.assign(first, first + std::min<ptrdiff_t>(kBatch, trace.end() - first));
    return std::span<const uint64_t>(batch);
  };
  const uint64_t batches = (trace.size() + kBatch - 1) / kBatch;
  uint64_t appended = 0;
  std::chrono::steady_clock::duration ahead_time{};
  if (window != 0) Check(cache.BeginLookAhead(table));
  for (uint64_t b = 0; b < batches; ++b) {
    if (window != 0) {
      const auto start = std::chrono::steady_clock::now();
      // The batch that is read now, and the window behind it.
      while (appended < std::min(batches, b + 1 + known_batches)) {
        Check(cache.AppendBatch(table, rows_of(appended++)));
      }
      Check(cache.AdvanceBatch(table));
      ahead_time += std::chrono::steady_clock::now() - start;
    }
    const std::span<const uint64_t> asked = rows_of(b);
    kernels::QueryCounts counts;
    gpucache::GatherQuery query;
    query.rows = asked.data();
    query.count = static_cast<uint32_t>(asked.size());
    query.out = {values.data(), FloatType::kF32, 16};
    query.misses = misses.data();
    query.marks = marks.data();
    query.counts = &counts;
    Check(cache.Gather(table, query));
    for (size_t i = 0; i < asked.size(); ++i) tally.Add(marks[i] == kernels::RowMark::kFound);
    missed.clear();
    for (uint32_t m = 0; m < counts.misses; ++m) missed.push_back(asked[misses[m]]);
    if (missed.empty()) continue;
    cache.Fill(table, missed, std::vector<std::byte>(missed.size() * cached.format.row_bytes()));
  }
  return {tally.Percent(), std::chrono::duration<double, std::nano>(ahead_time).count() /
                               static_cast<double>(trace.size())};
}

double BeladyRate(const Trace& trace, uint32_t rows, uint32_t slots) {
  Belady belady(rows, slots, trace);
  Tally tally(trace.size());
  for (const uint32_t row : trace) tally.Add(belady.Access(row));
  return tally.Percent();
}

double BatchedBeladyRate(const Trace& trace, uint32_t rows, uint32_t slots) {
  const Cached cached(rows, slots);  // for its number of blocks
  BatchedBelady belady(rows, cached.blocks, 0, trace);
  Tally tally(trace.size());
  std::vector<bool> hit;
  for (size_t first = 0; first < trace.size(); first += kBatch) {
    belady.Batch(trace, first, std::min<size_t>(trace.size(), first + kBatch), &hit);
    for (const bool h : hit) tally.Add(h);
  }
  return tally.Percent();
}

bool Within(const std::string& name, double rate, double allowed, const char* whose, double best) {
  char text[200];
  std::snprintf(text, sizeof text, "%s: %.2f is within %.1f of %.2f, %s", name.c_str(), rate,
                allowed, best, whose);
  return Verdict(rate >= best - allowed, text);
}

}  // namespace

bool RunLookahead(const CacheSettings& settings) {
  bool passed = true;
  for (const double capacity : settings.capacities) {
    const uint32_t slots = static_cast<uint32_t>(capacity / 100 * settings.rows);
    std::printf(
        "\nHit rates (%%) with known batches, %u slots for %u rows (%g %%), %llu lookups in "
        "batches of %u; windows in times the capacity:\n\n| trace | online |",
        slots, settings.rows, capacity, static_cast<unsigned long long>(settings.accesses), kBatch);
    for (const double window : kWindows) std::printf(" %gx |", window);
    std::printf(" Belady, sets and batches | Belady |\n|---|---|---|---|---|---|---|---|\n");
    double ns = 0;
    std::vector<std::pair<std::string, std::array<double, 3>>> lines;
    for (size_t i = 0;; ++i) {
      const NamedTrace trace = PolicyTrace(i, settings.rows, settings.accesses);
      if (trace.rows.empty()) break;
      std::printf("| %s | %.1f |", trace.name.c_str(),
                  Play(trace.rows, settings.rows, slots, 0).rate);
      Played played;
      for (const double window : kWindows) {
        played = Play(trace.rows, settings.rows, slots, static_cast<uint64_t>(window * slots));
        std::printf(" %.1f |", played.rate);
        std::fflush(stdout);
      }
      ns = std::max(ns, played.ahead_ns);
      const double best = BeladyRate(trace.rows, settings.rows, slots);
      const double in_sets = BatchedBeladyRate(trace.rows, settings.rows, slots);
      std::printf(" %.1f | %.1f |\n", in_sets, best);
      std::fflush(stdout);
      lines.push_back({trace.name, {played.rate, in_sets, best}});
    }
    std::printf("\nThe look-ahead of 10x costs at most %.0f ns a lookup\n", ns);
    for (const auto& [name, rates] : lines) {
      // Of uniform reads nothing is worth keeping but what is known: a window is all there is.
      if (!settings.check || capacity != 1 || name == "uniform") continue;
      const bool drifts = name.find("drift") != std::string::npos;
      passed &= Within(name, rates[0], drifts ? 2.0 : 1.1, "Belady", rates[2]);
      passed &= Within(name, rates[0], 1.1, "Belady in the same sets", rates[1]);
    }
  }
  return passed;
}

}  // namespace edo::bench
