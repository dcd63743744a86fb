// What the cache workloads share. `policy` and `zorder` are simulations, deterministic, without
// store or device; `lookahead` counts hits of the cache itself, `cache` measures time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace edo::bench {

struct CacheSettings {
  uint32_t rows = 500'000;
  uint64_t accesses = 4'000'000;             // the first quarter warms up and is not counted
  std::vector<double> capacities{1, 5, 10};  // per cent of the rows
  bool check = false;
};

class Tally {  // counts hits after the warm-up
 public:
  explicit Tally(size_t accesses) : warm_(accesses / 4) {}
  void Add(bool hit) { hits_ += hit && seen_ >= warm_, ++seen_; }
  double Percent() const {
    return 100.0 * static_cast<double>(hits_) / static_cast<double>(seen_ - warm_);
  }

 private:
  size_t warm_, seen_ = 0, hits_ = 0;
};

// Prints a line "PASS what" or "FAIL what"; returns whether it passed.
bool Verdict(bool passed, const std::string& what);

// The workloads (one file each). They return whether all targets are met.
bool RunPolicy(const CacheSettings& settings);
bool RunLookahead(const CacheSettings& settings);
bool RunZorder(const CacheSettings& settings);
bool RunHitPath(const CacheSettings& settings);

}  // namespace edo::bench
