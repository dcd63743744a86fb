// CodecChooser: the codec of some rows of a table - all, or those behind hot tiers - with which all
// rows of it keep a goal. Codecs are tried on a sample; those that may keep the goal are then held
// against every row, the best first.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "engine/codec_trials.h"
#include "engine/row_quality.h"
#include "engine/row_sample.h"

namespace edo::engine {

class CodecChooser {
 public:
  struct Choice {
    CodecSpec codec;
    std::vector<std::byte> learned;
    std::string figures;  // in words, of all rows of the table
  };
  // Rows (count, dim) and the codes that they get.
  using CodedFunction =
      std::function<Status(std::span<const float> rows, std::span<const std::byte> codes)>;
  // Rows of the table that have one codec.
  struct Part {
    uint64_t rows = 0;
    // All of them through a codec, as often as it is called. kBadInput: the codec refuses a value.
    std::function<Status(const storage::Codec&, const CodedFunction&)> for_each;
  };
  struct HotPart : Part {
    const storage::Codec* codec = nullptr;
  };
  struct Source {
    uint32_t dim = 0;
    Part part;                  // that a codec is sought for
    std::vector<float> sample;  // of it, at random, in random order
    std::vector<HotPart> hot;   // the rows before it
    // Codecs that most rows of the part are in already, and so would stay to the bit.
    std::vector<CodecSpec> held;
    // Of SettledRows; may be empty.
    std::function<bool(const CodecSpec&, std::vector<std::byte>* learned)> known;
  };
  // `learn` outlives the chooser.
  CodecChooser(const CodecGoal& goal, Source source, const storage::LearnOptions& learn);

  // kGoalMissed when no codec keeps the goal; kBadInput without rows.
  Result<Choice> Run();

 private:
  // How well rows come back, and some of them, among which neighbours are sought.
  struct Measured {
    explicit Measured(uint32_t dim) : quality(dim, {.worst_rows = 0}) {}
    void Merge(const Measured& other);
    RowQuality quality;
    std::vector<float> kept, kept_decoded;
  };
  Status Measure(const Part& part, const storage::Codec& codec, uint64_t first_row,
                 RowSample* pairs, Measured* measured) const;
  Status MeasureHot(const AdviseCodecOptions& options);
  // Of the hot rows and those that were measured.
  QualityReport Together(const Measured& measured) const;
  std::string Figures(const CodecSpec& codec, const QualityReport& quality, uint64_t bytes) const;
  Status NoneKeeps(const std::string& missed) const;

  const CodecGoal goal_;
  Source source_;
  const uint32_t dim_ = source_.dim;
  const storage::LearnOptions& learn_;
  uint64_t hot_rows_ = 0;
  uint64_t stride_ = 0;  // of rows that are kept; 0: none are
  Measured hot_;
  SettledRows settled_;
  std::string hot_missed_;  // what hot tiers miss by themselves
};

}  // namespace edo::engine
