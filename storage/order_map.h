// OrderMap: from places in the source to row numbers and back, for tables that are stored in
// another order than their source's. What KeyDirectory is for keys; pages come through the RowStore
// and its key cache, many in flight at once.
//
// A thin view of a RowStore and a generation; safe from many threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/catalog.h"
#include "storage/key_directory.h"
#include "storage/row_store.h"

namespace edo::storage {

class OrderMap {
 public:
  // `record` is copied; `store` must outlive the map.
  OrderMap(const RowStore* store, const TableRecord& record);

  // Row numbers of places; a place beyond the table is a missing key. In a table without an order
  // they are the places themselves.
  FindResult RowsOf(std::span<const uint64_t> places, const Deadline& deadline) const;
  // Places of rows (< the table's rows), in the order asked. Dense tables only.
  Status PlacesOf(std::span<const uint64_t> rows, std::vector<uint64_t>* places) const;

 private:
  // Entries [first, first + count) of one direction are on this page.
  uint64_t EntriesOf(uint64_t page_of_its_way) const;
  // Reads entries[i] = entry keys[i] of the direction whose pages begin at `first_page`; keys must
  // be < row_count_. failed(place in keys) for each that could not be read.
  template <typename Failed>
  void ReadEntries(uint64_t first_page, std::span<const uint64_t> keys, const Deadline& deadline,
                   FindResult* result, Failed failed) const;

  const RowStore* store_;
  const std::string table_;
  const uint64_t generation_;
  const uint64_t row_count_;
  const uint32_t entries_per_page_;  // 0: no order
  const uint64_t pages_one_way_;
};

}  // namespace edo::storage
