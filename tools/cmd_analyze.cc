// edo analyze: how well a table keeps the file it was made of. Every row is compared with the row
// of the same key; a threshold that is missed is an exit code of its own.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "edo/quality.h"
#include "tools/common.h"
#include "tools/import_notes.h"
#include "tools/progress.h"
#include "tools/quality_page.h"
#include "tools/report_file.h"
#include "tools/signals.h"
#include "tools/source_options.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

namespace fs = std::filesystem;

std::string Figure(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

class AnalyzeVerb final : public Verb {
 public:
  explicit AnalyzeVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    AddTable(&table_, "Table to analyze; not needed when the store has only one");
    AddSourceOptions(app, &source_, "--against", true);
    AddStrictness(&source_.source, &options_.on_duplicate);
    AddCount("--limit", &limit_, 0, INT64_MAX, "Read at most this many rows of the original")
        ->type_name("N");
    AddThresholds();
    app->add_flag("--base-only", base_only_,
                  "Rows of L4+4 without what refines them, as the L4 that they hold");
    AddCount("--overlap-rows", &options_.overlap_rows, 0, INT64_MAX,
             "Rows among which overlap is measured; 0: it is not")
        ->type_name("N")
        ->default_str("100000");
    app->add_flag("--ignore-missing", ignore_missing_,
                  "Rows that only the table or only the original has are no error");
    app->add_option("--html", html_, "Write the report as a page with plots to this file")
        ->type_name(kFileType);
    app->add_flag("-f,--force", force_, "Overwrite the file of --html");
    AddCount("--threads", &threads_, 1, 256, "1: no reading ahead")
        ->type_name("N")
        ->default_str("2");
    app->footer(
        "Example:\n"
        "  edo analyze --store vectors.edo --table glove --against glove.6B.100d.txt \\\n"
        "    --min-cosine 0.99 --html report.html\n"
        "The original is read as `edo import` read it: give the same options.\n"
        "Exit code 1: rows without a partner (figures are of the others);\n"
        "3: a threshold was missed.");
  }

  int Run(Console* console) override {
    if (const Status s = FillOptions(); !s.ok()) return console->Usage(s.message(), "analyze");
    std::unique_ptr<ReportFile> page;
    if (!html_.empty()) {
      auto opened = ReportFile::Open("--html", html_, force_);
      if (!opened.ok()) return console->Fail(opened.status());
      page = std::move(opened).value();
    }
    const auto notes = ImportNotes::Open("", false);
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto table = OpenNamedTable(**store, table_, {.base_only = base_only_});
    if (!table.ok()) return console->Fail(table.status());
    if (const Status s = CheckCountable((*table)->info(), "analyze"); !s.ok()) {
      return console->Fail(s);
    }
    const auto report = DoAnalyze(*console, **table, notes->get());
    if (!report.ok()) return console->Fail(report.status());
    const std::vector<std::string> missed = MissedOf(budget_, report->quality);
    const TableInfo& info = (*table)->info();
    if (page != nullptr) {
      page->Write(QualityPage(info, options_.against.path, *report, missed));
      if (const Status s = page->Close(/*keep=*/true); !s.ok()) return console->Fail(s);
    }
    Note(*console, *report, **notes);
    console->json ? PrintJson(console, info, *report, **notes, missed) : Print(console, *report);
    return Judge(*console, info, *report, missed);
  }

 private:
  void AddThresholds() {
    const double kInfinity = HUGE_VAL;
    AddNumber(
        "--max-rel-error", [this](double v) { budget_.max_rel_error = v; }, 0, kInfinity,
        "Exit with 3 when the relative squared error at --at is above this")
        ->type_name("E");
    AddNumber(
        "--min-cosine", [this](double v) { budget_.min_cosine = v; }, -1, 1,
        "Exit with 3 when the cosine at --at is below this")
        ->type_name("C");
    AddChoice<QualityBudget::At>("--at", &budget_.at,
                                 {{"mean", QualityBudget::At::kMean},
                                  {"p1", QualityBudget::At::kP1},
                                  {"worst", QualityBudget::At::kWorst}},
                                 "Which row the thresholds mean: the mean, the first percentile "
                                 "from the worst, or the worst");
    AddNumber(
        "--min-overlap", [this](double v) { budget_.min_overlap = v; }, 0, 1,
        "Exit with 3 when of the 10 nearest rows less than this share stays nearest")
        ->type_name("O");
  }

  Status FillOptions() {
    EDO_ASSIGN_OR_RETURN(options_.against, source_.Resolve());
    options_.against.limit = limit_;
    options_.threads = static_cast<uint32_t>(threads_);
    options_.overlap.threads = options_.threads;
    if (budget_.min_overlap && options_.overlap_rows == 0) {
      return Status::InvalidArgument("--min-overlap needs --overlap-rows");
    }
    if (html_.empty()) return Status::Ok();
    if (html_ == "-") return Status::InvalidArgument("--html needs the name of a file, not '-'");
    std::error_code ignored;
    for (const std::string& input : {options_.against.path, options_.against.keys}) {
      if (fs::equivalent(html_, input, ignored)) {
        return Status::InvalidArgument("--html would overwrite the input '" + input + "'");
      }
    }
    const fs::path folder = fs::path(html_).parent_path();
    if (fs::equivalent(folder.empty() ? "." : folder, store_, ignored)) {
      return Status::InvalidArgument("--html may not lie inside the store");
    }
    return Status::Ok();
  }

  Result<AnalysisReport> DoAnalyze(const Console& console, const Table& table, ImportNotes* notes) {
    ProgressBar bar(console, "analyze");
    options_.progress = bar.Function();
    options_.against.cancelled = [] { return Interrupted(); };
    options_.against.note = [notes](const ImportNote& note) { notes->Add(note); };
    return Analyze(table, options_);
  }

  void Note(const Console& console, const AnalysisReport& report, const ImportNotes& notes) const {
    console.Note("recognised " + report.format +
                 (report.compression.empty() ? "" : " (" + report.compression + ")") + ": " +
                 report.source_dtype + " values, " + CountOf(report.rows_read, "row"));
    const auto count = [&](uint64_t n, const char* noun, const char* what) {
      if (n != 0) console.Note(CountOf(n, noun) + " " + what);
    };
    count(report.rows_skipped, "row", "skipped");
    count(report.rows_repeated, "row", "of a repeated key left out");
    count(report.values_changed, "value", "changed to 0");
    count(report.keys_changed, "key", "changed");
    notes.Print(console);
    for (const std::string& warning : report.warnings) console.Warn(warning);
    if (!html_.empty()) console.Note("wrote " + html_);
  }

  // What went wrong, on standard error; the exit code.
  int Judge(const Console& console, const TableInfo& info, const AnalysisReport& report,
            const std::vector<std::string>& missed) const {
    const auto unmatched = [&](uint64_t rows, const AnalysisReport::Unmatched* first,
                               const std::string& from, const std::string& lacks,
                               const std::string& unit) {
      if (rows == 0) return;
      const std::string line = CountOf(rows, "row") + " of " + from + (rows == 1 ? " is" : " are") +
                               " not in " + lacks + "; the first has key '" + first->key + "' (" +
                               unit + " " + std::to_string(first->position) + ")";
      ignore_missing_ ? console.Note(line) : console.Problem(line);
    };
    const std::string table = "table '" + info.name + "'", original = options_.against.path;
    unmatched(report.rows_missing, report.missing.data(), original, table, report.position_unit);
    unmatched(report.rows_extra, report.extra.data(), table, original, "row");
    for (const std::string& miss : missed) console.Problem(table + ": " + miss);
    if (!ignore_missing_ && report.rows_missing + report.rows_extra != 0) return kExitError;
    return missed.empty() ? kExitOk : kExitThreshold;
  }

  static void Print(Console* console, const AnalysisReport& report) {
    const QualityReport& q = report.quality;
    const auto line = [&](const char* name, const std::string& value) {
      console->out().Write(std::string(name) + "\t" + value + "\n");
    };
    const auto count = [&](const char* name, uint64_t n) { line(name, std::to_string(n)); };
    count("rows compared", q.rows);
    count("rows exact", q.rows_exact);
    count("rows of zeros", q.rows_zero);
    count("rows of zeros not back as zeros", q.rows_zero_wrong);
    count("rows with inf or nan", q.rows_non_finite);
    count("rows with inf or nan not back as such", q.rows_non_finite_wrong);
    count("finite rows back with inf or nan", q.rows_broken);
    count("rows that the table lacks", report.rows_missing);
    count("rows that the original lacks", report.rows_extra);
    line("relative error mean", Figure(q.rel_error_mean));
    line("relative error of all", Figure(q.rel_error_global));
    line("relative error p99", Figure(q.rel_error_p99));
    line("relative error worst", Figure(q.rel_error_worst));
    line("cosine mean", Figure(q.cosine_mean));
    line("cosine p1", Figure(q.cosine_p1));
    line("cosine worst", Figure(q.cosine_worst));
    line("largest error of a value", Figure(q.abs_error_worst));
    if (q.overlap) {
      line("neighbours kept", Figure(*q.overlap));
      count("rows of the sample of neighbours", report.overlap_rows);
    }
    std::string out =
        "\nnorm from\tto\trows\trelative error mean\tworst\tcosine mean\tcosine worst\n";
    const auto cells = [&](std::initializer_list<std::string> texts) {
      for (const std::string& text : texts) out += text + "\t";
      out.back() = '\n';
    };
    for (const NormBucket& b : q.norms) {
      cells({Figure(b.from), Figure(b.to), std::to_string(b.rows), Figure(b.rel_error_mean),
             Figure(b.rel_error_worst), Figure(b.cosine_mean), Figure(b.cosine_worst)});
    }
    out += "\nrelative error from\tto\trows\n";
    for (const ErrorBin& bin : q.histogram) {
      cells({Figure(bin.from), Figure(bin.to), std::to_string(bin.rows)});
    }
    out += "\nworst key\trow\tnorm\trelative error\tcosine\n";
    for (const WorstRow& w : q.worst) {
      cells({TsvField(w.key), std::to_string(w.row), Figure(w.norm), Figure(w.rel_error),
             Figure(w.cosine)});
    }
    console->out().Write(out);
  }

  void PrintJson(Console* console, const TableInfo& info, const AnalysisReport& report,
                 const ImportNotes& notes, const std::vector<std::string>& missed) const;

  SourceArgs source_;
  AnalyzeOptions options_;
  bool base_only_ = false;
  QualityBudget budget_;
  std::string store_, table_, html_;
  uint64_t limit_ = UINT64_MAX, threads_ = 2;
  bool ignore_missing_ = false, force_ = false;
};

