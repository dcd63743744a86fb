// Table::BulkLookup: a whole stream of keys, window by window, in the order of the disk.
#pragma once

#include "edo/pipeline.h"

namespace edo::engine {

class TableImpl;

Status RunBulkLookup(const TableImpl& table, const KeySource& source, const BulkOptions& options,
                     const BulkSink& sink, BulkReport* report);

}  // namespace edo::engine
