// Bodies of common.h.
#include "tools/common.h"

#include "tools/text.h"

namespace edo::tools {

StoreOptions LoggedTo(const Console& console) {
  StoreOptions options;
  options.cache_bytes = 0;  // a command reads each row once
  options.log = [&console](LogLevel level, std::string_view message) {
    if (level >= LogLevel::kWarning) console.Warn(message);
  };
  return options;
}

Result<std::unique_ptr<Store>> OpenForReading(const std::string& directory,
                                              const Console& console) {
  StoreOptions options = LoggedTo(console);
  options.read_only = true;
  return Store::Open(directory, options);
}

Result<std::unique_ptr<Table>> OpenNamedTable(const Store& store, const std::string& name,
                                              const ReadOptions& options) {
  if (!name.empty()) return store.OpenTable(name, options);
  const auto tables = store.Tables();
  return tables.size() == 1 ? store.OpenTable(tables[0].name, options) : store.OpenOnlyTable();
}

Result<std::vector<TableInfo>> SelectTables(const Store& store, const std::string& name) {
  if (name.empty()) return store.Tables();
  for (TableInfo& info : store.Tables()) {
    if (info.name == name) return std::vector<TableInfo>{std::move(info)};
  }
  return store.OpenTable(name).status();  // says which tables there are
}

Result<KeyList> ParseKeys(const std::vector<std::string>& keys, const TableInfo& info) {
  KeyList list;
  for (const std::string& key : keys) {
    if (info.key_kind == KeyKind::kText) {
      list.texts.push_back(key);
      continue;
    }
    const auto number = ParseInt64(key);
    if (!number) {
      return Status::InvalidArgument("key '" + key + "' is not a 64-bit integer; table '" +
                                     info.name + "' has " +
                                     std::string(KeyKindName(info.key_kind)) + " keys");
    }
    list.ints.push_back(*number);
  }
  return list;
}

void WriteKey(JsonWriter* json, const TableInfo& info, std::string_view key) {
  if (info.key_kind == KeyKind::kText) return json->Bytes("key", key);
  json->Name("key");
  json->Int(ParseInt64(key).value_or(0));
}

std::string CodecText(const TableInfo& info) {
  if (!info.composition.empty()) return "composed";
  std::string text;
  for (size_t t = 0; t + 1 < info.tiers.size(); ++t) {
    text += std::to_string(info.tiers[t].rows) + ":" + info.tiers[t].codec.ToString() + " ";
  }
  return text + info.codec.ToString();
}

Status CheckCountable(const TableInfo& info, const std::string& verb) {
  if (!info.every_id) return Status::Ok();
  return Status::InvalidArgument("table '" + info.name + "' holds every 64-bit id; " + verb +
                                 " reads every row, and takes tables whose rows can be counted");
}

void WriteCodec(JsonWriter* json, const TableInfo& info) {
  json->Name("codec");
  info.composition.empty() ? json->String(CodecText(info)) : json->Null();
}

void WriteRows(JsonWriter* json, const TableInfo& info) {
  json->Name("rows");
  info.every_id ? json->Null() : json->UInt(info.rows);
}

void WritePlainBytes(JsonWriter* json, const TableInfo& info) {
  json->Name("f32_bytes");
  info.every_id ? json->Null() : json->UInt(PlainBytes(info));
}

void WriteComposition(JsonWriter* json, const TableInfo& info) {
  json->Field("composed", !info.composition.empty());
  json->Field("composition", std::string_view(info.composition));
  json->Field("every_id", info.every_id);
}

void WriteTableFields(JsonWriter* json, const TableInfo& info) {
  json->Field("name", info.name);
  json->Field("key_kind", KeyKindName(info.key_kind));
  WriteCodec(json, info);
  json->Field("dim", info.dim);
  WriteRows(json, info);
  json->Field("order", std::string_view(info.order));
  json->Field("generation", info.generation);
  json->Field("created_unix_s", info.created_unix_s);
  json->Field("row_bytes", info.row_bytes);
  json->Field("chunk_rows", info.chunk_rows);
  json->Field("chunk_count", info.chunk_count);
  json->Field("chunk_file_bytes", info.chunk_file_bytes);
  json->Field("compression", CompressionName(info.compression));
  json->Field("plain_chunk_bytes", PlainChunkBytes(info));
  json->Field("key_file_bytes", info.key_file_bytes);
  WritePlainBytes(json, info);
  if (!info.tiers.empty()) {
    json->Name("tiers");
    json->BeginArray();
    for (const TierInfo& tier : info.tiers) {
      json->BeginObject();
      json->Field("first_row", tier.first_row);
      json->Field("rows", tier.rows);
      json->Field("codec", tier.codec.ToString());
      json->Field("row_bytes", tier.row_bytes);
      json->Field("chunk_rows", tier.chunk_rows);
      json->Field("chunk_count", tier.chunk_count);
      json->Field("chunk_file_bytes", tier.chunk_file_bytes);
      json->Field("compression", CompressionName(tier.compression));
      json->EndObject();
    }
    json->EndArray();
  }
  WriteComposition(json, info);
  json->Name("metadata");
  json->BeginObject();
  for (const auto& [key, value] : info.metadata) json->Field(key, std::string_view(value));
  json->EndObject();
  if (!info.unfit.empty()) WriteError(json, Status::Corruption(info.unfit));
}

void WriteTableList(JsonWriter* json, const std::vector<TableInfo>& tables) {
  json->Name("tables");
  json->BeginArray();
  for (const TableInfo& info : tables) {
    json->BeginObject();
    WriteTableFields(json, info);
    json->EndObject();
  }
  json->EndArray();
}

void WriteError(JsonWriter* json, const Status& status) {
  json->Name("error");
  json->BeginObject();
  json->Field("code", StatusCodeName(status.code()));
  json->Field("message", status.message());
  json->EndObject();
}

void SayUnreadable(const Console& console, const TableInfo& info, std::string_view why) {
  console.Problem("table '" + info.name + "' cannot be read now: " + std::string(why));
}

uint64_t TableBytes(const TableInfo& info) { return info.chunk_file_bytes + info.key_file_bytes; }
uint64_t PlainChunkBytes(const TableInfo& info) {
  return info.compression == Compression::kNone ? info.chunk_file_bytes : info.plain_chunk_bytes;
}
uint64_t PlainBytes(const TableInfo& info) { return info.rows * info.dim * 4; }

}  // namespace edo::tools
