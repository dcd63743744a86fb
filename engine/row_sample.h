// RowSample: a uniform sample of rows that pass by, however many they are (algorithm R; J. Vitter,
// "Random Sampling with a Reservoir", 1985). The same rows give the same sample.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "edo/status.h"

namespace edo::engine {

class TableImpl;

class RowSample {
 public:
  RowSample(uint32_t dim, uint64_t most_rows) : dim_(dim), most_(most_rows) {}

  void Offer(std::span<const float> rows) {  // (count, dim)
    for (size_t at = 0; at < rows.size(); at += dim_, ++seen_) {
      uint64_t place = seen_;
      if (seen_ < most_) {
        sample_.insert(sample_.end(), &rows[at], &rows[at] + dim_);
      } else if ((place = random_() % (seen_ + 1)) < most_) {
        std::copy_n(&rows[at], dim_, sample_.begin() + static_cast<ptrdiff_t>(place * dim_));
      }
    }
  }
  uint64_t seen() const { return seen_; }

  // The sample in random order; spent by the call.
  std::vector<float> Take() {
    const size_t rows = sample_.size() / dim_;
    for (size_t i = 0; i + 1 < rows; ++i) {
      const size_t j = i + random_() % (rows - i);
      if (i == j) continue;
      const auto row = [&](size_t r) { return sample_.begin() + static_cast<ptrdiff_t>(r * dim_); };
      std::swap_ranges(row(i), row(i + 1), row(j));
    }
    return std::move(sample_);
  }

 private:
  const uint32_t dim_;
  const uint64_t most_;
  uint64_t seen_ = 0;
  std::vector<float> sample_;
  std::mt19937_64 random_{20260101};  // fixed: equal input gives equal tables
};

// Decoded rows among `count` rows of a table from `first` on, drawn at random, in random order:
// storage::SampleRows of them.
Result<std::vector<float>> SampleOf(const TableImpl& table, uint64_t first, uint64_t count,
                                    uint64_t seed);

}  // namespace edo::engine
