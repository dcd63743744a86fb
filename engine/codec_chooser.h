// CodecChooser: the codec that keeps a goal over all rows of a spool. Codecs are tried on a sample;
// those that may keep the goal are then held against every row, the best first.
#pragma once

#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "engine/codec_trials.h"
#include "engine/row_spool.h"

namespace edo::engine {

class CodecChooser {
 public:
  struct Choice {
    CodecSpec codec;
    std::vector<std::byte> learned;
    std::string figures;  // in words
  };
  // `spool` and `learn` outlive the chooser.
  CodecChooser(const CodecGoal& goal, uint32_t dim, RowSpool* spool,
               const storage::LearnOptions& learn);

  // kBadInput when no codec keeps the goal.
  Result<Choice> Run();

 private:
  // Figures of a codec over all rows; false in *fits when it refuses a value.
  Result<QualityReport> Measure(const storage::Codec& codec, bool* fits);

  const CodecGoal goal_;
  const uint32_t dim_;
  RowSpool* const spool_;
  const storage::LearnOptions& learn_;
};

}  // namespace edo::engine
