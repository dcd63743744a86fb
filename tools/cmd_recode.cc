// edo recode: a table's rows in another codec, while readers are at work.
#include <chrono>

#include "edo/recode.h"
#include "tools/codec_option.h"
#include "tools/common.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class RecodeVerb final : public Verb {
 public:
  explicit RecodeVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    AddTable(&options_.table, "Table to recode; not needed when the store has only one");
    app->add_option(
           "--codec", codec_.word,
           "The codec that rows are stored in from now on, as of `edo import`; `auto`: the "
           "smallest that keeps what --min-cosine and its like ask for")
        ->type_name("SPEC")
        ->required();
    AddGoal(&codec_.goal);
    AddHotTiers(&hot_);
    AddCompression(&options_.compression);
    AddCount("--threads", &threads_, 1, 256, "Threads that encode")
        ->type_name("N")
        ->default_str("2");
    app->footer(
        "Examples:\n  edo recode --store vectors.edo --table glove --codec P,L4\n"
        "  edo recode --store vectors.edo --codec auto --min-cosine 0.99\n"
        "  edo recode --store vectors.edo --hot 100000:INT8 --codec PQ25x8\n"
        "Rows are encoded as they decode now: errors of the old codec stay in them.\n"
        "Readers that have the table open keep the old rows until they close it.");
  }

  int Run(Console* console) override {
    if (const Status s = FillOptions(); !s.ok()) return console->Usage(s.message(), "recode");
    const auto store = Store::Open(store_, LoggedTo(*console));
    if (!store.ok()) return console->Fail(store.status());
    if (options_.table.empty()) {
      const auto table = OpenNamedTable(**store, "");
      if (!table.ok()) return console->Fail(table.status());
      options_.table = (*table)->info().name;
    }
    const auto start = std::chrono::steady_clock::now();
    const auto report = [&] {
      ProgressBar bar(*console, "recode");
      options_.progress = bar.Function();
      return Recode(store->get(), options_);
    }();
    if (!report.ok()) return console->Fail(report.status());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    Print(console, *report, seconds.count());
    if (console->json) PrintJson(console, *report, seconds.count());
    return kExitOk;
  }

 private:
  Status FillOptions() {
    options_.threads = static_cast<uint32_t>(threads_);
    EDO_ASSIGN_OR_RETURN(const CodecOption::Meaning codec, codec_.Resolve());
    if (codec.codec) options_.codec = *codec.codec;
    options_.choose_codec = codec.choose;
    if (codec_.word.empty()) return Status::InvalidArgument("--codec: '' is no codec");
    EDO_ASSIGN_OR_RETURN(options_.hot, ParseHotTiers(hot_));
    return Status::Ok();
  }

  void Print(Console* console, const RecodeReport& report, double seconds) const {
    const TableInfo& after = report.after;
    if (report.unchanged) {
      console->Note("table '" + after.name + "' is in " + CodecText(after) +
                    " already; nothing was written");
      return;
    }
    console->Note("table '" + after.name + "': " + CodecText(report.before) + " -> " +
                  CodecText(after) + ", " + HumanCount(after.rows) + " rows in " +
                  HumanSeconds(seconds) + "; rows " + HumanBytes(report.before.chunk_file_bytes) +
                  " -> " + HumanBytes(after.chunk_file_bytes));
    if (report.dropped_refinement) {
      console->Note("the refinement was dropped; what was left is as it was");
    }
    if (options_.choose_codec) {
      console->Note("chosen: " + after.metadata.at("edo.codec.choice"));
    }
  }

  void PrintJson(Console* console, const RecodeReport& report, double seconds) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.recode/1");
    writer.Field("store", std::string_view(store_));
    writer.Field("codec_before", CodecText(report.before));
    writer.Field("chunk_file_bytes_before", report.before.chunk_file_bytes);
    writer.Field("unchanged", report.unchanged);
    writer.Field("dropped_refinement", report.dropped_refinement);
    writer.Name("table");
    writer.BeginObject();
    WriteTableFields(&writer, report.after);
    writer.EndObject();
    writer.Field("seconds", seconds);
    writer.EndObject();
  }

  RecodeOptions options_;
  CodecOption codec_;
  std::string store_;
  std::vector<std::string> hot_;
  uint64_t threads_ = 2;
};

}  // namespace

std::unique_ptr<Verb> MakeRecode(CLI::App* parent) {
  return std::make_unique<RecodeVerb>(
      parent->add_subcommand("recode", "Store a table's rows in another codec"));
}

}  // namespace edo::tools
