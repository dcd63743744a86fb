// The catalog's records as bytes: a list of tagged fields and a checksum (docs/format.md,
// "Catalog"). A reader skips tags it does not know, unless their top bit says that it must not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/compose.h"
#include "edo/status.h"
#include "edo/table.h"

namespace edo::storage {

inline constexpr char kStoreRecordName[] = "store";
inline constexpr char kTableRecordPrefix[] = "table/";  // + table name

struct StoreRecord {
  uint64_t commits = 0;  // see store_file.h
  uint64_t next_generation = 1;
};

// Of a composed table.
struct Composition {
  ComposedOp op = ComposedOp::kSum;
  std::vector<ComposedPart> parts;

  std::string ToString() const;  // TableInfo::composition
};

// Everything that is known of a table. TableInfo is what callers see of it.
//
// Mixed precision: `tiers` has one record a tier, as of a dense table of its rows alone in a
// generation of its own; the last tier's generation holds keys and order too. The table's record
// has that generation, and the numbers of all tiers together in what TableInfo gives for all of
// them.
struct TableRecord {
  TableInfo info;
  uint32_t chunk_bytes = 0;  // of a full chunk on disk; 0 where they are compressed
  uint64_t key_pages = 0;
  uint32_t keys_per_page = 0;
  uint64_t index_buckets = 0;
  uint64_t chunk_files = 0;  // SST files; an open counts them
  uint64_t key_files = 0;
  // Of a table whose rows do not stand in the order of their source (order_page.h); else 0.
  uint64_t order_pages = 0;
  uint32_t order_entries_per_page = 0;

  // Of a table whose chunks are compressed (size_page.h); else 0.
  uint64_t size_pages = 0;
  uint32_t sizes_per_page = 0;
  uint64_t learned_bytes = 0;  // what the codec has learned (learned_pages.h)

  uint64_t first_row = 0;  // of a tier's record: where its rows stand in the table
  std::vector<TableRecord> tiers;
  std::optional<Composition> composition;  // then there are no pages

  bool ordered() const { return order_entries_per_page != 0; }
};

// Makes `record`, which is of the last tier with keys and order of the whole table, that of a table
// with these tiers before it. `hot`: at least one, from row 0 on.
void AddTiers(std::vector<TableRecord> hot, TableRecord* record);
// The records of a table's tiers; of a table of one codec its own.
inline std::span<const TableRecord> TiersOf(const TableRecord& record) {
  if (record.tiers.empty()) return {&record, 1};
  return record.tiers;
}

std::string EncodeStoreRecord(const StoreRecord& record);
Result<StoreRecord> DecodeStoreRecord(std::string_view bytes);
std::string EncodeTableRecord(const TableRecord& record);
// `name` is the table's; it stands in the record's key.
Result<TableRecord> DecodeTableRecord(std::string_view name, std::string_view bytes);

}  // namespace edo::storage
