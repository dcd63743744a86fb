// CodecFigures: what one codec does to rows that it has not learned from, and what it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/codec/gather_times.h"
#include "edo/codec_choice.h"
#include "engine/codec_trials.h"

namespace edo::bench {

struct CodecFigures {
  std::string name;
  uint64_t row_bytes = 0, learned_bytes = 0;
  double row_bits = 0;  // a value, scale and gain included
  double bits = 0;      // with what the table has learned, spread over its rows
  QualityReport quality;
  std::optional<double> learn_seconds, encode_ns;  // a row
  std::optional<GatherTime> hot, memory;
  std::string refused;  // why rows could not be encoded
};

struct BenchRows {
  uint32_t dim = 0;
  std::span<const float> learn, test;             // (n, dim)
  const engine::TrialRows* neighbours = nullptr;  // whose test rows `test` are; null: no overlap
};

struct FiguresOptions {
  uint32_t threads = 2;  // that learn; encoding and decoding are timed in one
  uint64_t seed = 1;
  int rounds = 9;
  const GatherTimes* times = nullptr;  // null: not timed
};

// One codec; L4+4 also gives "L4+4 base", its first half read as L4.
std::vector<CodecFigures> FiguresOf(const CodecSpec& codec, const BenchRows& rows,
                                    uint64_t table_rows, const FiguresOptions& options);

// INT4 absmax and INT4 min-max, which EDO has not: their errors only.
std::vector<CodecFigures> PlainInt4Figures(const BenchRows& rows);

// CodecLadder and rungs at 1, 2, 4 and 8 bits a value of PQ with 4- and 8-bit codes.
std::vector<CodecSpec> TableLadder(uint32_t dim);
// CodecLadder, and PQ and OPQ at every width from 2 to 16.
std::vector<CodecSpec> EveryWidth(uint32_t dim);

}  // namespace edo::bench
