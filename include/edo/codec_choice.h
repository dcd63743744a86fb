// Which codec a table can do with: the ladder of codecs tried on rows of it, and the smallest that
// keeps a budget.
//
//   auto advice = edo::AdviseCodec(edo::SourceOptions{.path = "glove.txt"},
//                                  {.goal = {.quality = {.min_cosine = 0.99}}});
//   if (advice->best) std::cout << advice->best->ToString();
//
// An import with ImportOptions::choose_codec does the same over all rows and stores the table so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "edo/codec_spec.h"
#include "edo/options.h"
#include "edo/quality.h"
#include "edo/status.h"
#include "edo/table.h"
#include "edo/transfer.h"

namespace edo {

struct CodecTrial {
  CodecSpec codec;
  uint64_t row_bytes = 0;
  uint64_t bytes = 0;  // of all rows of the table and what the codec has learned
  double bits = 0;     // of `row_bytes` a value
  QualityReport quality;
  double learn_seconds = 0;
  double encode_ns = 0;             // a row, one thread
  double decode_ns = 0;             // a row to f32, rows at random places of the sample, one thread
  std::vector<std::string> missed;  // of the goal, in words; also why rows could not be encoded
};

struct AdviseCodecOptions {
  CodecGoal goal{};
  std::vector<CodecSpec> codecs{};  // to try; empty: CodecLadder
  uint64_t test_rows = 8192;        // rows that errors are measured on
  uint64_t overlap_rows = 20000;    // rows among which neighbours are sought; 0: no overlap
  uint64_t seed = 1;
  uint32_t threads = 2;
  ProgressFunction progress{};  // counts codecs

  Status Validate() const;
};

struct CodecAdvice {
  uint64_t rows = 0;  // of the whole
  uint32_t dim = 0;
  uint64_t rows_learned = 0;  // that codecs which learn were taught
  uint64_t rows_tested = 0;
  bool held_out = false;           // whether no row tested was among those learned
  std::vector<CodecTrial> trials;  // by bytes, the largest first
  std::optional<CodecSpec> best;   // none: nothing keeps the goal
};

// The rungs that are tried for rows of this dim.
std::vector<CodecSpec> CodecLadder(uint32_t dim);

// Draws rows at random, teaches codecs with most of them and measures all with the rest - with all
// when there are fewer than 20,000. Of a file every row is read. Errors are those of reading; a
// codec that rows do not fit is a trial that missed. Memory: the sample (256 MiB at most) three
// times. Cost: seconds to minutes, most of it learning.
Result<CodecAdvice> AdviseCodec(const Table& table, const AdviseCodecOptions& options);
Result<CodecAdvice> AdviseCodec(const SourceOptions& source, const AdviseCodecOptions& options);

}  // namespace edo