void WriteQuality(JsonWriter* json, const TableInfo& info, const QualityReport& q) {
  json->Field("rows", q.rows);
  json->Field("rows_exact", q.rows_exact);
  json->Field("rows_zero", q.rows_zero);
  json->Field("rows_zero_wrong", q.rows_zero_wrong);
  json->Field("rows_non_finite", q.rows_non_finite);
  json->Field("rows_non_finite_wrong", q.rows_non_finite_wrong);
  json->Field("rows_broken", q.rows_broken);
  json->Field("rel_error_mean", q.rel_error_mean);
  json->Field("rel_error_global", q.rel_error_global);
  json->Field("rel_error_p99", q.rel_error_p99);
  json->Field("rel_error_worst", q.rel_error_worst);
  json->Field("cosine_mean", q.cosine_mean);
  json->Field("cosine_p1", q.cosine_p1);
  json->Field("cosine_worst", q.cosine_worst);
  json->Field("abs_error_worst", q.abs_error_worst);
  json->Name("overlap");
  q.overlap ? json->Double(*q.overlap) : json->Null();
  json->Name("norms");
  json->BeginArray();
  for (const NormBucket& b : q.norms) {
    json->BeginObject();
    json->Field("from", b.from);
    json->Field("to", b.to);
    json->Field("rows", b.rows);
    json->Field("rel_error_mean", b.rel_error_mean);
    json->Field("rel_error_worst", b.rel_error_worst);
    json->Field("cosine_mean", b.cosine_mean);
    json->Field("cosine_worst", b.cosine_worst);
    json->EndObject();
  }
  json->EndArray();
  json->Name("histogram");
  json->BeginArray();
  for (const ErrorBin& bin : q.histogram) {
    json->BeginObject();
    json->Field("from", bin.from);
    json->Field("to", bin.to);
    json->Field("rows", bin.rows);
    json->EndObject();
  }
  json->EndArray();
  json->Name("worst");
  json->BeginArray();
  for (const WorstRow& w : q.worst) {
    json->BeginObject();
    WriteKey(json, info, w.key);
    json->Field("row", w.row);
    json->Field("norm", w.norm);
    json->Field("rel_error", w.rel_error);
    json->Field("cosine", w.cosine);
    json->EndObject();
  }
  json->EndArray();
}

