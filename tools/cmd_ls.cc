// edo ls: the tables of a store, a line each.
#include "tools/common.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class LsVerb final : public Verb {
 public:
  explicit LsVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    app->footer(
        "Example:\n  edo ls --store vectors.edo\n"
        "Columns: name, keys, codec, dim, rows, bytes on disk; of a composed table also\n"
        "what it is composed of and, when a part no longer fits, why it cannot be read.");
  }

  int Run(Console* console) override {
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto tables = (*store)->Tables();
    return console->json ? PrintJson(console, tables) : PrintTsv(console, tables);
  }

 private:
  static int PrintTsv(Console* console, const std::vector<TableInfo>& tables) {
    for (const TableInfo& info : tables) {
      console->out().Write(TsvField(info.name) + "\t" + std::string(KeyKindName(info.key_kind)) +
                           "\t" + CodecText(info) + "\t" + std::to_string(info.dim) + "\t" +
                           (info.every_id ? "every id" : std::to_string(info.rows)) + "\t" +
                           std::to_string(TableBytes(info)));
      if (!info.composition.empty()) console->out().Write("\t" + TsvField(info.composition));
      if (!info.unfit.empty()) console->out().Write("\t" + TsvField(info.unfit));
      console->out().Write("\n");
    }
    return kExitOk;
  }

  int PrintJson(Console* console, const std::vector<TableInfo>& tables) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.ls/1");
    writer.Field("store", std::string_view(store_));
    WriteTableList(&writer, tables);
    writer.EndObject();
    return kExitOk;
  }

  std::string store_;
};

}  // namespace

std::unique_ptr<Verb> MakeLs(CLI::App* parent) {
  return std::make_unique<LsVerb>(parent->add_subcommand("ls", "List the tables of a store"));
}

}  // namespace edo::tools
