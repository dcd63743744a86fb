// edo rename: gives a table another name; its rows are not touched.
#include "tools/common.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class RenameVerb final : public Verb {
 public:
  explicit RenameVerb(CLI::App* app) : Verb(app) {
    app->add_option("OLD", from_, "Table to rename")->type_name("")->required();
    app->add_option("NEW", to_, "Its new name; no table may have it")->type_name("")->required();
    AddStore(&store_);
    app->footer("Example:\n  edo rename --store vectors.edo glove glove-2014");
  }

  int Run(Console* console) override {
    const auto store = Store::Open(store_, LoggedTo(*console));
    if (!store.ok()) return console->Fail(store.status());
    if (const Status s = (*store)->RenameTable(from_, to_); !s.ok()) return console->Fail(s);
    console->Note("table '" + from_ + "' of " + store_ + " is now '" + to_ + "'");
    if (console->json) {
      JsonWriter writer(&console->out());
      writer.BeginObject();
      writer.Field("schema", "edo.rename/1");
      writer.Field("store", std::string_view(store_));
      writer.Field("from", std::string_view(from_));
      writer.Field("to", std::string_view(to_));
      writer.EndObject();
    }
    return kExitOk;
  }

 private:
  std::string store_, from_, to_;
};

}  // namespace

std::unique_ptr<Verb> MakeRename(CLI::App* parent) {
  return std::make_unique<RenameVerb>(
      parent->add_subcommand("rename", "Give a table another name"));
}

}  // namespace edo::tools
