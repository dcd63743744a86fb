// Made-up traces of row numbers for the cache workloads, the same in every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edo::bench {

using Trace = std::vector<uint32_t>;

struct NamedTrace {
  std::string name;
  Trace rows;
};

struct ZipfOptions {
  double exponent = 0.99;
  // Every `drift_every` accesses, `drift_swaps` rows drawn by popularity change places with rows
  // drawn at random. 0: no drift.
  uint64_t drift_every = 0;
  uint32_t drift_swaps = 0;
  bool by_rank = false;  // row number = rank; else ranks are spread over the rows at random
};
Trace ZipfTrace(uint32_t rows, uint64_t accesses, const ZipfOptions& options);

// The traces of the policy workload, made one at a time: trace `i`, empty when there is none.
NamedTrace PolicyTrace(size_t i, uint32_t rows, uint64_t accesses);

}  // namespace edo::bench
