// TableScan over the pages of a table: chunks and key pages side by side, each read once in order.
#pragma once

#include <memory>

#include "edo/table.h"

namespace edo::engine {

class TableImpl;

Result<std::unique_ptr<TableScan>> MakeTableScan(const TableImpl& table,
                                                 const ScanOptions& options);

}  // namespace edo::engine
