// Body of NearestRows: a block of rows is packed once, columns first, and multiplied with all
// queries, four of them and 16 rows at a time.
#include "engine/nearest_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "kernels/cpu/simd.h"

namespace edo::engine {
namespace {

constexpr size_t kLanes = 16;       // rows that one register, or a few, hold
constexpr size_t kBlockRows = 256;  // a multiple of kLanes
constexpr size_t kQueryRows = 4;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;

// scores[q][r] = dot product of query q and packed row r. packed: (kBlockRows / kLanes, dim,
// kLanes); queries: (kQueryRows, dim); scores: (kQueryRows, kBlockRows). Each sum is taken in the
// order of the columns, so that all builds and machines agree.
EDO_SIMD_CLONES void Multiply(const float* packed, const float* queries, uint32_t dim,
                              float* scores) {
  for (size_t group = 0; group < kBlockRows / kLanes; ++group) {
    const float* rows = packed + group * dim * kLanes;
    Lanes sum0{}, sum1{}, sum2{}, sum3{};
    for (size_t c = 0; c < dim; ++c) {
      Lanes column;
      std::memcpy(&column, rows + c * kLanes, sizeof column);
      sum0 += queries[c] * column;
      sum1 += queries[dim + c] * column;
      sum2 += queries[2 * size_t{dim} + c] * column;
      sum3 += queries[3 * size_t{dim} + c] * column;
    }
    float* out = scores + group * kLanes;
    std::memcpy(out, &sum0, sizeof sum0);
    std::memcpy(out + kBlockRows, &sum1, sizeof sum1);
    std::memcpy(out + 2 * kBlockRows, &sum2, sizeof sum2);
    std::memcpy(out + 3 * kBlockRows, &sum3, sizeof sum3);
  }
}

// The k nearest so far: a heap with the farthest on top.
void Offer(std::vector<NearRow>* heap, size_t k, NearRow candidate) {
  if (heap->size() == k) {
    if (!(candidate < heap->front())) return;
    std::pop_heap(heap->begin(), heap->end());
    heap->pop_back();
  }
  heap->push_back(candidate);
  std::push_heap(heap->begin(), heap->end());
}

class Search {
 public:
  Search(const float* values, std::span<const size_t> rows, uint32_t dim,
         std::span<const float> queries, size_t k)
      : values_(values), rows_(rows), dim_(dim), k_(k), count_(queries.size() / dim) {
    queries_.assign(queries.begin(), queries.end());
    queries_.resize((count_ + kQueryRows - 1) / kQueryRows * kQueryRows * dim_);
  }

  std::vector<std::vector<NearRow>> Run(uint32_t threads) {
    const size_t blocks = (rows_.size() + kBlockRows - 1) / kBlockRows;
    const size_t workers = std::max<size_t>(1, std::min<size_t>(threads, blocks));
    std::vector<std::vector<std::vector<NearRow>>> found(workers);
    std::vector<std::thread> others;
    for (size_t w = 1; w < workers; ++w) {
      others.emplace_back([this, blocks, list = &found[w]] { Work(blocks, list); });
    }
    Work(blocks, &found[0]);
    for (std::thread& thread : others) thread.join();
    for (size_t q = 0; q < count_; ++q) {
      std::vector<NearRow>& list = found[0][q];
      for (size_t w = 1; w < workers; ++w) {
        for (const NearRow& row : found[w][q]) Offer(&list, k_, row);
      }
      std::sort_heap(list.begin(), list.end());
    }
    return std::move(found[0]);
  }

 private:
  void Work(size_t blocks, std::vector<std::vector<NearRow>>* found) {
    found->resize(count_);
    if (k_ == 0) return;
    std::vector<float> packed(kBlockRows * dim_), unit(dim_), scores(kQueryRows * kBlockRows);
    for (size_t block; (block = next_block_.fetch_add(1)) < blocks;) {
      const size_t first = block * kBlockRows;
      const size_t count = std::min(kBlockRows, rows_.size() - first);
      for (size_t r = 0; r < count; ++r) {
        UnitRow(values_ + rows_[first + r] * dim_, dim_, unit.data());
        float* out = packed.data() + r / kLanes * kLanes * dim_ + r % kLanes;
        for (size_t c = 0; c < dim_; ++c) out[c * kLanes] = unit[c];
      }
      for (size_t q = 0; q < count_; q += kQueryRows) {
        Multiply(packed.data(), queries_.data() + q * dim_, dim_, scores.data());
        for (size_t i = 0; i < std::min(kQueryRows, count_ - q); ++i) {
          Take(scores.data() + i * kBlockRows, first, count, &(*found)[q + i]);
        }
      }
    }
  }

  void Take(const float* scores, size_t first, size_t count, std::vector<NearRow>* heap) const {
    for (size_t r = 0; r < count; ++r) {
      // Most rows end here.
      if (heap->size() == k_ && !(scores[r] >= heap->front().score)) continue;
      if (std::isnan(scores[r])) continue;
      Offer(heap, k_, {scores[r], rows_[first + r]});
    }
  }

  const float* const values_;
  const std::span<const size_t> rows_;
  const uint32_t dim_;
  const size_t k_, count_;
  std::vector<float> queries_;  // filled up with zeros to whole groups
  std::atomic<size_t> next_block_{0};
};

}  // namespace

void UnitRow(const float* row, uint32_t dim, float* out) {
  double squares = 0;
  for (uint32_t c = 0; c < dim; ++c) squares += double{row[c]} * double{row[c]};
  const double scale = std::isfinite(squares) && squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (uint32_t c = 0; c < dim; ++c) {
    out[c] = scale == 0 ? 0.0f : static_cast<float>(double{row[c]} * scale);
  }
}

std::vector<std::vector<NearRow>> NearestRows(const float* values, std::span<const size_t> rows,
                                              uint32_t dim, std::span<const float> queries,
                                              size_t k, uint32_t threads) {
  return Search(values, rows, dim, queries, k).Run(threads);
}

}  // namespace edo::engine
