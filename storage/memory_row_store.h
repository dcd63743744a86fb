// MemoryRowStore: the RowStore over std::map, the twin of RocksdbRowStore. Tests run the engine
// over it where RocksDB would be in the way (thread sanitizer, models); it keeps nothing on disk
// but the spills of a bulk writer. Safe from many threads as its contract says.
#pragma once

#include <memory>

#include "storage/row_store.h"

namespace edo::storage {

std::unique_ptr<RowStore> MakeMemoryRowStore();

}  // namespace edo::storage
