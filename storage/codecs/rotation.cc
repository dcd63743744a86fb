#include "storage/codecs/rotation.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

namespace edo::storage {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatRows =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0,
               Eigen::OuterStride<>>;

FloatRows RowsOf(const float* values, size_t count, size_t stride, uint32_t columns) {
  return {values, static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(columns),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(stride))};
}

// a^T b, some rows at a time so that doubles of few rows are held.
Matrix Products(const FloatRows& a, const FloatRows& b) {
  Matrix sum = Matrix::Zero(a.cols(), b.cols());
  constexpr Eigen::Index kRows = 1024;
  for (Eigen::Index at = 0; at < a.rows(); at += kRows) {
    const Eigen::Index rows = std::min(kRows, a.rows() - at);
    sum.noalias() +=
        a.middleRows(at, rows).cast<double>().transpose() * b.middleRows(at, rows).cast<double>();
  }
  return sum;
}

std::vector<float> Floats(const Matrix& matrix) {
  std::vector<float> values(static_cast<size_t>(matrix.size()));
  std::transform(matrix.data(), matrix.data() + matrix.size(), values.begin(),
                 [](double v) { return static_cast<float>(v); });
  return values;
}

}  // namespace

std::vector<float> BalancedDirections(const float* vectors, size_t count, size_t stride,
                                      uint32_t columns, std::span<const uint32_t> widths) {
  const FloatRows x = RowsOf(vectors, count, stride, columns);
  // Second moments, not variances: a quantiser must reach the mean as well.
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(
      Products(x, x) / std::max<double>(1, static_cast<double>(count)));
  const auto& directions = solver.eigenvectors();  // by ascending eigenvalue
  std::vector<double> logs(widths.size());
  std::vector<std::vector<uint32_t>> dealt(widths.size());
  for (uint32_t i = 0; i < columns; ++i) {
    const uint32_t from = columns - 1 - i;  // the largest first
    size_t part = widths.size();
    for (size_t p = 0; p < widths.size(); ++p) {
      if (dealt[p].size() == widths[p]) continue;
      if (part == widths.size() || logs[p] < logs[part]) part = p;
    }
    dealt[part].push_back(from);
    const double tiny = 1e-12 * std::max(solver.eigenvalues()[columns - 1], 1e-300);
    // Products grow only while factors are above 1; a common factor changes nothing.
    logs[part] += std::log(std::max(solver.eigenvalues()[from], tiny) / tiny);
  }
  Matrix rotation(columns, columns);
  Eigen::Index row = 0;
  for (const auto& part : dealt) {
    for (const uint32_t from : part) rotation.row(row++) = directions.col(from).transpose();
  }
  return Floats(rotation);
}

std::vector<float> ClosestRotation(const float* vectors, size_t stride, const float* targets,
                                   size_t count, uint32_t columns) {
  const Matrix products =
      Products(RowsOf(targets, count, columns, columns), RowsOf(vectors, count, stride, columns));
  const Eigen::BDCSVD<Matrix> svd(products, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return Floats(svd.matrixU() * svd.matrixV().transpose());
}

}  // namespace edo::storage
