// Completion scripts for bash, zsh and fish, made from the command's own CLI::App, so that they
// cannot fall behind it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace edo::tools {

struct CompletionOption {
  enum class Value { kNone, kAny, kFile, kDirectory, kWords };
  std::vector<std::string> long_names;  // without dashes
  std::vector<std::string> short_names;
  std::string help;
  Value value = Value::kNone;
  std::vector<std::string> words;  // kWords
  bool repeatable = false;
};
struct CompletionVerb {
  std::string name, help;
  std::vector<CompletionOption> options;
  bool takes_files = false;        // plain arguments are paths
  std::vector<std::string> words;  // plain arguments are one of these
};

std::vector<CompletionVerb> DescribeVerbs(const CLI::App& app);
std::string BashCompletion(const std::vector<CompletionVerb>& verbs);
std::string ZshCompletion(const std::vector<CompletionVerb>& verbs);
std::string FishCompletion(const std::vector<CompletionVerb>& verbs);

}  // namespace edo::tools
