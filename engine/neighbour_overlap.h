// Of the nearest rows of a row, how many stay its nearest when all rows are decoded from codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edo/quality.h"

namespace edo::engine {

// The neighbours, by cosine, of a sample of rows among the originals; decoded rows of any number of
// codecs can be held against them. Rows of zeros and rows with inf or nan take no part; of equal
// cosines the lower row is nearer. Overlap may be called from several threads at once.
// Cost: queries * rows * dim multiplications for the originals and for each Overlap. Memory: of the
// sample, beside the caller's rows.
class NeighbourSample {
 public:
  // original: (rows, dim), used by the constructor only.
  NeighbourSample(const float* original, size_t rows, uint32_t dim, const OverlapOptions& options);

  // decoded: (rows, dim). Mean share, 0 to 1, of each query's neighbours that are the same with
  // query and rows decoded. A row that came back as zeros is nobody's neighbour but by its number.
  // nan when fewer than two rows take part.
  double Overlap(const float* decoded) const;

 private:
  std::vector<std::vector<size_t>> NeighboursAmong(const float* values) const;

  const uint32_t dim_;
  const uint32_t threads_;
  size_t neighbours_ = 0;                           // fewer than asked when there are few rows
  std::vector<size_t> rows_;                        // that take part, ascending
  std::vector<size_t> queries_;                     // of those
  std::vector<std::vector<size_t>> neighbours_of_;  // (queries) each ascending by row
};

// The same for one set of decoded rows.
double NeighbourOverlap(const float* original, const float* decoded, size_t rows, uint32_t dim,
                        const OverlapOptions& options);

}  // namespace edo::engine
