// CodecChooser: the codec that keeps a goal over all rows of a table. Codecs are tried on a sample;
// those that may keep the goal are then held against every row, the best first.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "engine/codec_trials.h"

namespace edo::engine {

class CodecChooser {
 public:
  struct Choice {
    CodecSpec codec;
    std::vector<std::byte> learned;
    std::string figures;  // in words
  };
  using RowsFunction = std::function<Status(std::span<const float> rows)>;  // (count, dim)
  struct Source {
    uint32_t dim = 0;
    uint64_t rows = 0;
    std::vector<float> sample;                            // at random, in random order
    std::function<Status(const RowsFunction&)> for_each;  // all rows, as often as it is called
  };
  // `learn` outlives the chooser.
  CodecChooser(const CodecGoal& goal, Source source, const storage::LearnOptions& learn);

  // kBadInput when no codec keeps the goal.
  Result<Choice> Run();

 private:
  // Figures of a codec over all rows; false in *fits when it refuses a value.
  Result<QualityReport> Measure(const storage::Codec& codec, bool* fits);

  const CodecGoal goal_;
  const Source source_;
  const uint32_t dim_ = source_.dim;
  const storage::LearnOptions& learn_;
};

}  // namespace edo::engine
