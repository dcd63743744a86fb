#include "engine/neighbour_overlap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/nearest_rows.h"

namespace edo::engine {
namespace {

bool TakesPart(const float* row, uint32_t dim) {
  double squares = 0;
  for (uint32_t c = 0; c < dim; ++c) squares += double{row[c]} * double{row[c]};
  return std::isfinite(squares) && squares > 0;
}

}  // namespace

NeighbourSample::NeighbourSample(const float* original, size_t rows, uint32_t dim,
                                 const OverlapOptions& options)
    : dim_(dim), threads_(options.threads) {
  for (size_t r = 0; r < rows; ++r) {
    if (TakesPart(original + r * dim, dim)) rows_.push_back(r);
  }
  if (rows_.size() < 2) return;
  neighbours_ = std::min<size_t>(options.neighbours, rows_.size() - 1);
  // std::sample may differ between libraries; this draw does not.
  std::mt19937_64 random(options.seed);
  const size_t wanted = std::min<size_t>(options.queries, rows_.size());
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (random() % (rows_.size() - r) < wanted - queries_.size()) queries_.push_back(rows_[r]);
  }
  neighbours_of_ = NeighboursAmong(original);
}

std::vector<std::vector<size_t>> NeighbourSample::NeighboursAmong(const float* values) const {
  std::vector<float> units(queries_.size() * dim_);
  for (size_t q = 0; q < queries_.size(); ++q) {
    UnitRow(values + queries_[q] * dim_, dim_, units.data() + q * dim_);
  }
  // One more than asked: a query row is usually its own nearest.
  const auto near = NearestRows(values, rows_, dim_, units, neighbours_ + 1, threads_);
  std::vector<std::vector<size_t>> lists(near.size());
  for (size_t q = 0; q < near.size(); ++q) {
    for (const NearRow& row : near[q]) {
      if (row.row != queries_[q] && lists[q].size() < neighbours_) lists[q].push_back(row.row);
    }
    std::sort(lists[q].begin(), lists[q].end());
  }
  return lists;
}

double NeighbourSample::Overlap(const float* decoded) const {
  if (queries_.empty() || neighbours_ == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto lists = NeighboursAmong(decoded);
  uint64_t same = 0;
  for (size_t q = 0; q < lists.size(); ++q) {
    for (const size_t row : lists[q]) {
      same += std::binary_search(neighbours_of_[q].begin(), neighbours_of_[q].end(), row);
    }
  }
  return static_cast<double>(same) / static_cast<double>(queries_.size() * neighbours_);
}

double NeighbourOverlap(const float* original, const float* decoded, size_t rows, uint32_t dim,
                        const OverlapOptions& options) {
  return NeighbourSample(original, rows, dim, options).Overlap(decoded);
}

}  // namespace edo::engine
