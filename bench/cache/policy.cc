// Workload `policy`: hit rates of the cache's own rules (kernels/score.h, gpucache/admission.h) in
// a model of the cache, beside other policies over the same traces. A model: the rows themselves
// and the tags are left out, and rows are found through an array.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "bench/cache/cache_bench.h"
#include "bench/cache/peers.h"
#include "bench/cache/traces.h"
#include "gpucache/admission.h"
#include "kernels/score.h"

namespace edo::bench {
namespace {

constexpr uint32_t kWays = 32;
constexpr uint32_t kNone = ~0u;

struct ModelOptions {
  uint32_t group = 2;  // neighbouring rows of one set: 1, 2, 4
  uint64_t batch = 1;  // lookups between fills
};

class SetCacheModel {
 public:
  SetCacheModel(uint32_t rows, uint32_t slots, uint32_t group)
      : group_(group),
        sets_(std::max(1u, (slots + kWays / 2) / kWays)),
        step_(uint64_t{kernels::kLookupsPerSlotAndStep} * sets_ * kWays),
        slot_of_(rows, kNone),
        row_of_(size_t{sets_} * kWays, kNone),
        scores_(size_t{sets_} * kWays),
        sketch_(uint64_t{sets_} * kWays) {}

  bool Probe(uint32_t row) {
    ++lookups_;
    const bool hit = slot_of_[row] != kNone;
    if (hit) {
      TouchSlot(slot_of_[row]);
    } else {
      sketch_.Observe(row);
    }
    return hit;
  }

  void Fill(uint32_t row) {
    if (slot_of_[row] != kNone) return TouchSlot(slot_of_[row]);  // twice in the batch
    const uint32_t first = SetOf(row) * kWays;
    uint32_t victim = first;
    uint32_t least = kNone;
    for (uint32_t slot = first; slot < first + kWays && row_of_[victim] != kNone; ++slot) {
      scores_[slot] = kernels::Normalised(scores_[slot], Now());
      const uint32_t value = row_of_[slot] == kNone ? 0 : kernels::AgedValue(scores_[slot], Now());
      if (value < least || row_of_[slot] == kNone) {
        least = value;
        victim = slot;
      }
    }
    const uint32_t frequency = sketch_.Estimate(row);
    if (row_of_[victim] != kNone) {
      if (!kernels::MayReplace(kernels::CandidateValue(frequency), least)) return;
      slot_of_[row_of_[victim]] = kNone;
    }
    row_of_[victim] = row;
    slot_of_[row] = victim;
    scores_[victim] = kernels::AdmittedScore(frequency, Now());
  }

  double StoresPerLookup() const {
    return static_cast<double>(stores_) / static_cast<double>(lookups_);
  }

 private:
  uint32_t Now() const { return static_cast<uint32_t>(lookups_ / step_); }

  uint32_t SetOf(uint32_t row) const {
    uint64_t x = row / group_ + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return static_cast<uint32_t>((x >> 32) * sets_ >> 32);
  }

  void TouchSlot(uint32_t slot) {
    const uint16_t touched = kernels::Touch(scores_[slot], Now());
    stores_ += touched != scores_[slot];
    scores_[slot] = touched;
  }

