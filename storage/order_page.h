// Bytes of order pages (docs/format.md, "Order"). A table whose rows do not stand in the order of
// their source keeps the permutation: pages of row numbers by place in the source and, for dense
// tables, behind them pages of places by row number. Pure functions over bytes; no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "edo/options.h"
#include "edo/status.h"
#include "storage/page.h"

namespace edo::storage {

inline constexpr uint32_t kOrderEntriesPerPage = 800;  // of 5 bytes

// Pages of one direction, and of all that a table of this kind needs. 0 without an order.
uint64_t OrderPagesOneWay(uint64_t rows, uint32_t entries_per_page);
uint64_t OrderPages(KeyKind kind, uint64_t rows, uint32_t entries_per_page);

// Builder of a payload (behind the page header that is already in `page`).
void AppendOrder(std::span<const uint64_t> entries, std::string* page);
// Proves that the payload has the bytes that its count asks for and exactly `count` entries.
Status CheckOrder(const PageView& page, uint64_t count);
// Entry i of a page that was checked.
uint64_t OrderEntry(const PageView& page, uint64_t i);

}  // namespace edo::storage
