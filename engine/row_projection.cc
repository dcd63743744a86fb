#include "engine/row_projection.h"

#include <algorithm>
#include <cmath>

namespace edo::engine {
namespace {

constexpr int kIterations = 12;

// One over the length of a row; 0 for a row of zeros and for one that is not finite.
float InverseNorm(const float* row, uint32_t dim) {
  double squares = 0;
  for (uint32_t c = 0; c < dim; ++c) squares += double{row[c]} * double{row[c]};
  return std::isfinite(squares) && squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f;
}

uint64_t NextRandom(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Makes the columns of `basis` (dim, kPointDims) orthonormal, in their order; what is left of a
// column that the others span becomes zero.
void Orthonormalise(std::vector<double>* basis, uint32_t dim) {
  const auto at = [&](uint32_t c, uint32_t k) -> double& {
    return (*basis)[size_t{c} * kPointDims + k];
  };
  for (uint32_t k = 0; k < kPointDims; ++k) {
    double before = 0;
    for (uint32_t c = 0; c < dim; ++c) before += at(c, k) * at(c, k);
    for (uint32_t j = 0; j < k; ++j) {
      double dot = 0;
      for (uint32_t c = 0; c < dim; ++c) dot += at(c, j) * at(c, k);
      for (uint32_t c = 0; c < dim; ++c) at(c, k) -= dot * at(c, j);
    }
    double squares = 0;
    for (uint32_t c = 0; c < dim; ++c) squares += at(c, k) * at(c, k);
    const double scale = squares > before * 1e-20 ? 1 / std::sqrt(squares) : 0;
    for (uint32_t c = 0; c < dim; ++c) at(c, k) *= scale;
  }
}

}  // namespace

// Principal directions of the sample by subspace iteration.
RowProjection::RowProjection(std::vector<float> sample, uint32_t dim)
    : dim_(dim), directions_(size_t{dim} * kPointDims) {
  const size_t count = sample.size() / dim;
  std::vector<double> mean(dim);
  for (size_t r = 0; r < count; ++r) {
    float* row = sample.data() + r * dim;
    const float scale = InverseNorm(row, dim);
    for (uint32_t c = 0; c < dim; ++c) {
      row[c] = scale == 0 ? 0.0f : row[c] * scale;
      mean[c] += double{row[c]};
    }
  }
  for (double& m : mean) m /= static_cast<double>(std::max<size_t>(count, 1));
  std::vector<double> basis(directions_.size());
  uint64_t random = 1;
  for (double& x : basis) x = static_cast<double>(NextRandom(&random) >> 11) * 0x1p-53 - 0.5;
  Orthonormalise(&basis, dim);
  std::vector<double> next(basis.size());
  for (int i = 0; i < kIterations; ++i) {
    std::fill(next.begin(), next.end(), 0.0);
    for (size_t r = 0; r < count; ++r) {
      const float* row = sample.data() + r * dim;
      double along[kPointDims] = {};
      for (uint32_t c = 0; c < dim; ++c) {
        const double x = double{row[c]} - mean[c];
        for (uint32_t k = 0; k < kPointDims; ++k) along[k] += x * basis[size_t{c} * kPointDims + k];
      }
      for (uint32_t c = 0; c < dim; ++c) {
        const double x = double{row[c]} - mean[c];
        for (uint32_t k = 0; k < kPointDims; ++k) next[size_t{c} * kPointDims + k] += x * along[k];
      }
    }
    basis.swap(next);
    Orthonormalise(&basis, dim);
  }
  double offset[kPointDims] = {};
  for (uint32_t c = 0; c < dim; ++c) {
    for (uint32_t k = 0; k < kPointDims; ++k) {
      const double x = basis[size_t{c} * kPointDims + k];
      directions_[size_t{c} * kPointDims + k] = static_cast<float>(x);
      offset[k] += x * mean[c];
    }
  }
  for (uint32_t k = 0; k < kPointDims; ++k) offset_[k] = static_cast<float>(offset[k]);
}

void RowProjection::Project(const float* row, float* points) const {
  const float scale = InverseNorm(row, dim_);
  float along[kPointDims] = {};
  for (uint32_t c = 0; c < dim_ && scale != 0; ++c) {
    for (uint32_t k = 0; k < kPointDims; ++k) {
      along[k] += row[c] * scale * directions_[size_t{c} * kPointDims + k];
    }
  }
  for (uint32_t k = 0; k < kPointDims; ++k) points[k] = along[k] - offset_[k];
}

}  // namespace edo::engine
