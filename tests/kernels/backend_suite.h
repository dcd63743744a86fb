// Tests of a Backend, written once and run on every one: the CPU, the CUDA kernels on the executor,
// and a GPU where there is one. What they compare with is plain loops over a model of the cache
// (backend_suite.cc), made from the rules in kernels/backend.h and kernels/score.h. Everything is
// compared to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace edo::test {

// What a cache holds at the end, as bytes.
struct CacheBytes {
  std::vector<std::byte> headers;
  std::vector<std::byte> payload;
  std::vector<uint8_t> pins;
  std::vector<uint32_t> next_use;  // empty where nobody looks ahead
  friend bool operator==(const CacheBytes&, const CacheBytes&) = default;
};

struct ScenarioOptions {
  kernels::RowCodec codec = kernels::RowCodec::kInt8;
  uint32_t dim = 32;
  uint32_t cell_bytes = 0;
  uint32_t group_shift = 2;
  uint64_t blocks = 3;
  uint64_t rows = 300;     // of the table
  uint32_t steps = 12;     // operations
  uint32_t most_ids = 40;  // of one
  uint64_t first_position = 12345;
  // Next uses are known, but for one row in so many; 0: nobody looks ahead.
  uint32_t unknown_one_in = 0;
};

// A random sequence of fills, reads, pools, pins, foresights, invalidations and sweeps, each
// checked against the model as it goes, and the model's state against the memory at the end, which
// is returned: the same options and seed must leave the same bytes on every backend.
CacheBytes RunScenario(kernels::Backend& backend, const ScenarioOptions& options, uint64_t seed);
// Options with everything drawn by the seed; small.
ScenarioOptions RandomScenario(uint64_t seed);

// One codec, output type and dimension: ProbeGather with duplicates, absent and missing rows, and
// Gather of rows at odd addresses; outputs with gaps, at odd addresses. NaN and infinities too. The
// seed draws what the codec has besides: parts, bits, what it has learned.
void CheckDecoding(kernels::Backend& backend, kernels::RowCodec codec, FloatType out, uint32_t dim,
                   uint32_t cell_bytes, uint64_t seed);
// All of kCodecs x kOutTypes x kSuiteDims, whole and in cells.
void CheckAllDecoding(kernels::Backend& backend, uint64_t seed);
// ProbePool and Pool over bags of all kinds: empty, of one, long, weighted, mean, with absent and
// with missing rows.
void CheckPooling(kernels::Backend& backend, kernels::RowCodec codec, FloatType out, uint32_t dim,
                  uint32_t cell_bytes, uint64_t seed);
// PQ, OPQ and RQ of chosen shapes, both ways: last parts that are shorter, codes of 4 and 8 bits,
// two groups of a rotation.
void CheckShapesOfParts(kernels::Backend& backend, uint64_t seed);
// Empty calls, a class without memory, one id many times, the last position there is, pins at their
// limit, a position named twice.
void CheckEdges(kernels::Backend& backend);
// Memory, streams, events and copies.
void CheckPlumbing(kernels::Backend& backend);

inline const std::vector<kernels::RowCodec> kCodecs = [] {
  std::vector<kernels::RowCodec> all;
  for (int i = 0; i < kernels::kRowCodecs; ++i) all.push_back(static_cast<kernels::RowCodec>(i));
  return all;
}();
inline const std::vector<FloatType> kOutTypes{FloatType::kF32, FloatType::kF16, FloatType::kBF16};
inline const std::vector<uint32_t> kSuiteDims{1, 3, 31, 32, 33, 64, 100, 128, 300, 768};

}  // namespace edo::test
