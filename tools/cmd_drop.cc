// edo drop: removes a table from a store. There is no undo, and no question asked: the name is the
// confirmation, so it has to be given and to exist.
#include "tools/common.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class DropVerb final : public Verb {
 public:
  explicit DropVerb(CLI::App* app) : Verb(app) {
    app->add_option("NAME", name_, "Table to remove")->type_name("");
    AddStore(&store_);
    AddTable(&table_, "The same as NAME");
    app->footer("Example:\n  edo drop --store vectors.edo glove\nThere is no undo.");
  }

  int Run(Console* console) override {
    if (name_.empty() == table_.empty()) {
      return console->Usage("name the table to remove, once", "drop");
    }
    const std::string& name = name_.empty() ? table_ : name_;
    const auto store = Store::Open(store_, LoggedTo(*console));
    if (!store.ok()) return console->Fail(store.status());
    if (const Status s = (*store)->DropTable(name); !s.ok()) return console->Fail(s);
    console->Note("table '" + name + "' is removed from " + store_);
    if (console->json) {
      JsonWriter writer(&console->out());
      writer.BeginObject();
      writer.Field("schema", "edo.drop/1");
      writer.Field("store", std::string_view(store_));
      writer.Field("table", std::string_view(name));
      writer.EndObject();
    }
    return kExitOk;
  }

 private:
  std::string store_, table_, name_;
};

}  // namespace

std::unique_ptr<Verb> MakeDrop(CLI::App* parent) {
  return std::make_unique<DropVerb>(parent->add_subcommand("drop", "Remove a table from a store"));
}

}  // namespace edo::tools
