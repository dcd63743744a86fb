// Verify: reads every byte of the store and says what is damaged. Files against their recorded
// checksums, every page against its own, every key against the index both ways. Constant memory.
#pragma once

#include <vector>

#include "edo/store.h"
#include "engine/store_context.h"
#include "storage/catalog.h"

namespace edo::engine {

Result<VerifyReport> VerifyTables(const StoreContext& context,
                                  const std::vector<storage::TableRecord>& tables,
                                  const VerifyOptions& options);

}  // namespace edo::engine
