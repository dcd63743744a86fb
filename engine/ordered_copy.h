// The rows of one generation into another in a new order, and the pages that keep that order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/row_order.h"
#include "engine/table_writer.h"

namespace edo::engine {

// Writes rows and keys of `source` to `to`, row order[i] as row i, and the key directory. A window
// of rows at a time; of each chunk and key page that holds rows of a window one read.
Status CopyInOrder(const RowSource& source, std::span<const uint64_t> order,
                   const OrderLimits& limits, const OrderStep& step, GenerationWriter* to);

// Writes order pages behind the key directory; *pages: how many. `order` is consumed.
Status WriteOrderPages(KeyKind keys, std::vector<uint64_t> order, storage::BulkWriter* files,
                       uint64_t* pages);

}  // namespace edo::engine
