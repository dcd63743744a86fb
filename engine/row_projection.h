// RowProjection: rows as points of a few dimensions, near each other where the rows point the same
// way: rows of length one, along the directions in which a sample of them differs most. The same
// sample gives the same projection on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/balanced_kd.h"

namespace edo::engine {

class RowProjection {
 public:
  // `sample`: (n, dim), consumed. A row with inf or nan counts as a row of zeros.
  RowProjection(std::vector<float> sample, uint32_t dim);

  // points: (kPointDims) of a row of dim values.
  void Project(const float* row, float* points) const;

 private:
  const uint32_t dim_;
  std::vector<float> directions_;  // (dim, kPointDims)
  float offset_[kPointDims] = {};  // of the sample's mean
};

}  // namespace edo::engine
