// PositionMap: from row numbers to places in the source (line numbers), as runs of equal distance.
// An ordinary file is one run however long it is; each skipped line begins a new one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace edo::engine {

class PositionMap {
 public:
  // Row `row` stands at `position`. Rows come in order.
  void Add(uint64_t row, uint64_t position) {
    if (runs_.empty() || runs_.back().position + (row - runs_.back().row) != position) {
      runs_.push_back({row, position});
    }
  }
  // Place of a row that was added; a row never added stands at its own number.
  uint64_t Of(uint64_t row) const {
    auto run = std::upper_bound(runs_.begin(), runs_.end(), row,
                                [](uint64_t value, const Run& r) { return value < r.row; });
    if (run == runs_.begin()) return row;
    --run;
    return run->position + (row - run->row);
  }

 private:
  struct Run {
    uint64_t row;
    uint64_t position;
  };
  std::vector<Run> runs_;
};

}  // namespace edo::engine
