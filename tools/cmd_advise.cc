// edo advise: what would serve a table better. With --order, the order of its rows, judged from a
// recording of its use; else the codec, tried on a sample of a table or of a file.
#include <cstdio>

#include "edo/advise.h"
#include "edo/codec_choice.h"
#include "tools/common.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/source_options.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class AdviseVerb final : public Verb {
 public:
  explicit AdviseVerb(CLI::App* app) : Verb(app) {
    AddSourceOptions(app, &source_, "FILE", false);
    AddStore(&store_, false);
    AddTable(&table_, "Table to advise on; not needed when the store has only one");
    AddGoal(&codecs_.goal);
    app->add_option("--codecs", codec_words_,
                    "Try these codecs instead of the ladder; may be given again")
        ->type_name("SPEC")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    AddCount("--threads", &threads_, 1, 256, "Threads that learn and encode")
        ->type_name("N")
        ->default_str("2");
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
        "Examples:\n  edo advise glove.6B.100d.txt --min-cosine 0.99\n"
        "  edo advise --store vectors.edo --table glove --max-rel-error 0.01 --at mean\n"
        "  edo advise --store vectors.edo --table glove --order lookups.txt\n"
        "Codecs are tried on a sample; errors are of rows that they have not seen. The\n"
        "first half of the trace is known to the orders, the later half is replayed.\n"
        "Nothing is changed; `edo import` and `edo recode` take what is advised.\n"
        "Exit code 3: no codec keeps what was asked for.");
  }

  int Run(Console* console) override {
    if (options_.trace.empty()) return RunCodecs(console);
    if (!source_.source.path.empty() || store_.empty()) {
      return console->Usage("--order goes with --store", "advise");
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
  int RunCodecs(Console* console) {
    const bool has_file = !source_.source.path.empty();
    if (has_file == !store_.empty()) {
      return console->Usage("give either a FILE or --store", "advise");
    }
    for (const std::string& word : codec_words_) {
      const auto codec = CodecSpec::Parse(word);
      if (!codec.ok()) return console->Usage(codec.status().message(), "advise");
      codecs_.codecs.push_back(*codec);
    }
    codecs_.threads = static_cast<uint32_t>(threads_);
    const auto advice = has_file ? AdviseFile(*console) : AdviseTable(*console);
    if (!advice.ok()) {
      return advice.status().code() == StatusCode::kInvalidArgument
                 ? console->Usage(advice.status().message(), "advise")
                 : console->Fail(advice.status());
    }
    const bool has_goal = !codecs_.goal.quality.empty() || codecs_.goal.max_bytes;
    console->json ? PrintCodecsJson(console, *advice) : PrintCodecs(console, *advice, has_goal);
    if (!has_goal || advice->best) return kExitOk;
    console->Note("no codec keeps what was asked for");
    return kExitThreshold;
  }

  Result<CodecAdvice> AdviseFile(const Console& console) {
    EDO_ASSIGN_OR_RETURN(SourceOptions source, source_.Resolve());
    source.cancelled = [] { return Interrupted(); };
    ProgressBar bar(console, "advise");
    codecs_.progress = bar.Function();
    return AdviseCodec(source, codecs_);
  }

  Result<CodecAdvice> AdviseTable(const Console& console) {
    EDO_ASSIGN_OR_RETURN(const auto store, OpenForReading(store_, console));
    EDO_ASSIGN_OR_RETURN(const auto table, OpenNamedTable(*store, table_));
    ProgressBar bar(console, "advise");
    codecs_.progress = bar.Function();
    return AdviseCodec(*table, codecs_);
  }

  static std::string Number(const char* format, double value) {
    char text[40];
    std::snprintf(text, sizeof text, format, value);
    return text;
  }

  void PrintCodecs(Console* console, const CodecAdvice& advice, bool has_goal) const {
    console->Note(HumanCount(advice.rows) + " rows of dim " + std::to_string(advice.dim) +
                  "; learned from " + HumanCount(advice.rows_learned) + " rows, measured on " +
                  HumanCount(advice.rows_tested) +
                  (advice.held_out ? " others" : ", the same ones"));
    console->out().Write(
        "codec\tbits\tbytes\trel error\tcosine mean\tp1\tworst\toverlap\tdecode ns\tkeeps\n");
    for (const CodecTrial& trial : advice.trials) {
      const QualityReport& q = trial.quality;
      const std::string keeps = trial.missed.empty() ? (has_goal ? "yes" : "-") : trial.missed[0];
      console->out().Write(trial.codec.ToString() + "\t" + Number("%.3f", trial.bits) + "\t" +
                           std::to_string(trial.bytes) + "\t" + Number("%.3g", q.rel_error_mean) +
                           "\t" + Number("%.5f", q.cosine_mean) + "\t" +
                           Number("%.5f", q.cosine_p1) + "\t" + Number("%.5f", q.cosine_worst) +
                           "\t" + (q.overlap ? Number("%.3f", *q.overlap) : "-") + "\t" +
                           Number("%.0f", trial.decode_ns) + "\t" + TsvField(keeps) + "\n");
    }
    if (has_goal) {
      console->out().Write("best\t" + (advice.best ? advice.best->ToString() : "-") + "\n");
    }
  }

  void PrintCodecsJson(Console* console, const CodecAdvice& advice) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.advise.codec/1");
    writer.Field("rows", advice.rows);
    writer.Field("dim", uint64_t{advice.dim});
    writer.Field("rows_learned", advice.rows_learned);
    writer.Field("rows_tested", advice.rows_tested);
    writer.Field("held_out", advice.held_out);
    writer.Name("codecs");
    writer.BeginArray();
    for (const CodecTrial& trial : advice.trials) {
      const QualityReport& q = trial.quality;
      writer.BeginObject();
      writer.Field("codec", trial.codec.ToString());
      writer.Field("bits", trial.bits);
      writer.Field("row_bytes", trial.row_bytes);
      writer.Field("bytes", trial.bytes);
      writer.Field("rel_error_mean", q.rel_error_mean);
      writer.Field("rel_error_p99", q.rel_error_p99);
      writer.Field("cosine_mean", q.cosine_mean);
      writer.Field("cosine_p1", q.cosine_p1);
      writer.Field("cosine_worst", q.cosine_worst);
      if (q.overlap) writer.Field("overlap", *q.overlap);
      writer.Field("learn_seconds", trial.learn_seconds);
      writer.Field("encode_ns", trial.encode_ns);
      writer.Field("decode_ns", trial.decode_ns);
      writer.Name("missed");
      writer.BeginArray();
      for (const std::string& miss : trial.missed) writer.String(miss);
      writer.EndArray();
      writer.EndObject();
    }
    writer.EndArray();
    if (advice.best) writer.Field("best", advice.best->ToString());
    writer.EndObject();
  }

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
  SourceArgs source_;
  AdviseCodecOptions codecs_;
  std::vector<std::string> codec_words_;
  uint64_t threads_ = 2;
};

}  // namespace

std::unique_ptr<Verb> MakeAdvise(CLI::App* parent) {
  return std::make_unique<AdviseVerb>(
      parent->add_subcommand("advise", "Say which codec, or order of rows, would serve better"));
}

}  // namespace edo::tools
