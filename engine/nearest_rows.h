// NearestRows: the rows that point most nearly where a query points, by comparing with every row.
// Exact and blocked, for samples and vocabularies that fit into memory; no search index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace edo::engine {

struct NearRow {
  float score = 0;  // dot product of the query and the row at length one
  size_t row = 0;
  // Nearer first; of equal scores the lower row.
  friend bool operator<(const NearRow& a, const NearRow& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

// `out` becomes `row` (dim values) at length one; zeros when it has no length or is not finite.
void UnitRow(const float* row, uint32_t dim, float* out);

// For each query the k nearest of `rows` of `values` (any, dim), nearest first; fewer when there
// are fewer rows. Rows are brought to length one, queries (count, dim) are taken as they are; a
// score that is nan is never near. The result does not depend on `threads`.
// Memory: 16 * k bytes a query and thread, and one block of rows a thread.
std::vector<std::vector<NearRow>> NearestRows(const float* values, std::span<const size_t> rows,
                                              uint32_t dim, std::span<const float> queries,
                                              size_t k, uint32_t threads);

}  // namespace edo::engine
