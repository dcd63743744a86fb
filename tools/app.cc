// Parsing of the command line and the errors of it.
#include "tools/app.h"

#include <algorithm>
#include <exception>
#include <new>

#include "edo/version.h"
#include "tools/help_formatter.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

constexpr const char* kAbout =
    "EDO keeps tables of embeddings (keys to rows of floats) in one directory,\n"
    "compressed, and reads rows back by key without loading the table.";
constexpr const char* kFirstSteps =
    "First steps:\n"
    "  edo import glove.6B.100d.txt --store vectors.edo --codec INT8\n"
    "  edo get --store vectors.edo river stone\n"
    "  edo nn --store vectors.edo river\n"
    "`edo VERB --help` explains a verb. Exit codes: 0 ok, 1 data or I/O error,\n"
    "2 wrong usage, 3 a threshold was missed, 130 interrupted.";

std::vector<std::unique_ptr<Verb>> AddVerbs(CLI::App* app) {
  using Maker = std::unique_ptr<Verb> (*)(CLI::App*);
  constexpr Maker kMakers[] = {MakeImport,  MakeExport, MakeLs,     MakeInfo,
                               MakeGet,     MakeNn,     MakeStats,  MakeVerify,
                               MakeAnalyze, MakeEval,   MakeAdvise, MakeRecode,
                               MakeCompose, MakeDrop,   MakeRename, MakeCompletions};
  std::vector<std::unique_ptr<Verb>> verbs;
  for (Maker make : kMakers) verbs.push_back(make(app));
  return verbs;
}

Verb* FindVerb(const std::vector<std::unique_ptr<Verb>>& verbs, std::string_view name) {
  for (const auto& verb : verbs) {
    if (verb->app()->get_name() == name) return verb.get();
  }
  return nullptr;
}

// Takes what stands after "--" out of `args` for a verb that wants its keys untouched.
void SplitLiterals(std::vector<std::string>* args, Verb* verb) {
  if (verb == nullptr || !verb->app()->get_allow_extras()) return;
  const auto mark = std::find(args->begin(), args->end(), "--");
  if (mark == args->end()) return;
  verb->literal_args.assign(mark + 1, args->end());
  args->erase(mark, args->end());
}

bool IsGlobalFlag(const std::string& arg) {
  return arg == "-h" || arg == "--help" || arg == "--version";
}

// CLI11's sentence without its line breaks.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

int Parse(CLI::App* app, const std::vector<std::unique_ptr<Verb>>& verbs,
          std::vector<std::string> args, Console* console) {
  Verb* const verb = args.empty() ? nullptr : FindVerb(verbs, args[0]);
  console->json = std::find(args.begin(), args.end(), "--json") != args.end();
  SplitLiterals(&args, verb);
  if (args.empty()) return console->Usage("no verb was given", "");
  if (verb == nullptr && !IsGlobalFlag(args[0])) {
    const char* const what = args[0].starts_with("-")
                                 ? "' is not an option of edo; options of a verb "
                                   "go after it"
                                 : "' is not a verb of edo";
    return console->Usage("'" + args[0] + what, "");
  }
  try {
    std::reverse(args.begin(), args.end());  // as CLI11 takes a vector
    app->parse(std::move(args));
  } catch (const CLI::CallForHelp&) {
    console->out().Write(verb == nullptr ? app->help() : verb->app()->help("edo"));
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    console->out().Write(std::string(version.what()) + "\n");
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return console->Usage(OneLine(error.what()), verb == nullptr ? "" : verb->app()->get_name());
  }
  console->json = verb->json;
  console->quiet = verb->quiet;
  return verb->Run(console);
}

int Run(int argc, const char* const* argv, Console* console) {
  CLI::App app{kAbout, "edo"};
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", "edo " EDO_VERSION_STRING, "Print the version and exit");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFirstSteps);
  const auto verbs = AddVerbs(&app);
  return Parse(&app, verbs, std::vector<std::string>(argv + 1, argv + argc), console);
}

}  // namespace

int RunCommand(int argc, const char* const* argv) {
  Console console;
  int code = kExitError;
  // The library throws nothing; what can come here is memory that ran out.
  try {
    code = Run(argc, argv, &console);
  } catch (const std::exception& error) {
    console.Problem(std::string("failed: ") + error.what());
  }
  return console.Finish(code);
}

}  // namespace edo::tools
