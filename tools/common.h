// What several verbs share: opening a store and a table for reading, the keys of a table on the
// command line, and the JSON fields that describe a table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edo/store.h"
#include "edo/table.h"
#include "tools/console.h"
#include "tools/json_writer.h"

namespace edo::tools {

// Opens for reading: takes no lock and works beside a writer and on a read-only directory.
Result<std::unique_ptr<Store>> OpenForReading(const std::string& directory, const Console& console);
// Empty name: the store's only table.
Result<std::unique_ptr<Table>> OpenNamedTable(const Store& store, const std::string& name,
                                              const ReadOptions& options = {});
// Infos of one table, or of all when `name` is empty; also of what cannot be opened.
Result<std::vector<TableInfo>> SelectTables(const Store& store, const std::string& name);
StoreOptions LoggedTo(const Console& console);  // warnings of the store go to standard error

// Keys as text to what the table takes. Integers for dense and int64 tables; kInvalidArgument for
// text that is none.
struct KeyList {
  std::vector<int64_t> ints;            // dense, int64
  std::vector<std::string_view> texts;  // views of the given strings
};
Result<KeyList> ParseKeys(const std::vector<std::string>& keys, const TableInfo& info);

// "key": ... of a text key (base64 when it is not UTF-8) or of an integer key given as text.
void WriteKey(JsonWriter* json, const TableInfo& info, std::string_view key);
// kInvalidArgument for a table over every 64-bit id: `verb` reads every row.
Status CheckCountable(const TableInfo& info, const std::string& verb);

// "codec", "rows" and "f32_bytes": null where the table has none, as composed tables.
void WriteCodec(JsonWriter* json, const TableInfo& info);
void WriteRows(JsonWriter* json, const TableInfo& info);
void WritePlainBytes(JsonWriter* json, const TableInfo& info);
// "composed", "composition", "every_id"
void WriteComposition(JsonWriter* json, const TableInfo& info);
// All fields of a table, into an open object.
void WriteTableFields(JsonWriter* json, const TableInfo& info);
// "tables": [{...}, ...]
void WriteTableList(JsonWriter* json, const std::vector<TableInfo>& tables);

// "error": {"code", "message"}
void WriteError(JsonWriter* json, const Status& status);
// Says on standard error that a table cannot be read, and why.
void SayUnreadable(const Console& console, const TableInfo& info, std::string_view why);

// "INT8"; "composed"; or of mixed precision as --hot and --codec say it: "100000:INT8 900000:L4
// PQ25x8".
std::string CodecText(const TableInfo& info);
uint64_t TableBytes(const TableInfo& info);       // on disk
uint64_t PlainChunkBytes(const TableInfo& info);  // of rows on disk if they were not compressed
uint64_t PlainBytes(const TableInfo& info);       // of the same values as an array of binary32

}  // namespace edo::tools
