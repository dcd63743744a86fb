// RowQuality: tallies how well decoded rows keep their originals, in constant memory (about 300 KB)
// however many rows there are. One thread at a time; each thread may have its own, joined by Merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "edo/quality.h"
#include "engine/neighbour_overlap.h"

namespace edo::engine {

// Values of which the 1st percentile from above is wanted: all of them while they are few, else
// counts by the leading bits, 128 bins an octave.
class TopPercentile {
 public:
  void Add(double value);  // not negative, not nan
  void Merge(const TopPercentile& other);
  double Get() const;  // of the ceil(count / 100)-th largest; 0 without values

 private:
  void Spill();
  static size_t BinOf(double value);

  uint64_t count_ = 0;
  std::vector<double> values_;  // while bins_ is empty
  std::vector<uint64_t> bins_;
};

class RowQuality {
 public:
  RowQuality(uint32_t dim, const QualityOptions& options);

  // original and decoded: (count, dim); the rows are numbered from first_row.
  void Add(const float* original, const float* decoded, size_t count, uint64_t first_row);
  void Merge(const RowQuality& other);  // of the same dim and options
  QualityReport Report() const;         // without overlap and keys

 private:
  struct Bucket {
    uint64_t rows = 0;
    double error_sum = 0, error_worst = 0;
    double cosine_sum = 0, cosine_worst = 1;
  };
  struct Sums;  // of one row

  void AddNonFinite(const float* x, const float* y);
  void Score(const Sums& sums, uint64_t row);
  void OfferWorst(const WorstRow& row);

  const uint32_t dim_;
  const QualityOptions options_;
  QualityReport
      counts_;  // its counters and worst values; means and percentiles are made at the end
  double error_sum_ = 0, energy_sum_ = 0, rel_error_sum_ = 0, cosine_loss_sum_ = 0;
  TopPercentile rel_errors_, cosine_losses_;
  std::vector<WorstRow> worst_;           // a heap, the best of them on top
  std::map<size_t, Bucket> norms_;        // by step of the norm
  std::map<size_t, uint64_t> histogram_;  // by step of the relative error
};

}  // namespace edo::engine
