#include "engine/balanced_kd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace edo::engine {
namespace {

constexpr uint32_t kSample = 4096;  // points that a direction is learned from
constexpr int kIterations = 32;

using Vector = std::array<double, kPointDims>;

class Bisector {
 public:
  Bisector(std::span<const float> points, uint64_t first_row, uint32_t leaf_rows)
      : points_(points),
        first_row_(first_row),
        leaf_rows_(leaf_rows),
        order_(points.size() / kPointDims),
        along_(order_.size()),
        scratch_(order_.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  std::vector<uint32_t> Run() && {
    Bisect(0, order_.size());
    return std::move(order_);
  }

 private:
  using Key = std::pair<float, uint32_t>;  // place along the direction, point

  // The ids of order_[begin, end) ascend on entry and in both halves, so that nothing depends on
  // how a library partitions.
  void Bisect(size_t begin, size_t end) {
    const uint64_t first_cut = (first_row_ + begin) / leaf_rows_ + 1;  // in leaves
    const uint64_t last_cut = (first_row_ + end - 1) / leaf_rows_;
    if (end - begin < 2 || last_cut < first_cut) return;
    const size_t middle = (first_cut + (last_cut - first_cut) / 2) * leaf_rows_ - first_row_;
    const Vector direction = PrincipalDirection(begin, end);
    for (size_t i = begin; i < end; ++i) {
      const float* point = Point(order_[i]);
      double along = 0;
      for (uint32_t d = 0; d < kPointDims; ++d) along += direction[d] * double{point[d]};
      along_[i] = static_cast<float>(along);
      scratch_[i] = {along_[i], order_[i]};
    }
    const auto at = [&](size_t i) { return scratch_.begin() + static_cast<ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end));
    const Key pivot = scratch_[middle];
    size_t left = begin, right = middle;
    for (size_t i = begin; i < end; ++i) {  // left never passes i
      const uint32_t id = order_[i];
      if (Key{along_[i], id} < pivot) {
        order_[left++] = id;
      } else {
        scratch_[right++].second = id;
      }
    }
    for (size_t i = middle; i < end; ++i) order_[i] = scratch_[i].second;
    Bisect(begin, middle);
    Bisect(middle, end);
  }

  const float* Point(uint32_t id) const { return points_.data() + size_t{id} * kPointDims; }

  // The first eigenvector of the covariance, by powers.
  Vector PrincipalDirection(size_t begin, size_t end) const {
    const size_t step = std::max<size_t>(1, (end - begin) / kSample);
    Vector mean{};
    size_t count = 0;
    for (size_t i = begin; i < end; i += step, ++count) {
      const float* point = Point(order_[i]);
      for (uint32_t d = 0; d < kPointDims; ++d) mean[d] += double{point[d]};
    }
    for (double& m : mean) m /= static_cast<double>(count);
    std::array<Vector, kPointDims> covariance{};
    for (size_t i = begin; i < end; i += step) {
      const float* point = Point(order_[i]);
      for (uint32_t a = 0; a < kPointDims; ++a) {
        const double x = double{point[a]} - mean[a];
        for (uint32_t b = 0; b < kPointDims; ++b) {
          covariance[a][b] += x * (double{point[b]} - mean[b]);
        }
      }
    }
    uint32_t widest = 0;
    for (uint32_t d = 1; d < kPointDims; ++d) {
      if (covariance[d][d] > covariance[widest][widest]) widest = d;
    }
    Vector direction = covariance[widest];
    for (int i = 0; i < kIterations; ++i) {
      double norm = 0;
      for (const double x : direction) norm += x * x;
      if (norm == 0) return Vector{};  // all points are one: they stay in order
      for (double& x : direction) x /= std::sqrt(norm);
      Vector next{};
      for (uint32_t a = 0; a < kPointDims; ++a) {
        for (uint32_t b = 0; b < kPointDims; ++b) next[a] += covariance[a][b] * direction[b];
      }
      direction = next;
    }
    double largest = 0;
    for (const double x : direction) largest = std::max(largest, std::abs(x));
    if (largest == 0) return Vector{};
    for (double& x : direction) x /= largest;
    return direction;
  }

  const std::span<const float> points_;
  const uint64_t first_row_;
  const uint32_t leaf_rows_;
  std::vector<uint32_t> order_;
  std::vector<float> along_;  // place of order_[i] along the direction
  std::vector<Key> scratch_;
};

}  // namespace

std::vector<uint32_t> BalancedKdOrder(std::span<const float> points, uint64_t first_row,
                                      uint32_t leaf_rows) {
  return Bisector(points, first_row, leaf_rows).Run();
}

}  // namespace edo::engine