  const uint32_t group_, sets_;
  const uint64_t step_;
  std::vector<uint32_t> slot_of_, row_of_;
  std::vector<uint16_t> scores_;
  gpucache::FrequencySketch sketch_;
  uint64_t lookups_ = 0, stores_ = 0;
};

template <typename Policy>
double HitRate(Policy policy, const Trace& trace) {
  Tally tally(trace.size());
  for (const uint32_t row : trace) tally.Add(policy.Access(row));
  return tally.Percent();
}

double OurHitRate(const Trace& trace, uint32_t rows, uint32_t slots, const ModelOptions& options,
                  double* stores = nullptr) {
  SetCacheModel cache(rows, slots, options.group);
  Tally tally(trace.size());
  std::vector<uint32_t> missed;
  for (size_t first = 0; first < trace.size(); first += options.batch) {
    missed.clear();
    for (size_t i = first; i < std::min<size_t>(trace.size(), first + options.batch); ++i) {
      const bool hit = cache.Probe(trace[i]);
      tally.Add(hit);
      if (!hit) missed.push_back(trace[i]);
    }
    for (const uint32_t row : missed) cache.Fill(row);
  }
  if (stores) *stores = cache.StoresPerLookup();
  return tally.Percent();
}

enum Column { kG1, kG2, kG4, kBatch, kLru, kLfu, kLfuAged, kS3, kTinyLfu, kBelady, kColumns };
constexpr const char* kColumnNames[kColumns] = {
    "EDO, G = 1", "G = 2",     "G = 4", "G = 2, batches of 4096", "LRU", "LFU", "aged",
    "S3-FIFO",    "W-TinyLFU", "Belady"};

using Results = std::array<double, kColumns>;

Results RunAll(const Trace& trace, uint32_t rows, uint32_t slots) {
  const uint64_t age_every = std::max<uint64_t>(uint64_t{slots} * 20, 200'000);
  Results rates;
  rates[kG1] = OurHitRate(trace, rows, slots, {.group = 1});
  rates[kG2] = OurHitRate(trace, rows, slots, {.group = 2});
  rates[kG4] = OurHitRate(trace, rows, slots, {.group = 4});
  rates[kBatch] = OurHitRate(trace, rows, slots, {.group = 2, .batch = 4096});
  rates[kLru] = HitRate(Lru(rows, slots), trace);
  rates[kLfu] = HitRate(Lfu(rows, slots, 0), trace);
  rates[kLfuAged] = HitRate(Lfu(rows, slots, age_every), trace);
  rates[kS3] = HitRate(S3Fifo(rows, slots), trace);
  rates[kTinyLfu] = HitRate(WTinyLfu(rows, slots), trace);
  rates[kBelady] = HitRate(Belady(rows, slots, trace), trace);
  return rates;
}

void PrintRow(const std::string& name, const Results& rates) {
  std::printf("| %s |", name.c_str());
  for (const double rate : rates) std::printf(" %.1f |", rate);
  std::printf("\n");
  std::fflush(stdout);
}

std::string Format(const char* format, const std::string& name, double a, double b) {
  char text[200];
  std::snprintf(text, sizeof text, format, name.c_str(), a, b);
  return text;
}

bool CheckRow(const std::string& name, const Results& rates) {
  bool passed = true;
  for (const Column column : {kG1, kG2, kG4}) {
    const std::string ours = name + ", " + (column == kG1 ? "G = 1" : kColumnNames[column]);
    passed &= Verdict(
        rates[column] >= rates[kS3] - 1,
        Format("%s: %.2f is at least S3-FIFO's %.2f less 1", ours, rates[column], rates[kS3]));
    if (name == "Zipf 0.99") {
      passed &= Verdict(
          rates[column] >= rates[kLru] + 6,
          Format("%s: %.2f is at least LRU's %.2f and 6 more", ours, rates[column], rates[kLru]));
    }
  }
  return passed;
}

// An INT8 cache against an fp32 cache of 3.6 times the bytes, both with this structure and policy.
bool RunEqualBytes(const CacheSettings& settings, double capacity) {
  constexpr double kSlotOverhead = 2 + 8 + 1 + 4;  // tag, entry, pin count, share of the sketch
  constexpr double kInt8Slot = 128 + kSlotOverhead;
  constexpr double kFp32Slot = 512 + kSlotOverhead;
  const double bytes = capacity / 100 * settings.rows * kInt8Slot;
  const uint32_t int8_slots = static_cast<uint32_t>(bytes / kInt8Slot);
  const uint32_t fp32_slots = static_cast<uint32_t>(3.6 * bytes / kFp32Slot);
  std::printf(
      "\nINT8 d = 128 in %.2f MB (%u slots), fp32 in 3.6 times as much (%u slots):\n\n"
      "| trace | INT8 | fp32 |\n|---|---|---|\n",
      bytes / 1e6, int8_slots, fp32_slots);
  bool passed = true;
  std::vector<std::pair<std::string, std::array<double, 2>>> lines;
  for (const size_t i : {0u, 1u, 2u, 3u}) {
    const NamedTrace trace = PolicyTrace(i, settings.rows, settings.accesses);
    const double int8 = OurHitRate(trace.rows, settings.rows, int8_slots, {});
    const double fp32 = OurHitRate(trace.rows, settings.rows, fp32_slots, {});
    std::printf("| %s | %.2f | %.2f |\n", trace.name.c_str(), int8, fp32);
    lines.push_back({trace.name, {int8, fp32}});
  }
  for (const auto& [name, rates] : lines) {
    if (!settings.check) break;
    passed &= Verdict(rates[0] >= rates[1],
                      Format("%s: INT8's %.2f is at least fp32's %.2f", name, rates[0], rates[1]));
  }
  return passed;
}

}  // namespace

bool RunPolicy(const CacheSettings& settings) {
  bool passed = true;
  for (const double capacity : settings.capacities) {
    const uint32_t slots = static_cast<uint32_t>(capacity / 100 * settings.rows);
    std::printf("\nHit rates (%%), %u slots for %u rows (%g %%), %llu lookups:\n\n| trace |", slots,
                settings.rows, capacity, static_cast<unsigned long long>(settings.accesses));
    for (const char* column : kColumnNames) std::printf(" %s |", column);
    std::printf("\n|---|");
    for (size_t i = 0; i < kColumns; ++i) std::printf("---|");
    std::printf("\n");
    std::vector<std::pair<std::string, Results>> lines;
    for (size_t i = 0;; ++i) {
      const NamedTrace trace = PolicyTrace(i, settings.rows, settings.accesses);
      if (trace.rows.empty()) break;
      lines.push_back({trace.name, RunAll(trace.rows, settings.rows, slots)});
      PrintRow(trace.name, lines.back().second);
    }
    for (const auto& [name, rates] : lines) {
      if (settings.check && capacity == 1) passed &= CheckRow(name, rates);
    }
  }
  const Trace trace = ZipfTrace(settings.rows, settings.accesses, {});
  double stores = 0;
  OurHitRate(trace, settings.rows, settings.rows / 100, {}, &stores);
  std::printf("\nScores stored, Zipf 0.99 at 1 %%: %.3f a lookup\n", stores);
  return RunEqualBytes(settings, 1) && passed;
}

}  // namespace edo::bench
