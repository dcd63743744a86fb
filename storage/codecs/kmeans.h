// k-means as codebooks are trained by (S. Lloyd, 1957/1982): from distinct vectors drawn by a seed,
// a fixed number of rounds of assignment and mean. A centroid that no vector is nearest to moves to
// the vector that is worst served. Sums go in the vectors' order, so that the result does not
// depend on the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "edo/status.h"

namespace edo::storage {

struct KMeansOptions {
  uint32_t clusters = 256;
  uint32_t rounds = 25;
  uint64_t seed = 1;
  bool start_from_centroids = false;  // those given, instead of vectors
  std::function<Status()> step{};     // asked every round
};

// `vectors`: `count` of `values` floats each, `stride` floats apart. `centroids`: (clusters,
// values), out. With no more vectors than clusters each vector has a centroid of its own; what is
// left over repeats them. No vectors: zeros.
Status KMeans(const float* vectors, size_t count, size_t stride, uint32_t values,
              const KMeansOptions& options, float* centroids);

}  // namespace edo::storage
