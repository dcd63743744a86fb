// edo eval: what the rows of a table of words are good for: word similarity and analogies, beside
// those of the file that the table was made of.
#include <cstdio>
#include <optional>

#include "edo/eval.h"
#include "tools/common.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/source_options.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

std::string Figure(const std::optional<double>& value) {
  if (!value) return "-";
  char text[40];
  std::snprintf(text, sizeof text, "%.4f", *value);
  return text;
}

// Cells of one line, TABs between.
class Row {
 public:
  Row& operator<<(const std::string& text) {
    if (!line_.empty()) line_ += '\t';
    line_ += text;
    return *this;
  }
  Row& operator<<(uint64_t count) { return *this << std::to_string(count); }
  std::string line() const { return line_ + "\n"; }

 private:
  std::string line_;
};

void WriteFigure(JsonWriter* json, const char* name, const std::optional<double>& value) {
  json->Name(name);
  value ? json->Double(*value) : json->Null();
}

void WriteSection(JsonWriter* json, const AnalogySection& section) {
  json->Field("questions", section.questions);
  json->Field("used", section.used);
  json->Field("skipped", section.skipped());
  json->Field("solved", section.solved);
  WriteFigure(json, "accuracy", section.accuracy());
}

// Fields of a report, into an open object.
void WriteReport(JsonWriter* json, const EvalReport& report) {
  json->Field("vocabulary", report.vocabulary);
  json->Name("similarity");
  json->BeginArray();
  for (const SimilarityReport& similarity : report.similarity) {
    json->BeginObject();
    json->Field("file", std::string_view(similarity.file));
    json->Field("header", std::string_view(similarity.header));
    json->Field("pairs", similarity.pairs);
    json->Field("used", similarity.used);
    json->Field("skipped", similarity.skipped());
    WriteFigure(json, "spearman", similarity.spearman);
    json->EndObject();
  }
  json->EndArray();
  json->Name("analogies");
  json->BeginArray();
  for (const AnalogyReport& analogies : report.analogies) {
    json->BeginObject();
    json->Field("file", std::string_view(analogies.file));
    WriteSection(json, analogies.total);
    json->Name("sections");
    json->BeginArray();
    for (const AnalogySection& section : analogies.sections) {
      json->BeginObject();
      json->Field("name", std::string_view(section.name));
      WriteSection(json, section);
      json->EndObject();
    }
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
}

class EvalVerb final : public Verb {
 public:
  explicit EvalVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    AddTable(&table_, "Table to evaluate; not needed when the store has only one");
    AddFiles("--similarity", &options_.similarity,
             "Pairs of words with a score, a line each: MEN, WordSim-353, SimLex-999, RW, "
             "MTurk-771; may be given again");
    app->add_option("--score-column", options_.score_column,
                    "Name of the score in the header of those files; default: the third field")
        ->type_name("NAME");
    AddFiles("--analogies", &options_.analogies,
             "Four words a line, `: NAME` before sections, as questions-words.txt; may be given "
             "again");
    AddCount("--vocabulary", &options_.vocabulary, 1, INT64_MAX,
             "Analogies ask about, and answer with, the first N rows of the source only")
        ->type_name("N")
        ->default_str("30000");
    app->add_flag("--lower", options_.lower,
                  "Look the files' words up in lower case (A-Z become a-z)");
    AddSourceOptions(app, &source_, "--against", false);
    AddCount("--threads", &threads_, 1, 256, "Threads for analogies")
        ->type_name("N")
        ->default_str("2");
    app->footer(
        "Example:\n"
        "  edo eval --store vectors.edo --table glove --similarity MEN.txt \\\n"
        "    --analogies questions-words.txt --lower --against glove.6B.100d.txt\n"
        "Similarity: rank correlation of scores and cosines. Analogies: share solved by\n"
        "3CosAdd. With --against the same of that file stands beside it.");
  }

  int Run(Console* console) override {
    const auto original = FillOptions();
    if (!original.ok()) return console->Usage(original.status().message(), "eval");
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto table = OpenNamedTable(**store, table_);
    if (!table.ok()) return console->Fail(table.status());
    const auto report = DoEvaluate(*console, **table, "eval");
    if (!report.ok()) return console->Fail(report.status());
    std::optional<EvalReport> against;
    if (*original) {
      auto of_file = DoEvaluate(*console, **original, "eval original");
      if (!of_file.ok()) return console->Fail(of_file.status());
      against = std::move(of_file).value();
    }
    for (const SimilarityReport& similarity : report->similarity) {
      if (similarity.header.empty()) continue;
      console->Note(similarity.file + ": line 1 is a header: " + similarity.header);
    }
    console->json ? PrintJson(console, (*table)->info(), *report, against)
                  : Print(console, *report, against);
    return kExitOk;
  }

 private:
  void AddFiles(const char* name, std::vector<std::string>* files, const char* help) {
    app()
        ->add_option(name, *files, help)
        ->type_name(kFileType)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  }

  // The file of --against, if any. It is read leniently: what is odd in a row has no direction.
  Result<std::optional<SourceOptions>> FillOptions() {
    options_.threads = static_cast<uint32_t>(threads_);
    EDO_RETURN_IF_ERROR(options_.Validate());
    EDO_ASSIGN_OR_RETURN(SourceOptions source, source_.Resolve());
    if (source.path.empty()) {
      if (source.format.empty() && source.keys.empty() && source.tensor.empty() &&
          source.keys_dtype.empty() && source.dtype.empty() && source.dim == 0 &&
          source.delimiter == 0 && !source.key_kind) {
        return std::optional<SourceOptions>();
      }
      return Status::InvalidArgument("options of how to read a file need --against FILE");
    }
    source.non_finite = OnNonFinite::kKeep;
    source.invalid_utf8 = OnInvalidUtf8::kKeep;
    if (!source.key_kind) source.key_kind = KeyKind::kText;
    source.cancelled = [] { return Interrupted(); };
    return std::optional(std::move(source));
  }

  template <typename Source>
  Result<EvalReport> DoEvaluate(const Console& console, const Source& source, const char* what) {
    ProgressBar bar(console, what);
    options_.progress = bar.Function();
    return Evaluate(source, options_);
  }

  static void Print(Console* console, const EvalReport& report,
                    const std::optional<EvalReport>& against) {
    const auto line = [&](const Row& row) { console->out().Write(row.line()); };
    if (!report.similarity.empty()) {
      Row head;
      head << "similarity"
           << "pairs"
           << "used"
           << "skipped"
           << "spearman";
      if (against) {
        head << "used of original"
             << "spearman of original";
      }
      line(head);
    }
    for (size_t i = 0; i < report.similarity.size(); ++i) {
      const SimilarityReport& s = report.similarity[i];
      Row row;
      row << TsvField(s.file) << s.pairs << s.used << s.skipped() << Figure(s.spearman);
      if (against) row << against->similarity[i].used << Figure(against->similarity[i].spearman);
      line(row);
    }
    for (size_t i = 0; i < report.analogies.size(); ++i) {
      if (i > 0 || !report.similarity.empty()) console->out().Write("\n");
      PrintAnalogies(console, report.analogies[i], against ? &against->analogies[i] : nullptr);
    }
  }

  static void PrintAnalogies(Console* console, const AnalogyReport& report,
                             const AnalogyReport* against) {
    Row head;
    head << TsvField(report.file) << "questions"
         << "used"
         << "skipped"
         << "solved"
         << "accuracy";
    if (against != nullptr) {
      head << "used of original"
           << "solved of original"
           << "accuracy of original";
    }
    console->out().Write(head.line());
    const auto print = [&](const std::string& name, const AnalogySection& s,
                           const AnalogySection* original) {
      Row row;
      row << name << s.questions << s.used << s.skipped() << s.solved << Figure(s.accuracy());
      if (original != nullptr) {
        row << original->used << original->solved << Figure(original->accuracy());
      }
      console->out().Write(row.line());
    };
    for (size_t s = 0; s < report.sections.size(); ++s) {
      const std::string& name = report.sections[s].name;
      print(name.empty() ? "(no section)" : TsvField(name), report.sections[s],
            against == nullptr ? nullptr : &against->sections[s]);
    }
    print("total", report.total, against == nullptr ? nullptr : &against->total);
  }

  void PrintJson(Console* console, const TableInfo& info, const EvalReport& report,
                 const std::optional<EvalReport>& against) const {
    JsonWriter json(&console->out());
    json.BeginObject();
    json.Field("schema", "edo.eval/1");
    json.Field("store", std::string_view(store_));
    json.Name("table");
    json.BeginObject();
    WriteTableFields(&json, info);
    json.EndObject();
    json.Field("lower", options_.lower);
    WriteReport(&json, report);
    json.Name("against");
    if (against) {
      json.BeginObject();
      json.Field("file", std::string_view(source_.source.path));
      WriteReport(&json, *against);
      json.EndObject();
    } else {
      json.Null();
    }
    json.EndObject();
  }

  SourceArgs source_;
  EvalOptions options_;
  std::string store_, table_;
  uint64_t threads_ = 2;
};

}  // namespace

std::unique_ptr<Verb> MakeEval(CLI::App* parent) {
  return std::make_unique<EvalVerb>(
      parent->add_subcommand("eval", "Test a table of words: similarity, analogies"));
}

}  // namespace edo::tools
