// edo export: writes a table, or chosen rows of it, to a file of an outside format.
#include <chrono>

#include "edo/transfer.h"
#include "tools/common.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

std::string FormatNames() {
  std::vector<std::string> names;
  for (const FormatInfo& format : ExportFormats()) names.emplace_back(format.name);
  return JoinWords(names, "|");
}

class ExportVerb final : public Verb {
 public:
  explicit ExportVerb(CLI::App* app) : Verb(app) {
    app->add_option("FILE", options_.path, "File to write, or - for standard output")
        ->type_name(kFileType)
        ->required();
    AddStore(&store_);
    AddTable(&table_, "Table to export; not needed when the store has only one");
    app->add_option("--to", options_.format, "Format; default: by the extension of FILE")
        ->type_name(FormatNames());
    app->add_option("--ids", options_.ids, "File of keys, one a line: only these, in this order")
        ->type_name(kFileType);
    AddChoice<FloatType>(
        "--dtype", &options_.dtype,
        {{"f32", FloatType::kF32}, {"f16", FloatType::kF16}, {"bf16", FloatType::kBF16}},
        "Type of the values, for formats that have one");
    app->add_flag("-f,--force", options_.force, "Overwrite FILE when it exists");
    app->footer(
        "Example:\n  edo export --store vectors.edo --table glove glove.npy\n"
        "FILE is written under another name and renamed when it is whole.");
  }

  int Run(Console* console) override {
    if (options_.path == "-" && json) {
      return console->Usage("--json and an export to standard output exclude each other", "export");
    }
    if (options_.path == "-" && options_.format.empty()) {
      return console->Usage("standard output has no extension: say --to FORMAT", "export");
    }
    const auto start = std::chrono::steady_clock::now();
    const auto report = DoExport(console);
    if (!report.ok() && options_.path == "-" &&
        report.status().message().find("Broken pipe") != std::string_view::npos) {
      return kExitPipe;  // as in `edo export - ... | head`
    }
    if (!report.ok()) return console->Fail(Explained(report.status()));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    console->Note(CountOf(report->rows, "row") + ", " + HumanBytes(report->bytes) + " as " +
                  report->format + " to " +
                  (options_.path == "-" ? "standard output" : JoinWords(report->files, ", ")) +
                  " in " + HumanSeconds(seconds.count()));
    if (json) ReportJson(console, *report, seconds.count());
    return kExitOk;
  }

 private:
  Result<ExportReport> DoExport(Console* console) {
    EDO_ASSIGN_OR_RETURN(const auto store, OpenForReading(store_, *console));
    EDO_ASSIGN_OR_RETURN(const auto table, OpenNamedTable(*store, table_));
    ProgressBar bar(*console, "export");
    options_.progress = bar.Function();
    return Export(*table, options_);
  }

  static Status Explained(const Status& status) {
    if (status.code() != StatusCode::kAlreadyExists ||
        status.message().find("force") != std::string_view::npos) {
      return status;
    }
    return Status::AlreadyExists(std::string(status.message()) + "; --force overwrites it");
  }

  void ReportJson(Console* console, const ExportReport& report, double seconds) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.export/1");
    writer.Field("format", std::string_view(report.format));
    writer.Field("rows", report.rows);
    writer.Field("bytes", report.bytes);
    writer.Field("seconds", seconds);
    writer.Name("files");
    writer.BeginArray();
    for (const std::string& file : report.files) writer.String(file);
    writer.EndArray();
    writer.EndObject();
  }

  ExportOptions options_;
  std::string store_, table_;
};

}  // namespace

std::unique_ptr<Verb> MakeExport(CLI::App* parent) {
  return std::make_unique<ExportVerb>(
      parent->add_subcommand("export", "Write a table to a file of another format"));
}

}  // namespace edo::tools
