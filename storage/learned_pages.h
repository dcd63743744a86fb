// What a table's codec has learned, as pages beside its rows (docs/format.md, "Learned"): the bytes
// cut into pieces of kLearnedPageBytes, the last may be shorter. `count` of a page is its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edo/status.h"
#include "storage/row_store.h"

namespace edo::storage {

inline constexpr uint32_t kLearnedPageBytes = 32 << 10;

inline uint64_t LearnedPages(uint64_t bytes) {
  return (bytes + kLearnedPageBytes - 1) / kLearnedPageBytes;
}
// The pages come last of all pages of their generation.
Status WriteLearned(std::span<const std::byte> learned, BulkWriter* files);
// kCorruption for a page that is missing, damaged or of another size.
Result<std::vector<std::byte>> ReadLearned(const RowStore& rows, uint64_t generation,
                                           uint64_t bytes);
// Proves the size of page `number` of `bytes` of all.
Status CheckLearned(const PageView& page, uint64_t number, uint64_t bytes);

}  // namespace edo::storage
