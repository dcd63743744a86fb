// What bags must satisfy (Table::LookupBags).
#pragma once

#include <cstdint>

#include "edo/table.h"

namespace edo::engine {

// kInvalidArgument names the first offset that does not fit, or what is wrong with the weights.
Status CheckBags(const Bags& bags, uint64_t keys, const TableInfo& info);

}  // namespace edo::engine
