// What quality, and how many bytes, a caller asks of a codec.
#pragma once

#include <cstdint>
#include <optional>

#include "edo/status.h"

namespace edo {

// What quality a caller asks for.
struct QualityBudget {
  enum class At : uint8_t { kMean, kP1, kWorst };
  std::optional<double> max_rel_error;  // of the mean, the 99th percentile or the worst row
  std::optional<double> min_cosine;     // of the mean, the 1st percentile or the worst row
  At at = At::kP1;
  std::optional<double> min_overlap;

  bool empty() const { return !max_rel_error && !min_cosine && !min_overlap; }
  Status Validate() const;  // numbers that no report can be compared with
};

// Of the codecs that keep `quality`, the one of fewest bytes. With `max_bytes` (of rows and of what
// the codec has learned, without keys): of those that fit and keep `quality`, the one of the
// highest 1st percentile of cosine. Where a table has hot tiers (hot_tiers.h) figures and bytes are
// those of all its tiers together; the codec sought is the last tier's.
struct CodecGoal {
  QualityBudget quality;
  std::optional<uint64_t> max_bytes;

  Status Validate() const;
};

}  // namespace edo
