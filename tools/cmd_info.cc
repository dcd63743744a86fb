// edo info: all that is known of tables without reading their rows, or of an outside file without
// importing it, or of this build.
#include <ctime>

#include "edo/version.h"
#include "tools/common.h"
#include "tools/source_options.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

std::string TimeText(uint64_t unix_s) {
  if (unix_s == 0) return "not recorded";
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm utc = {};
  char text[32];
  gmtime_r(&time, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  return text;
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "";
  char text[48];
  std::snprintf(text, sizeof text, " (%.1f %% of F32)",
                100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

class InfoVerb final : public Verb {
 public:
  explicit InfoVerb(CLI::App* app) : Verb(app) {
    AddSourceOptions(app, &source_, "FILE", false);
    AddStore(&store_, false);
    AddTable(&table_, "Only this table; default: all tables of the store");
    app->add_flag("--backends", backends_, "What this build computes with");
    app->footer(
        "Examples:\n  edo info --store vectors.edo --table glove\n"
        "  edo info glove.6B.100d.txt      what the file is, without importing it");
  }

  int Run(Console* console) override {
    if (backends_) return RunBackends(console);
    const bool file = !source_.source.path.empty();
    if (file == !store_.empty()) {
      return console->Usage("say either FILE or --store DIR (or --backends)", "info");
    }
    return file ? RunFile(console) : RunStore(console);
  }

 private:
  static void Line(Console* console, const char* name, std::string_view value) {
    std::string line = name;
    line.append("\t").append(TsvField(value)).append("\n");
    console->out().Write(line);
  }

  int RunBackends(Console* console) const {
    const std::vector<BackendInfo> backends = Backends();
    if (!console->json) {
      Line(console, "version", EDO_VERSION_STRING);
      for (const BackendInfo& backend : backends) {
        Line(console, "backend",
             backend.available ? backend.name + ": " + backend.description + ", " +
                                     HumanBytes(backend.free_bytes) + " of memory free"
                               : backend.name + ": not available: " + backend.description);
      }
      return kExitOk;
    }
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.info/1");
    writer.Field("version", EDO_VERSION_STRING);
    writer.Name("backends");
    writer.BeginArray();
    for (const BackendInfo& backend : backends) {
      if (backend.available) writer.String(backend.name);
    }
    writer.EndArray();
    writer.Name("backend_details");
    writer.BeginArray();
    for (const BackendInfo& backend : backends) {
      writer.BeginObject();
      writer.Field("name", std::string_view(backend.name));
      writer.Name("available");
      writer.Bool(backend.available);
      writer.Field("description", std::string_view(backend.description));
      writer.Field("free_bytes", backend.free_bytes);
      writer.EndObject();
    }
    writer.EndArray();
    writer.EndObject();
    return kExitOk;
  }

  int RunStore(Console* console) const {
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto tables = SelectTables(**store, table_);
    if (!tables.ok()) return console->Fail(tables.status());
    if (console->json) StoreJson(console, *tables);
    int code = kExitOk;
    for (size_t i = 0; i < tables->size(); ++i) {
      const TableInfo& info = (*tables)[i];
      if (!console->json) {
        if (i != 0) console->out().Write("\n");
        PrintTable(console, info);
      }
      if (info.unfit.empty()) continue;
      SayUnreadable(*console, info, info.unfit);
      code = kExitError;
    }
    return code;
  }

  static void PrintTable(Console* console, const TableInfo& info) {
    Line(console, "table", info.name);
    Line(console, "keys", KeyKindName(info.key_kind));
    Line(console, "rows", info.every_id ? "every 64-bit id" : std::to_string(info.rows));
    Line(console, "dim", std::to_string(info.dim));
    if (!info.composition.empty()) return PrintComposed(console, info);
    Line(console, "codec", CodecText(info));
    Line(console, "bytes a row",
         std::to_string(info.row_bytes) + " (F32: " + std::to_string(uint64_t{info.dim} * 4) + ")" +
             (info.tiers.empty() ? "" : ", in the last tier"));
    for (const TierInfo& tier : info.tiers) {
      Line(console, "tier",
           "rows " + std::to_string(tier.first_row) + ".." +
               std::to_string(tier.first_row + tier.rows - 1) + " as " + tier.codec.ToString() +
               ", " + std::to_string(tier.row_bytes) + " bytes a row, " +
               HumanBytes(tier.chunk_file_bytes));
    }
    Line(console, "rows on disk",
         HumanBytes(info.chunk_file_bytes) + Percent(info.chunk_file_bytes, PlainBytes(info)));
    Line(console, "compression",
         info.compression == Compression::kZstd
             ? "zstd; without it " + HumanBytes(info.plain_chunk_bytes) + " of rows"
             : std::string(CompressionName(info.compression)));
    Line(console, "keys on disk", HumanBytes(info.key_file_bytes));
    Line(console, "as plain F32", HumanBytes(PlainBytes(info)));
    Line(console, "chunks",
         std::to_string(info.chunk_count) + " of " + std::to_string(info.chunk_rows) + " rows" +
             (info.tiers.empty() ? "" : " in the last tier"));
    Line(console, "order", info.order);
    Line(console, "generation", std::to_string(info.generation));
    Line(console, "imported", TimeText(info.created_unix_s));
    for (const auto& [key, value] : info.metadata) {
      Line(console, ("metadata " + TsvField(key)).c_str(), value);
    }
  }

  static void PrintComposed(Console* console, const TableInfo& info) {
    Line(console, "composed of", info.composition);
    if (!info.unfit.empty()) Line(console, "cannot be read", info.unfit);
    Line(console, "generation", std::to_string(info.generation));
    Line(console, "made", TimeText(info.created_unix_s));
    for (const auto& [key, value] : info.metadata) {
      Line(console, ("metadata " + TsvField(key)).c_str(), value);
    }
  }

  void StoreJson(Console* console, const std::vector<TableInfo>& tables) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.info/1");
    writer.Field("store", std::string_view(store_));
    WriteTableList(&writer, tables);
    writer.EndObject();
  }

  int RunFile(Console* console) const {
    const auto source = source_.Resolve();
    if (!source.ok()) return console->Usage(source.status().message(), "info");
    const auto description = DescribeSource(*source);
    if (!description.ok()) return console->Fail(description.status());
    console->json ? FileJson(console, *description) : PrintFile(console, *description);
    return kExitOk;
  }

  void PrintFile(Console* console, const SourceDescription& file) const {
    Line(console, "file", source_.source.path);
    Line(console, "format", file.format);
    if (!file.compression.empty()) Line(console, "compression", file.compression);
    Line(console, "values", file.source_dtype);
    Line(console, "keys", KeyKindName(file.key_kind));
    Line(console, "dim", std::to_string(file.dim));
    Line(console, "rows", file.rows ? std::to_string(*file.rows) : "not said by the file");
    for (const auto& tensor : file.tensors) {
      std::vector<std::string> shape;
      for (uint64_t size : tensor.shape) shape.push_back(std::to_string(size));
      Line(console, "tensor", tensor.name + " " + tensor.dtype + " " + JoinWords(shape, " x "));
    }
    for (const auto& [key, value] : file.metadata) {
      Line(console, ("metadata " + TsvField(key)).c_str(), value);
    }
  }

  void FileJson(Console* console, const SourceDescription& file) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.info/1");
    writer.Name("file");
    writer.BeginObject();
    writer.Field("path", std::string_view(source_.source.path));
    writer.Field("format", std::string_view(file.format));
    writer.Field("compression", std::string_view(file.compression));
    writer.Field("source_dtype", std::string_view(file.source_dtype));
    writer.Field("key_kind", KeyKindName(file.key_kind));
    writer.Field("dim", file.dim);
    writer.Name("rows");
    file.rows ? writer.UInt(*file.rows) : writer.Null();
    writer.Name("tensors");
    writer.BeginArray();
    for (const auto& tensor : file.tensors) {
      writer.BeginObject();
      writer.Field("name", std::string_view(tensor.name));
      writer.Field("dtype", std::string_view(tensor.dtype));
      writer.Name("shape");
      writer.BeginArray();
      for (uint64_t size : tensor.shape) writer.UInt(size);
      writer.EndArray();
      writer.EndObject();
    }
    writer.EndArray();
    writer.Name("metadata");
    writer.BeginObject();
    for (const auto& [key, value] : file.metadata) writer.Field(key, std::string_view(value));
    writer.EndObject();
    writer.EndObject();
    writer.EndObject();
  }

  SourceArgs source_;
  std::string store_, table_;
  bool backends_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeInfo(CLI::App* parent) {
  return std::make_unique<InfoVerb>(
      parent->add_subcommand("info", "Describe tables, or a file before its import"));
}

}  // namespace edo::tools
