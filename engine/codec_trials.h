// Codecs tried on sample rows; shared by the advice and by writers that choose their codec.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "edo/codec_choice.h"
#include "engine/neighbour_overlap.h"
#include "storage/codec.h"

namespace edo::engine {

// Rows (n, dim) to codes (n, row_bytes), and back, in several threads; the bytes do not depend on
// them.
Status EncodeInThreads(const storage::Codec& codec, std::span<const float> rows, uint32_t threads,
                       std::vector<std::byte>* codes);
void DecodeInThreads(const storage::Codec& codec, std::span<const std::byte> codes,
                     uint32_t threads, std::vector<float>* rows);

// What is settled of a table when a codec is sought for some of its rows.
struct SettledRows {
  // Of the others: how many there are, for each row that a codec is sought for; their bytes and
  // those of what their codecs have learned; some of them (n, dim), in random order, as they are
  // and as their codecs give them back.
  double share = 0;
  uint64_t bytes = 0;
  std::vector<float> sample, decoded;
  // Sets what a codec has learned already and will not learn anew; false where it would learn.
  std::function<bool(const CodecSpec&, std::vector<std::byte>* learned)> known;
};

// A random sample split into rows that teach and rows that test.
class TrialRows {
 public:
  // `sample`: (n, dim) in random order. With `settled` figures are of all rows of the table.
  TrialRows(std::vector<float> sample, uint32_t dim, const AdviseCodecOptions& options,
            SettledRows settled = {});

  uint32_t dim() const { return dim_; }
  std::span<const float> learn() const { return learn_; }
  std::span<const float> test() const { return test_; }
  bool held_out() const { return held_out_; }
  // Of the table, with `table_rows` rows in this codec.
  uint64_t BytesWith(const CodecSpec& codec, uint64_t table_rows) const;
  // What a codec has learned, or learns from learn(), or from the whole sample.
  Result<std::vector<std::byte>> Learn(const CodecSpec& codec,
                                       const storage::LearnOptions& options) const;
  Result<std::vector<std::byte>> LearnFromAll(const CodecSpec& codec,
                                              const storage::LearnOptions& options) const;
  // Of test() rows, decoded, and of those whose codecs are settled; overlap where it was asked for.
  QualityReport Quality(std::vector<float> decoded) const;
  // Its overlap alone.
  std::optional<double> Overlap(std::vector<float> decoded) const;

 private:
  Result<std::vector<std::byte>> LearnFrom(std::span<const float> rows, const CodecSpec& codec,
                                           const storage::LearnOptions& options) const;

  const std::vector<float> sample_;
  const uint32_t dim_;
  SettledRows settled_;
  std::span<const float> learn_, test_;
  bool held_out_ = false;
  uint64_t overlap_rows_ = 0;
  std::unique_ptr<const NeighbourSample> neighbours_;
};

// One codec on these rows, for `table_rows` rows. Errors: those of `step` only; a codec that does
// not fit the dim or the rows is a trial that says so.
Result<CodecTrial> TryCodec(const CodecSpec& codec, const TrialRows& rows, uint64_t table_rows,
                            const AdviseCodecOptions& options, const std::function<Status()>& step);

// What of the goal a trial misses.
std::vector<std::string> MissedOf(const CodecGoal& goal, const QualityReport& quality,
                                  uint64_t bytes);

// The best of the trials, by the goal; those that missed something are left out.
const CodecTrial* BestOf(const CodecGoal& goal, std::span<const CodecTrial> trials);

// The trials that may keep the goal over a whole table although they missed it by little on a
// sample, the best first.
std::vector<const CodecTrial*> Candidates(const CodecGoal& goal,
                                          std::span<const CodecTrial> trials);

// Tries what a goal needs beside the `trials` that were made already, and adds it to them: families
// of falling size are given up at their first clear miss.
Status TryForGoal(const TrialRows& rows, uint64_t table_rows, const AdviseCodecOptions& options,
                  const std::function<Status()>& step, std::vector<CodecTrial>* trials);

}  // namespace edo::engine