void AnalyzeVerb::PrintJson(Console* console, const TableInfo& info, const AnalysisReport& report,
                            const ImportNotes& notes,
                            const std::vector<std::string>& missed) const {
  JsonWriter json(&console->out());
  json.BeginObject();
  json.Field("schema", "edo.analyze/1");
  json.Field("store", std::string_view(store_));
  json.Name("table");
  json.BeginObject();
  WriteTableFields(&json, info);
  json.EndObject();
  json.Field("against", std::string_view(options_.against.path));
  json.Field("format", std::string_view(report.format));
  json.Field("compression", std::string_view(report.compression));
  json.Field("source_dtype", std::string_view(report.source_dtype));
  json.Field("rows_read", report.rows_read);
  json.Field("rows_skipped", report.rows_skipped);
  json.Field("rows_repeated", report.rows_repeated);
  json.Field("values_changed", report.values_changed);
  json.Field("keys_changed", report.keys_changed);
  json.Field("rows_missing", report.rows_missing);
  json.Field("rows_extra", report.rows_extra);
  const auto unmatched = [&](const char* name, const char* place,
                             const std::vector<AnalysisReport::Unmatched>& rows) {
    json.Name(name);
    json.BeginArray();
    for (const AnalysisReport::Unmatched& row : rows) {
      json.BeginObject();
      WriteKey(&json, info, row.key);
      json.Field(place, row.position);
      json.EndObject();
    }
    json.EndArray();
  };
  json.Field("position_unit", std::string_view(report.position_unit));
  unmatched("missing", "position", report.missing);
  unmatched("extra", "row", report.extra);
  json.Field("overlap_rows", report.overlap_rows);
  json.Name("quality");
  json.BeginObject();
  WriteQuality(&json, info, report.quality);
  json.EndObject();
  json.Name("missed");
  json.BeginArray();
  for (const std::string& miss : missed) json.String(miss);
  json.EndArray();
  json.Name("warnings");
  json.BeginArray();
  for (const std::string& warning : report.warnings) json.String(warning);
  json.EndArray();
  notes.WriteJson(&json);
  json.EndObject();
}

}  // namespace

std::unique_ptr<Verb> MakeAnalyze(CLI::App* parent) {
  return std::make_unique<AnalyzeVerb>(
      parent->add_subcommand("analyze", "Compare a table with the file it was made of"));
}

}  // namespace edo::tools
