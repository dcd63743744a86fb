// edo compose: a table by name whose rows are computed from rows of others.
#include "edo/compose.h"
#include "tools/common.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class ComposeVerb final : public Verb {
 public:
  explicit ComposeVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    app->add_option("-t,--table", table_, "Name of the new table")->type_name("NAME")->required();
    AddChoice<ComposedOp>("--op", &options_.op,
                          {{"sum", ComposedOp::kSum},
                           {"product", ComposedOp::kProduct},
                           {"concat", ComposedOp::kConcat}},
                          "How rows of the parts become one row")
        ->required();
    app->add_option("--part", parts_,
                    "A table and the row that an id takes in it, as below; repeat it, in order")
        ->type_name("PART")
        ->required();
    AddCount("--rows", &options_.rows, 1, kMaxRows,
             "Ids are 0 .. N-1; default: every 64-bit id is a key")
        ->type_name("N");
    app->add_flag("-f,--force,--replace", options_.replace, "Replace a table of this name");
    app->add_flag("--reproducible", options_.reproducible, "Leave out the time of the commit");
    app->footer(
        "Parts:\n"
        "  TABLE:quotient:D            row id / D\n"
        "  TABLE:quotient-f32:D        the same, computed in binary32 as DLRM does\n"
        "  TABLE:remainder:D           row id mod D\n"
        "  TABLE:affine:A:B:P[:N]      row (A id + B) mod P mod N\n"
        "  TABLE:murmur3:SEED[:W[:N]]  row word W of MurmurHash3 of the id, mod N;\n"
        "                              without W all four words, as spaCy's HashEmbed\n"
        "N is the number of the table's rows where it is left out. *WEIGHT behind a\n"
        "part multiplies its rows. Ids count as unsigned. Parts are dense tables.\n"
        "Examples:\n"
        "  edo compose --store m.edo --table users --op product --rows 1000000 \\\n"
        "      --part users.q:quotient:1000 --part users.r:remainder:1000\n"
        "  edo compose --store m.edo --table norm --op sum --part E:murmur3:8");
  }

  int Run(Console* console) override {
    for (const std::string& text : parts_) {
      auto parts = ParseComposedParts(text);
      if (!parts.ok()) return console->Usage(parts.status().message(), "compose");
      for (ComposedPart& part : *parts) options_.parts.push_back(std::move(part));
    }
    const auto store = Store::Open(store_, LoggedTo(*console));
    if (!store.ok()) return console->Fail(store.status());
    const auto info = ComposeTable(store->get(), table_, options_);
    if (!info.ok()) return console->Fail(Explained(info.status()));
    console->Note("table '" + info->name + "': " + info->composition + ", dim " +
                  std::to_string(info->dim) + ", " +
                  (info->every_id ? "every 64-bit id" : HumanCount(info->rows) + " rows"));
    if (!console->json) return kExitOk;
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.compose/1");
    writer.Field("store", std::string_view(store_));
    writer.Name("table");
    writer.BeginObject();
    WriteTableFields(&writer, *info);
    writer.EndObject();
    writer.EndObject();
    return kExitOk;
  }

 private:
  static Status Explained(const Status& status) {
    if (status.code() != StatusCode::kAlreadyExists) return status;
    return Status::AlreadyExists(std::string(status.message()) + "; --replace replaces it");
  }

  std::string store_, table_;
  std::vector<std::string> parts_;
  ComposedOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeCompose(CLI::App* parent) {
  return std::make_unique<ComposeVerb>(
      parent->add_subcommand("compose", "Make a table of rows computed from other tables"));
}

}  // namespace edo::tools
