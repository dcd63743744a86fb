// Mixed precision: the rows with the lowest row numbers in finer codecs than the rest, as tiers of
// one table. With an order by counts of use (row_order.h) those are the rows used most.
//
//   options.codec = *CodecSpec::Parse("PQ25x8");
//   options.hot = {{.rows = 100'000, .codec = *CodecSpec::Parse("INT8")},
//                  {.percent = 10, .codec = *CodecSpec::Parse("L4")}};
#pragma once

#include <cstdint>
#include <vector>

#include "edo/codec_spec.h"
#include "edo/status.h"

namespace edo {

// The next rows, behind those of the tiers before it.
struct HotTier {
  uint64_t rows = 0;
  double percent = 0;  // where rows is 0: of all rows of the table, rounded up
  CodecSpec codec{};
};

inline constexpr size_t kMostTiers = 16;  // of a table, with the last

// kInvalidArgument: too many, one without rows or with both numbers, a share that is not in (0,
// 100), or a codec that does not take rows of `dim` values.
Status CheckHotTiers(const std::vector<HotTier>& hot, uint32_t dim);

}  // namespace edo
