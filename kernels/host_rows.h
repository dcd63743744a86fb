// What a cache of rows in host memory can do besides the kernels of backend.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/backend.h"

namespace edo::kernels {

// Copies each row of the query that is resident to out + its place * format.row_bytes(), encoded as
// on disk, and raises its score; lists the places of the others, ascending, in `misses`
// (query.count). Returns how many those are. All row numbers must be < query.table_rows. Beside a
// fill as ProbeGather: inside the caller's epoch. Cost: two to three cache lines and a copy a row.
uint32_t CopyResident(const BlockView& blocks, const RowFormat& format, const RowQuery& query,
                      uint32_t clock, std::byte* out, uint32_t* misses);

}  // namespace edo::kernels
