// edo completions: prints the completion script of a shell.
#include "tools/completions.h"
#include "tools/json_writer.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

class CompletionsVerb final : public Verb {
 public:
  CompletionsVerb(CLI::App* app, const CLI::App* root) : Verb(app), root_(root) {
    AddChoice<std::string>("SHELL", &shell_, {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}},
                           "Which shell")
        ->required();
    app->footer(
        "Example:\n  edo completions bash > ~/.local/share/bash-completion/completions/edo");
  }

  int Run(Console* console) override {
    const auto verbs = DescribeVerbs(*root_);
    const std::string script = shell_ == "bash"  ? BashCompletion(verbs)
                               : shell_ == "zsh" ? ZshCompletion(verbs)
                                                 : FishCompletion(verbs);
    if (!console->json) {
      console->out().Write(script);
      return kExitOk;
    }
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.completions/1");
    writer.Field("shell", std::string_view(shell_));
    writer.Field("script", std::string_view(script));
    writer.EndObject();
    return kExitOk;
  }

 private:
  const CLI::App* root_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> MakeCompletions(CLI::App* parent) {
  return std::make_unique<CompletionsVerb>(
      parent->add_subcommand("completions", "Print a completion script for a shell"), parent);
}

}  // namespace edo::tools
