#include "storage/codecs/kmeans.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/codec_kernels.h"

namespace edo::storage {
namespace {

// `count` of the numbers below `range`, without repeats, in the order drawn. The standard's
// distributions differ between libraries; the engine does not.
std::vector<uint32_t> Draw(size_t range, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> numbers(range);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (size_t i = 0; i < count; ++i) {
    std::swap(numbers[i], numbers[i + random() % (range - i)]);
  }
  numbers.resize(count);
  return numbers;
}

class Rounds {
 public:
  Rounds(const float* vectors, size_t count, size_t stride, uint32_t values,
         const KMeansOptions& options, float* centroids)
      : count_(count),
        values_(values),
        options_(options),
        centroids_(centroids),
        packed_(count * values),
        table_(kernels::CentroidTableFloats(options.clusters, values)),
        nearest_(count),
        scores_(count),
        sums_(size_t{options.clusters} * values),
        sizes_(options.clusters) {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&packed_[i * values], vectors + i * stride, size_t{values} * sizeof(float));
    }
  }

  void Start() {
    const size_t k = options_.clusters;
    const std::vector<uint32_t> drawn = Draw(count_, std::min(k, count_), options_.seed);
    for (size_t j = 0; j < k; ++j) {
      std::memcpy(Centroid(j), Vector(drawn[j % drawn.size()]), VectorBytes());
    }
  }

  void Round() {
    kernels::FillCentroidTable(centroids_, options_.clusters, values_, table_.data());
    kernels::NearestCentroids(packed_.data(), count_, values_, values_, table_.data(),
                              options_.clusters, nearest_.data(), scores_.data());
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(sizes_.begin(), sizes_.end(), 0u);
    for (size_t i = 0; i < count_; ++i) {
      const size_t j = nearest_[i];
      ++sizes_[j];
      const float* const vector = Vector(i);
      double* const sum = &sums_[j * values_];
      for (uint32_t t = 0; t < values_; ++t) sum[t] += vector[t];
    }
    size_t empty = 0;
    for (size_t j = 0; j < options_.clusters; ++j) {
      if (sizes_[j] == 0) {
        ++empty;
        continue;
      }
      for (uint32_t t = 0; t < values_; ++t) {
        Centroid(j)[t] = static_cast<float>(sums_[j * values_ + t] / sizes_[j]);
      }
    }
    if (empty > 0) Repair(empty);
  }

 private:
  const float* Vector(size_t i) const { return &packed_[i * values_]; }
  float* Centroid(size_t j) { return centroids_ + j * values_; }
  size_t VectorBytes() const { return size_t{values_} * sizeof(float); }

  // Empty clusters take the vectors that lie farthest from their centroid.
  void Repair(size_t empty) {
    std::vector<float> distances(count_);
    for (size_t i = 0; i < count_; ++i) {
      distances[i] = kernels::ScaledSumOfSquares(Vector(i), values_, 1) + 2 * scores_[i];
    }
    std::vector<uint32_t> far(count_);
    std::iota(far.begin(), far.end(), 0u);
    const size_t taken = std::min(empty, count_);
    std::partial_sort(far.begin(), far.begin() + static_cast<ptrdiff_t>(taken), far.end(),
                      [&](uint32_t a, uint32_t b) {
                        return distances[a] != distances[b] ? distances[a] > distances[b] : a < b;
                      });
    size_t next = 0;
    for (size_t j = 0; j < options_.clusters; ++j) {
      if (sizes_[j] == 0) std::memcpy(Centroid(j), Vector(far[next++ % taken]), VectorBytes());
    }
  }

  const size_t count_;
  const uint32_t values_;
  const KMeansOptions& options_;
  float* const centroids_;
  std::vector<float> packed_;
  std::vector<float> table_;
  std::vector<uint32_t> nearest_;
  std::vector<float> scores_;
  std::vector<double> sums_;
  std::vector<uint32_t> sizes_;
};

}  // namespace

Status KMeans(const float* vectors, size_t count, size_t stride, uint32_t values,
              const KMeansOptions& options, float* centroids) {
  if (count == 0) {
    std::fill_n(centroids, size_t{options.clusters} * values, 0.0f);
    return Status::Ok();
  }
  Rounds rounds(vectors, count, stride, values, options, centroids);
  if (!options.start_from_centroids) rounds.Start();
  if (count <= options.clusters) return Status::Ok();
  for (uint32_t i = 0; i < options.rounds; ++i) {
    if (options.step) EDO_RETURN_IF_ERROR(options.step());
    rounds.Round();
  }
  return Status::Ok();
}

}  // namespace edo::storage
