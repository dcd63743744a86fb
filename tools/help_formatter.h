// HelpFormatter: the look of --help. Names in one column, explanations wrapped beside them within
// 80 columns, defaults in brackets.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace edo::tools {

class HelpFormatter final : public CLI::Formatter {
 public:
  // `arguments` ends the usage line of a verb whose plain arguments CLI11 does not know ("KEY...").
  explicit HelpFormatter(std::string arguments = "") : arguments_(std::move(arguments)) {
    label("Positionals", "Arguments");
  }

  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* sub) const override;

 private:
  std::string arguments_;
};

}  // namespace edo::tools
