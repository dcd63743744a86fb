// The search for the nearest of many centroids, sixteen of them at a time for four vectors. The
// score of a centroid is |c|^2 / 2 - x . c, which ranks as the distance does.
#include <limits>

#include "kernels/codec_kernels.h"
#include "kernels/cpu/lanes16.h"

namespace edo::kernels {
namespace {

constexpr Int16 kLaneNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

template <uint32_t kValues>
EDO_SIMD_INLINE void SearchFour(const float* const* vectors, uint32_t values, const float* table,
                                uint32_t padded, uint32_t* nearest, float* scores) {
  const uint32_t width = kValues != 0 ? kValues : values;
  Float16 best[4];
  Int16 best_at[4];
  for (int u = 0; u < 4; ++u) {
    best[u] = Float16{} + std::numeric_limits<float>::infinity();
    best_at[u] = Int16{};
  }
  for (uint32_t j = 0; j < padded; j += kLanes) {
    Float16 half_square;
    LoadLanes(table + size_t{width} * padded + j, &half_square);
    Float16 score[4] = {half_square, half_square, half_square, half_square};
    for (uint32_t t = 0; t < width; ++t) {
      Float16 centroid;
      LoadLanes(table + size_t{t} * padded + j, &centroid);
      for (int u = 0; u < 4; ++u) score[u] -= centroid * vectors[u][t];
    }
    const Int16 at = kLaneNumbers + static_cast<int32_t>(j);
    for (int u = 0; u < 4; ++u) {
      const Int16 closer = score[u] < best[u];
      best[u] = closer ? score[u] : best[u];
      best_at[u] = closer ? at : best_at[u];
    }
  }
  for (int u = 0; u < 4; ++u) {
    float score = best[u][0];
    int32_t at = best_at[u][0];
    for (size_t lane = 1; lane < kLanes; ++lane) {
      if (best[u][lane] < score || (best[u][lane] == score && best_at[u][lane] < at)) {
        score = best[u][lane];
        at = best_at[u][lane];
      }
    }
    nearest[u] = static_cast<uint32_t>(at);
    scores[u] = score;
  }
}

template <uint32_t kValues>
EDO_SIMD_INLINE void Search(const float* vectors, size_t count, size_t stride, uint32_t values,
                            const float* table, uint32_t padded, uint32_t* nearest, float* scores) {
  for (size_t i = 0; i < count; i += 4) {
    const float* four[4];
    for (size_t u = 0; u < 4; ++u) four[u] = vectors + (i + u < count ? i + u : i) * stride;
    uint32_t found[4];
    float found_scores[4];
    SearchFour<kValues>(four, values, table, padded, found, found_scores);
    for (size_t u = 0; u < 4 && i + u < count; ++u) {
      nearest[i + u] = found[u];
      if (scores != nullptr) scores[i + u] = found_scores[u];
    }
  }
}

EDO_SIMD_CLONES
void SearchAny(const float* vectors, size_t count, size_t stride, uint32_t values,
               const float* table, uint32_t padded, uint32_t* nearest, float* scores) {
  Search<0>(vectors, count, stride, values, table, padded, nearest, scores);
}
EDO_SIMD_CLONES
void Search2(const float* vectors, size_t count, size_t stride, uint32_t values, const float* table,
             uint32_t padded, uint32_t* nearest, float* scores) {
  Search<2>(vectors, count, stride, values, table, padded, nearest, scores);
}
EDO_SIMD_CLONES
void Search4(const float* vectors, size_t count, size_t stride, uint32_t values, const float* table,
             uint32_t padded, uint32_t* nearest, float* scores) {
  Search<4>(vectors, count, stride, values, table, padded, nearest, scores);
}
EDO_SIMD_CLONES
void Search8(const float* vectors, size_t count, size_t stride, uint32_t values, const float* table,
             uint32_t padded, uint32_t* nearest, float* scores) {
  Search<8>(vectors, count, stride, values, table, padded, nearest, scores);
}

EDO_SIMD_CLONES
void AllProducts(const float* vector, uint32_t values, const float* table, uint32_t padded,
                 uint32_t centroids, float* products) {
  for (uint32_t j = 0; j < padded; j += kLanes) {
    Float16 product;
    LoadLanes(table + size_t{values} * padded + j, &product);
    product = -product;
    for (uint32_t t = 0; t < values; ++t) {
      Float16 centroid;
      LoadLanes(table + size_t{t} * padded + j, &centroid);
      product += centroid * vector[t];
    }
    const uint32_t count = centroids - j < kLanes ? centroids - j : kLanes;
    std::memcpy(products + j, &product, size_t{count} * 4);
  }
}

}  // namespace

void FillCentroidTable(const float* centroids, uint32_t count, uint32_t values, float* table) {
  const uint32_t padded = PaddedCentroids(count);
  for (uint32_t j = 0; j < padded; ++j) {
    double square = 0;
    for (uint32_t t = 0; t < values; ++t) {
      const float value = j < count ? centroids[size_t{j} * values + t] : 0;
      table[size_t{t} * padded + j] = value;
      square += static_cast<double>(value) * value;
    }
    table[size_t{values} * padded + j] =
        j < count ? static_cast<float>(square / 2) : std::numeric_limits<float>::infinity();
  }
}

void NearestCentroids(const float* vectors, size_t count, size_t stride, uint32_t values,
                      const float* table, uint32_t centroids, uint32_t* nearest, float* scores) {
  const uint32_t padded = PaddedCentroids(centroids);
  const auto search = values == 2   ? Search2
                      : values == 4 ? Search4
                      : values == 8 ? Search8
                                    : SearchAny;
  search(vectors, count, stride, values, table, padded, nearest, scores);
}

void CentroidProducts(const float* vector, uint32_t values, const float* table, uint32_t centroids,
                      float* products) {
  AllProducts(vector, values, table, PaddedCentroids(centroids), centroids, products);
}

}  // namespace edo::kernels
