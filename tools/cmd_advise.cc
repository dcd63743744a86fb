// edo advise: what would serve a table better, judged from a recording of its use. Each kind of
// advice is a mode that an option of its own asks for.
#include "edo/advise.h"
#include "tools/common.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class AdviseVerb final : public Verb {
 public:
  explicit AdviseVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    AddTable(&table_, "Table to advise on; not needed when the store has only one");
    app->add_option("--order", options_.trace,
                    "Compare orders of rows on this trace: the keys of a batch on a line")
        ->type_name(kFileType);
    AddCount("--batch-lines", &options_.batch_lines, 1, INT64_MAX,
             "Lines of the trace that are looked up together")
        ->type_name("N")
        ->default_str("64");
    AddNumber(
        "--cache-rows", [this](double percent) { options_.cache_percent = percent; }, 0, 100,
        "Rows that a cache of hot rows holds, of all rows")
        ->type_name("PERCENT")
        ->default_str("5");
    app->footer(
        "Example:\n  edo advise --store vectors.edo --table glove --order lookups.txt\n"
        "The first half of the trace is known to the orders, the later half is replayed.\n"
        "Nothing is changed; `edo import --order` stores a table in another order.");
  }

  int Run(Console* console) override {
    if (options_.trace.empty()) {
      return console->Usage("say what to advise on: --order TRACE", "advise");
    }
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto table = OpenNamedTable(**store, table_);
    if (!table.ok()) return console->Fail(table.status());
    const auto advice = Advise(*console, **table);
    if (!advice.ok()) return console->Fail(advice.status());
    console->json ? PrintJson(console, **table, *advice) : Print(console, **table, *advice);
    return kExitOk;
  }

 private:
  Result<OrderAdvice> Advise(const Console& console, const Table& table) {
    ProgressBar bar(console, "advise");
    options_.progress = bar.Function();
    return AdviseOrder(table, options_);
  }

  static std::string Reads(double count) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", count);
    return text;
  }

  void Print(Console* console, const Table& table, const OrderAdvice& advice) const {
    console->Note(
        HumanCount(advice.lines) + " lines, the later half replayed as " +
        HumanCount(advice.batches) + (advice.batches == 1 ? " batch of " : " batches of ") +
        Reads(advice.rows_a_batch) + " rows; a cache of " + CountOf(advice.cache_rows, "row") +
        " misses " + Reads(advice.missed_rows_a_batch) + " of them");
    if (advice.keys_unknown != 0) {
      console->Note(HumanCount(advice.keys_unknown) + " of " + CountOf(advice.keys, "key") +
                    " are not in the table");
    }
    console->out().Write("order\tchunks a batch\tbehind the cache\n");
    for (const OrderCost& cost : advice.orders) {
      console->out().Write(NameOf(cost, table) + "\t" + Reads(cost.chunk_reads) + "\t" +
                           Reads(cost.cached_reads) + "\n");
    }
    console->out().Write("best\t" + advice.best + "\n");
  }

  static std::string NameOf(const OrderCost& cost, const Table& table) {
    return cost.order == "stored" ? "stored (" + TsvField(table.info().order) + ")" : cost.order;
  }

  void PrintJson(Console* console, const Table& table, const OrderAdvice& advice) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.advise/1");
    writer.Field("table", table.info().name);
    writer.Name("order");
    writer.BeginObject();
    writer.Field("trace", std::string_view(options_.trace));
    writer.Field("stored", std::string_view(table.info().order));
    writer.Field("batch_lines", options_.batch_lines);
    writer.Field("lines", advice.lines);
    writer.Field("batches", advice.batches);
    writer.Field("keys", advice.keys);
    writer.Field("keys_unknown", advice.keys_unknown);
    writer.Field("cache_rows", advice.cache_rows);
    writer.Field("rows_a_batch", advice.rows_a_batch);
    writer.Field("missed_rows_a_batch", advice.missed_rows_a_batch);
    writer.Name("orders");
    writer.BeginArray();
    for (const OrderCost& cost : advice.orders) {
      writer.BeginObject();
      writer.Field("order", std::string_view(cost.order));
      writer.Field("chunk_reads", cost.chunk_reads);
      writer.Field("cached_reads", cost.cached_reads);
      writer.EndObject();
    }
    writer.EndArray();
    writer.Field("best", std::string_view(advice.best));
    writer.EndObject();
    writer.EndObject();
  }

  std::string store_, table_;
  AdviseOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeAdvise(CLI::App* parent) {
  return std::make_unique<AdviseVerb>(
      parent->add_subcommand("advise", "Say which order of rows a recorded use asks for"));
}

}  // namespace edo::tools
