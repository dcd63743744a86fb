// Body of HelpFormatter.
#include "tools/help_formatter.h"

#include <sstream>

namespace edo::tools {
namespace {

constexpr size_t kTextColumn = 26;
constexpr size_t kWidth = 80;
constexpr size_t kLongestChoice = 60;  // a longer list of words goes into the explanation

// "a|b|c" -> "a, b, c", which can be wrapped.
std::string Spaced(const std::string& choices) {
  std::string out;
  for (char c : choices) out += c == '|' ? std::string(", ") : std::string(1, c);
  return out;
}

// `name`, then `text` wrapped in the column beside it.
std::string Entry(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  size_t column = out.size();
  const auto next_line = [&] {
    out += '\n' + std::string(kTextColumn, ' ');
    column = kTextColumn;
  };
  if (column + 2 > kTextColumn) {
    next_line();
  } else {
    out.append(kTextColumn - column, ' ');
    column = kTextColumn;
  }
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > kTextColumn && column + 1 + word.size() > kWidth) next_line();
    if (column > kTextColumn) out += ' ', ++column;
    out += word;
    column += word.size();
  }
  return out + "\n";
}

}  // namespace

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string text = CLI::Formatter::make_usage(app, std::move(name));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t word = text.find("SUBCOMMAND");
  if (word != std::string::npos) text.replace(word, 10, "VERB");
  if (!arguments_.empty()) text += " " + arguments_;
  return "\n" + text + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = option->get_name(is_positional, !is_positional);
  std::string text = option->get_description();
  const std::string type = option->get_type_name();
  const bool is_choice = type.find('|') != std::string::npos;
  const bool long_choice = is_choice && name.size() + type.size() > kLongestChoice;
  if (!is_positional && option->get_items_expected_max() != 0) {
    name += long_choice ? " WORD" : " " + type;
  }
  if (is_choice && (is_positional || long_choice)) text += ": " + Spaced(type);
  const bool needed = option->get_required();  // and so never its default
  if (!needed && !option->get_default_str().empty()) {
    text += " [" + option->get_default_str() + "]";
  }
  if (!is_positional && needed) text += " (needed)";
  return Entry(name, text);
}

std::string HelpFormatter::make_subcommand(const CLI::App* sub) const {
  return Entry(sub->get_name(), sub->get_description());
}

}  // namespace edo::tools
