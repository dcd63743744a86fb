// KeyedReader: a reader's rows under other keys, those of a KeySource, or none (dense).
#pragma once

#include <memory>

#include "storage/readers/key_source.h"
#include "storage/row_reader.h"

namespace edo::storage {

// `keys` nullptr: rows become dense. A count of keys other than that of the rows is kBadInput
// naming both, at once where both are known, else at the end.
Result<std::unique_ptr<RowReader>> MakeKeyedReader(std::unique_ptr<RowReader> rows,
                                                   std::unique_ptr<KeySource> keys,
                                                   const SourceOptions& options);

}  // namespace edo::storage
