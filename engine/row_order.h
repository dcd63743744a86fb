// The order that a RowOrder asks for, computed from counts of use and from the rows themselves.
// Nothing here writes. Memory: 17 bytes a row, and 56 more for rows whose tier is being ordered, of
// which there are never more than OrderLimits::projected_rows at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edo/row_order.h"
#include "engine/key_uses.h"
#include "engine/order_limits.h"

namespace edo::engine {

// Reads the whole file of an order, if it has one, and proves that its lines are what they must be.
Status CheckOrderFile(const RowOrder& order, KeyKind keys, const OrderStep& step);

// Uses of each row, by row number, as the file of `order` says.
Result<std::vector<uint64_t>> ReadCounts(const RowOrder& order, const RowSource& source,
                                         const OrderStep& step, OrderReport* report);

// `places`: the place of each row in the source; empty: rows stand in the source's order. What is
// returned is row numbers of `source` in their new order.

// Most used first.
std::vector<uint64_t> OrderByCount(std::span<const uint64_t> counts,
                                   std::span<const uint64_t> places);

// A tier is the more used the greater its number.
std::vector<uint8_t> TiersOfCounts(std::span<const uint64_t> counts);
// The place in the source taken for the rank: floor(log2(place + 1)) is 0 in the first tier.
std::vector<uint8_t> TiersOfPlaces(uint64_t rows, std::span<const uint64_t> places);
// By tier, then by balanced kd order of the rows.
Result<std::vector<uint64_t>> OrderByTier(const RowSource& source, std::span<const uint8_t> tiers,
                                          std::span<const uint64_t> places,
                                          const OrderLimits& limits, const OrderStep& step);

// by[order[i]] = i.
std::vector<uint64_t> InverseOf(std::span<const uint64_t> order);

}  // namespace edo::engine
