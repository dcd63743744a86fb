// The rotation of OPQ (T. Ge et al., "Optimized Product Quantization for Approximate Nearest
// Neighbor Search", CVPR 2013): eigenvalue allocation to start from, then rounds of "quantise" and
// "turn to what was quantised". The only place that knows Eigen. Matrices are (columns, columns),
// row by row; a rotated vector is matrix * vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace edo::storage {

// Principal directions of `vectors` (count, columns; `stride` floats apart), dealt to parts of the
// given widths so that the parts' products of variances are alike.
std::vector<float> BalancedDirections(const float* vectors, size_t count, size_t stride,
                                      uint32_t columns, std::span<const uint32_t> widths);

// The rotation that brings `vectors` closest to `targets` (count, columns) in the sum of squares:
// U V^T of the singular value decomposition of targets^T vectors (orthogonal Procrustes problem,
// P. Schoenemann, 1966).
std::vector<float> ClosestRotation(const float* vectors, size_t stride, const float* targets,
                                   size_t count, uint32_t columns);

}  // namespace edo::storage
