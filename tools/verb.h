// Verb: one word of the command (`edo import`), one file a verb (cmd_*.cc). A verb adds its options
// to a CLI::App when it is made and keeps the parsed values; Run does the work with <edo/...> only.
// Option words are declared once: help, completions and the man page's test read them from the app.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edo/codec_goal.h"
#include "edo/codec_spec.h"
#include "edo/hot_tiers.h"
#include "edo/store.h"
#include "edo/transfer.h"
#include "tools/console.h"

namespace edo::tools {

class Verb {
 public:
  virtual ~Verb() = default;
  virtual int Run(Console* console) = 0;  // returns the exit code

  CLI::App* app() const { return app_; }
  bool json = false;
  bool quiet = false;
  std::vector<std::string> literal_args;  // what stood after "--", for verbs that take keys

 protected:
  explicit Verb(CLI::App* app);  // adds --json and --quiet

  void AddStore(std::string* store, bool required = true);
  // --table; an empty name is refused, so that an empty `table` says that none was given.
  void AddTable(std::string* table, const char* help);
  // Keys as plain arguments, kept byte for byte; `words` shows them in the usage line.
  void TakesKeys(const char* words);
  // All keys given, those after "--" included; kInvalidArgument for what looks like an option.
  Result<std::vector<std::string>> Keys() const;

  // An option whose value is a whole number within least..most.
  CLI::Option* AddCount(const char* name, uint64_t* target, uint64_t least, uint64_t most,
                        const char* help);
  // An option whose value is a number within least..most; infinite bounds are none.
  CLI::Option* AddNumber(const char* name, std::function<void(double)> set, double least,
                         double most, const char* help);
  // An option whose value is one of a few words.
  template <typename Value>
  CLI::Option* AddChoice(const char* name, Value* target,
                         std::vector<std::pair<std::string, Value>> choices, const char* help);

  // What is asked of a codec: --max-rel-error, --min-cosine, --at, --min-overlap, --max-bytes.
  void AddGoal(CodecGoal* goal);
  // --hot ROWS:CODEC, which may be given again.
  void AddHotTiers(std::vector<std::string>* hot);
  void AddCompression(Compression* compression);  // --compress
  // How strictly an input file is read: --header, --on-duplicate, --non-finite, --invalid-utf8,
  // --on-bad-row.
  void AddStrictness(SourceOptions* source, OnDuplicate* on_duplicate);

 private:
  CLI::App* app_;
};

// Option values of these type names are completed as paths.
inline constexpr const char* kFileType = "FILE";
inline constexpr const char* kDirectoryType = "DIR";

// "100000:INT8" or "5%:L4" as tiers, in the order given.
Result<std::vector<HotTier>> ParseHotTiers(const std::vector<std::string>& given);
std::string JoinWords(const std::vector<std::string>& words, const char* between);

template <typename Value>
CLI::Option* Verb::AddChoice(const char* name, Value* target,
                             std::vector<std::pair<std::string, Value>> choices, const char* help) {
  std::vector<std::string> words;
  std::string fallback;
  for (const auto& [word, value] : choices) {
    words.push_back(word);
    if (value == *target) fallback = word;
  }
  auto* option = app_->add_option_function<std::string>(
      name,
      [=](const std::string& given) {
        for (const auto& [word, value] : choices) {
          if (word == given) {
            *target = value;
            return;
          }
        }
        throw CLI::ValidationError(name, "'" + given + "' is not one of " + JoinWords(words, ", "));
      },
      help);
  option->type_name(JoinWords(words, "|"));
  if (!fallback.empty()) option->default_str(fallback);
  return option;
}

// Makers, in the order of the help.
std::unique_ptr<Verb> MakeImport(CLI::App* parent);
std::unique_ptr<Verb> MakeExport(CLI::App* parent);
std::unique_ptr<Verb> MakeLs(CLI::App* parent);
std::unique_ptr<Verb> MakeInfo(CLI::App* parent);
std::unique_ptr<Verb> MakeGet(CLI::App* parent);
std::unique_ptr<Verb> MakeNn(CLI::App* parent);
std::unique_ptr<Verb> MakeStats(CLI::App* parent);
std::unique_ptr<Verb> MakeVerify(CLI::App* parent);
std::unique_ptr<Verb> MakeAnalyze(CLI::App* parent);
std::unique_ptr<Verb> MakeEval(CLI::App* parent);
std::unique_ptr<Verb> MakeAdvise(CLI::App* parent);
std::unique_ptr<Verb> MakeRecode(CLI::App* parent);
std::unique_ptr<Verb> MakeCompose(CLI::App* parent);
std::unique_ptr<Verb> MakeDrop(CLI::App* parent);
std::unique_ptr<Verb> MakeRename(CLI::App* parent);
std::unique_ptr<Verb> MakeCompletions(CLI::App* parent);

}  // namespace edo::tools
