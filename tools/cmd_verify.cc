// edo verify: reads every byte of a store and names what is damaged, and composed tables whose
// parts do not fit. Exit code 1 when something is wrong.
#include "tools/common.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class VerifyVerb final : public Verb {
 public:
  explicit VerifyVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    AddTable(&options_.table, "Only this table; default: every table and file of the store");
    app->footer(
        "Example:\n  edo verify --store vectors.edo\n"
        "Prints one line for each damaged part: table, part, number, rows, file, what;\n"
        "and one, of part `composition`, for a composed table whose parts do not fit.\n"
        "Exit code 0: the store is whole; 1: it is damaged, or such a table is there.");
  }

  int Run(Console* console) override {
    const auto report = DoVerify(console);
    if (!report.ok()) return console->Fail(report.status());
    const std::string scope =
        options_.table.empty() ? "store " + store_ : "table '" + options_.table + "'";
    if (console->json) {
      PrintJson(console, *report);
    } else {
      for (const Damage& damage : report->damages) PrintDamage(console, damage);
      for (const UnfitTable& table : report->unfit) {
        PrintDamage(console,
                    {.file = {}, .table = table.table, .part = "composition", .what = table.what});
      }
    }
    if (IsWhole(*report)) {
      console->Note(scope + " is whole: " + CountOf(report->tables, "table") + ", " +
                    CountOf(report->chunks, "chunk") + ", " + CountOf(report->keys, "key") + ", " +
                    HumanBytes(report->bytes) + " in " + CountOf(report->files, "file"));
      return kExitOk;
    }
    if (!report->damages.empty()) {
      console->Problem(scope + ": damage in " + CountOf(report->damages.size(), "place"));
    }
    if (!report->unfit.empty()) {
      console->Problem(scope + ": " + CountOf(report->unfit.size(), "composed table") +
                       " cannot be read, as a part is missing or does not fit" +
                       (report->damages.empty() ? "; no byte is damaged" : ""));
    }
    return kExitError;
  }

 private:
  static bool IsWhole(const VerifyReport& report) {
    return report.damages.empty() && report.unfit.empty();
  }
  Result<VerifyReport> DoVerify(Console* console) {
    EDO_ASSIGN_OR_RETURN(const auto store, OpenForReading(store_, *console));
    ProgressBar bar(*console, "verify");
    options_.progress = bar.Function();
    return store->Verify(options_);
  }

  static void PrintDamage(Console* console, const Damage& damage) {
    std::string rows = "-";
    if (damage.row_count != 0) {
      rows = std::to_string(damage.first_row) + ".." +
             std::to_string(damage.first_row + damage.row_count - 1);
    }
    const auto or_dash = [](const std::string& text) {
      return text.empty() ? "-" : TsvField(text);
    };
    console->out().Write(or_dash(damage.table) + "\t" + damage.part + "\t" +
                         std::to_string(damage.number) + "\t" + rows + "\t" + or_dash(damage.file) +
                         "\t" + TsvField(damage.what) + "\n");
  }

  void PrintJson(Console* console, const VerifyReport& report) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.verify/1");
    writer.Field("store", std::string_view(store_));
    writer.Field("whole", IsWhole(report));
    writer.Field("tables", report.tables);
    writer.Field("chunks", report.chunks);
    writer.Field("key_pages", report.key_pages);
    writer.Field("keys", report.keys);
    writer.Field("files", report.files);
    writer.Field("bytes", report.bytes);
    writer.Name("damages");
    writer.BeginArray();
    for (const Damage& damage : report.damages) {
      writer.BeginObject();
      writer.Field("table", std::string_view(damage.table));
      writer.Field("part", std::string_view(damage.part));
      writer.Field("number", damage.number);
      writer.Field("first_row", damage.first_row);
      writer.Field("row_count", damage.row_count);
      writer.Field("file", std::string_view(damage.file));
      writer.Field("what", std::string_view(damage.what));
      writer.EndObject();
    }
    writer.EndArray();
    writer.Name("unfit");
    writer.BeginArray();
    for (const UnfitTable& table : report.unfit) {
      writer.BeginObject();
      writer.Field("table", std::string_view(table.table));
      writer.Field("what", std::string_view(table.what));
      writer.EndObject();
    }
    writer.EndArray();
    writer.EndObject();
  }

  std::string store_;
  VerifyOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeVerify(CLI::App* parent) {
  return std::make_unique<VerifyVerb>(
      parent->add_subcommand("verify", "Check every byte of a store"));
}

}  // namespace edo::tools
