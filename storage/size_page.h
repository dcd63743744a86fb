// Bytes of size pages (docs/format.md, "Sizes"): of a table whose chunks are compressed, how many
// bytes the page of each chunk has, so that the place of a chunk in its file is a sum. Pure
// functions over bytes; no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "edo/status.h"
#include "storage/page.h"

namespace edo::storage {

inline constexpr uint32_t kSizesPerPage = 1000;  // of 4 bytes

inline uint64_t SizePages(uint64_t chunks) { return (chunks + kSizesPerPage - 1) / kSizesPerPage; }

// Builder of a payload (behind the page header that is already in `page`).
void AppendSizes(std::span<const uint32_t> sizes, std::string* page);
// Proves that the payload has the bytes that its count asks for.
Status CheckSizes(const PageView& page);
// Entry i of a page that was checked.
uint32_t SizeEntry(const PageView& page, uint64_t i);

}  // namespace edo::storage
