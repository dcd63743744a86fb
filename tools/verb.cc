// Body of Verb.
#include "tools/verb.h"

#include <cmath>
#include <cstdlib>

#include "tools/help_formatter.h"
#include "tools/text.h"

namespace edo::tools {

Verb::Verb(CLI::App* app) : app_(app) {
  app->group("Verbs");
  app->add_flag("--json", json, "Print one JSON object on standard output");
  app->add_flag("-q,--quiet", quiet, "Say nothing on standard error but errors");
}

void Verb::AddStore(std::string* store, bool required) {
  app_->add_option("-s,--store", *store, "Directory of the store")
      ->type_name(kDirectoryType)
      ->required(required);
}

void Verb::AddTable(std::string* table, const char* help) {
  app_->add_option_function<std::string>(
          "-t,--table",
          [table](const std::string& given) {
            if (given.empty()) {
              throw CLI::ValidationError("--table", "the name is empty");
            }
            *table = given;
          },
          help)
      ->type_name("NAME");
}

void Verb::TakesKeys(const char* words) {
  // Not a CLI11 positional: those change keys such as "[a,b]".
  app_->allow_extras();
  app_->formatter(std::make_shared<HelpFormatter>(words));
}

CLI::Option* Verb::AddCount(const char* name, uint64_t* target, uint64_t least, uint64_t most,
                            const char* help) {
  return app_->add_option_function<std::string>(
      name,
      [=](const std::string& given) {
        // CLI11 itself takes "-1" for a large unsigned number.
        const auto number = ParseInt64(given);
        if (!number || *number < 0 || static_cast<uint64_t>(*number) < least ||
            static_cast<uint64_t>(*number) > most) {
          throw CLI::ValidationError(name, "'" + given + "' is not a whole number within " +
                                               std::to_string(least) + ".." + std::to_string(most));
        }
        *target = static_cast<uint64_t>(*number);
      },
      help);
}

void Verb::AddGoal(CodecGoal* goal) {
  QualityBudget* const quality = &goal->quality;
  AddNumber(
      "--max-rel-error", [=](double v) { quality->max_rel_error = v; }, 0, HUGE_VAL,
      "Codecs must keep the relative squared error at --at to this")
      ->type_name("E");
  AddNumber(
      "--min-cosine", [=](double v) { quality->min_cosine = v; }, -1, 1,
      "Codecs must keep the cosine to the original at --at at least at this")
      ->type_name("C");
  AddChoice<QualityBudget::At>("--at", &quality->at,
                               {{"mean", QualityBudget::At::kMean},
                                {"p1", QualityBudget::At::kP1},
                                {"worst", QualityBudget::At::kWorst}},
                               "Which row these mean: the mean, the first percentile from the "
                               "worst, or the worst");
  AddNumber(
      "--min-overlap", [=](double v) { quality->min_overlap = v; }, 0, 1,
      "Of the 10 nearest rows at least this share must stay nearest")
      ->type_name("O");
  AddNumber(
      "--max-bytes", [=](double v) { goal->max_bytes = static_cast<uint64_t>(v); }, 1, 1e18,
      "Bytes that all rows may take, hot ones too, without keys; of the codecs that fit, the "
      "closest is best")
      ->type_name("B");
}

void Verb::AddCompression(Compression* compression) {
  AddChoice<Compression>(
      "--compress", compression,
      {{"auto", Compression::kAuto}, {"none", Compression::kNone}, {"zstd", Compression::kZstd}},
      "Compress the rows on disk; auto: where a sample shrinks by a tenth");
}

void Verb::AddHotTiers(std::vector<std::string>* hot) {
  app_->add_option("--hot", *hot,
                   "The first ROWS rows (a number, or a share as 5%) in this codec, the rest as "
                   "--codec says; may be given up to 15 times, each for the rows behind. With "
                   "--order the first rows are those used most")
      ->type_name("ROWS:SPEC")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

Result<std::vector<HotTier>> ParseHotTiers(const std::vector<std::string>& given) {
  std::vector<HotTier> hot;
  for (const std::string& text : given) {
    const auto wrong = [&](const std::string& what) {
      return Status::InvalidArgument("--hot '" + text + "': " + what);
    };
    const size_t colon = text.find(':');
    if (colon == std::string::npos) {
      return wrong("expected ROWS:CODEC, as 100000:INT8 or 5%:L4");
    }
    HotTier tier;
    std::string rows = text.substr(0, colon);
    if (rows.ends_with('%')) {
      rows.pop_back();
      char* end = nullptr;
      tier.percent = std::strtod(rows.c_str(), &end);
      const bool is_number = !rows.empty() && std::isdigit(static_cast<unsigned char>(rows[0]));
      if (!is_number || *end != '\0' || !(tier.percent > 0 && tier.percent < 100)) {
        return wrong("a share of the rows lies between 0% and 100%");
      }
    } else {
      const auto number = ParseInt64(rows);
      if (!number || *number < 1 || static_cast<uint64_t>(*number) > kMaxRows) {
        return wrong("rows are a whole number from 1, or a share as 5%");
      }
      tier.rows = static_cast<uint64_t>(*number);
    }
    const auto codec = CodecSpec::Parse(text.substr(colon + 1));
    if (!codec.ok()) return wrong(std::string(codec.status().message()));
    tier.codec = *codec;
    hot.push_back(tier);
  }
  return hot;
}

CLI::Option* Verb::AddNumber(const char* name, std::function<void(double)> set, double least,
                             double most, const char* help) {
  return app_->add_option_function<std::string>(
      name,
      [=](const std::string& given) {
        char* end = nullptr;
        const double number = std::strtod(given.c_str(), &end);
        const bool is_number = !given.empty() && *end == '\0' && given[0] != ' ';
        if (is_number && std::isfinite(number) && number >= least && number <= most) {
          return set(number);
        }
        const std::string range =
            std::isinf(most) ? "number from " + FloatText(least)
                             : "number within " + FloatText(least) + ".." + FloatText(most);
        throw CLI::ValidationError(name, "'" + given + "' is not a " + range);
      },
      help);
}

void Verb::AddStrictness(SourceOptions* source, OnDuplicate* on_duplicate) {
  AddChoice<HeaderLine>(
      "--header", &source->header,
      {{"auto", HeaderLine::kAuto}, {"yes", HeaderLine::kYes}, {"no", HeaderLine::kNo}},
      "Is the first line of a text file a header?");
  AddChoice<OnDuplicate>("--on-duplicate", on_duplicate,
                         {{"error", OnDuplicate::kError},
                          {"first", OnDuplicate::kFirst},
                          {"last", OnDuplicate::kLast}},
                         "A key that comes twice: which row counts");
  AddChoice<OnNonFinite>(
      "--non-finite", &source->non_finite,
      {{"error", OnNonFinite::kError}, {"zero", OnNonFinite::kZero}, {"keep", OnNonFinite::kKeep}},
      "Values that are inf or nan");
  AddChoice<OnInvalidUtf8>("--invalid-utf8", &source->invalid_utf8,
                           {{"error", OnInvalidUtf8::kError},
                            {"keep", OnInvalidUtf8::kKeep},
                            {"replace", OnInvalidUtf8::kReplace}},
                           "Keys that are not UTF-8");
  AddChoice<OnBadRow>("--on-bad-row", &source->on_bad_row,
                      {{"error", OnBadRow::kError}, {"skip", OnBadRow::kSkip}},
                      "Rows that cannot be read");
}

Result<std::vector<std::string>> Verb::Keys() const {
  std::vector<std::string> keys = app_->remaining();
  for (const std::string& key : keys) {
    if (key.size() > 1 && key[0] == '-' && !ParseInt64(key)) {
      return Status::InvalidArgument("'" + key + "' is not an option of edo " + app_->get_name() +
                                     "; a key that begins with '-' goes after --");
    }
  }
  keys.insert(keys.end(), literal_args.begin(), literal_args.end());
  return keys;
}

std::string JoinWords(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

}  // namespace edo::tools
