// Bodies of completions.h.
#include "tools/completions.h"

#include "tools/verb.h"

namespace edo::tools {
namespace {

using Value = CompletionOption::Value;

std::vector<std::string> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  size_t begin = 0;
  for (size_t bar; (bar = text.find('|', begin)) != std::string::npos; begin = bar + 1) {
    words.push_back(text.substr(begin, bar - begin));
  }
  words.push_back(text.substr(begin));
  return words;
}

Value ValueOf(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return Value::kNone;
  const std::string type = option.get_type_name();
  if (type == kFileType) return Value::kFile;
  if (type == kDirectoryType) return Value::kDirectory;
  return type.find('|') == std::string::npos ? Value::kAny : Value::kWords;
}

CompletionOption Describe(const CLI::Option& option) {
  CompletionOption out;
  out.long_names = option.get_lnames();
  out.short_names = option.get_snames();
  out.help = option.get_description();
  out.value = ValueOf(option);
  if (out.value == Value::kWords) out.words = SplitWords(option.get_type_name());
  out.repeatable = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return out;
}

std::vector<std::string> DashedNames(const CompletionOption& option) {
  std::vector<std::string> names;
  for (const auto& name : option.long_names) names.push_back("--" + name);
  for (const auto& name : option.short_names) names.push_back("-" + name);
  return names;
}

std::vector<std::string> NamesOf(const std::vector<CompletionVerb>& verbs) {
  std::vector<std::string> names;
  for (const auto& verb : verbs) names.push_back(verb.name);
  return names;
}

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}
// Inside '...' of a shell.
std::string Quoted(const std::string& text) { return "'" + Replaced(text, "'", "'\\''") + "'"; }
// In the specification of zsh's _arguments.
std::string ZshText(std::string text) {
  for (const char* special : {"\\", ":", "[", "]"}) {
    text = Replaced(std::move(text), special, std::string("\\") + special);
  }
  return text;
}

std::string BashAction(const CompletionOption& option) {
  switch (option.value) {
    case Value::kFile:
      return "COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Value::kDirectory:
      return "COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Value::kWords:
      return "COMPREPLY=($(compgen -W " + Quoted(JoinWords(option.words, " ")) + " -- \"$cur\"))";
    default:
      return ":";
  }
}

std::string ZshAction(const CompletionOption& option) {
  switch (option.value) {
    case Value::kNone:
      return "";
    case Value::kFile:
      return ":file:_files";
    case Value::kDirectory:
      return ":directory:_files -/";
    case Value::kWords:
      return ":value:(" + JoinWords(option.words, " ") + ")";
    case Value::kAny:
      return ":value: ";
  }
  return "";
}

}  // namespace

std::vector<CompletionVerb> DescribeVerbs(const CLI::App& app) {
  std::vector<CompletionVerb> verbs;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    CompletionVerb verb{sub->get_name(), sub->get_description(), {}, false, {}};
    for (const CLI::Option* option : sub->get_options()) {
      if (option->nonpositional()) {
        verb.options.push_back(Describe(*option));
      } else if (ValueOf(*option) == Value::kFile) {
        verb.takes_files = true;
      } else if (ValueOf(*option) == Value::kWords) {
        verb.words = SplitWords(option->get_type_name());
      }
    }
    verbs.push_back(std::move(verb));
  }
  return verbs;
}

std::string BashCompletion(const std::vector<CompletionVerb>& verbs) {
  std::string out =
      "# bash completion of edo; made by `edo completions bash`\n"
      "_edo() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local verb=${COMP_WORDS[1]} options= words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W " +
      Quoted(JoinWords(NamesOf(verbs), " ") + " --help --version") +
      " -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$verb:$prev\" in\n";
  for (const auto& verb : verbs) {
    for (const auto& option : verb.options) {
      if (option.value == Value::kNone) continue;
      std::vector<std::string> patterns;
      for (const auto& name : DashedNames(option)) patterns.push_back(verb.name + ":" + name);
      out += "    " + JoinWords(patterns, "|") + ") " + BashAction(option) + "; return ;;\n";
    }
  }
  out += "  esac\n  case \"$verb\" in\n";
  for (const auto& verb : verbs) {
    std::vector<std::string> names;
    for (const auto& option : verb.options) {
      for (const auto& name : DashedNames(option)) names.push_back(name);
    }
    out += "    " + verb.name + ") options=" + Quoted(JoinWords(names, " "));
    if (!verb.words.empty()) out += " words=" + Quoted(JoinWords(verb.words, " "));
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "  if [[ $cur == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
      "  elif [ -n \"$words\" ]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _edo edo\n";
  return out;
}

std::string ZshCompletion(const std::vector<CompletionVerb>& verbs) {
  std::string out =
      "#compdef edo\n"
      "# zsh completion of edo; made by `edo completions zsh`\n"
      "_edo() {\n"
      "  local curcontext=$curcontext state line\n"
      "  _arguments -C '--help[print help]' '--version[print the version]' '1:verb:->verb' "
      "'*::arguments:->arguments'\n"
      "  case $state in\n"
      "    verb)\n"
      "      local -a verbs=(\n";
  for (const auto& verb : verbs) {
    out += "        " + Quoted(verb.name + ":" + ZshText(verb.help)) + "\n";
  }
  out +=
      "      )\n"
      "      _describe verb verbs\n"
      "      ;;\n"
      "    arguments)\n"
      "      case $line[1] in\n";
  for (const auto& verb : verbs) {
    out += "        " + verb.name + ") _arguments";
    for (const auto& option : verb.options) {
      for (const auto& name : DashedNames(option)) {
        out += " \\\n          " + Quoted((option.repeatable ? "*" : "") + name + "[" +
                                          ZshText(option.help) + "]" + ZshAction(option));
      }
    }
    if (!verb.words.empty()) {
      out += " \\\n          " + Quoted("1:value:(" + JoinWords(verb.words, " ") + ")");
    } else if (verb.takes_files) {
      out += " \\\n          '*:file:_files'";
    }
    out += " ;;\n";
  }
  out +=
      "      esac\n"
      "      ;;\n"
      "  esac\n"
      "}\n"
      "_edo \"$@\"\n";
  return out;
}

std::string FishCompletion(const std::vector<CompletionVerb>& verbs) {
  std::string out = "# fish completion of edo; made by `edo completions fish`\n";
  const std::string names = JoinWords(NamesOf(verbs), " ");
  const std::string no_verb = Quoted("not __fish_seen_subcommand_from " + names);
  out += "complete -c edo -n " + no_verb + " -f -l help -d 'Print help'\n";
  out += "complete -c edo -n " + no_verb + " -f -l version -d 'Print the version'\n";
  for (const auto& verb : verbs) {
    out +=
        "complete -c edo -n " + no_verb + " -f -a " + verb.name + " -d " + Quoted(verb.help) + "\n";
    const std::string when =
        "complete -c edo -n " + Quoted("__fish_seen_subcommand_from " + verb.name);
    for (const auto& option : verb.options) {
      out += when;
      for (const auto& name : option.long_names) out += " -l " + name;
      for (const auto& name : option.short_names) out += " -s " + name;
      if (option.value == Value::kFile || option.value == Value::kDirectory) out += " -r";
      if (option.value == Value::kAny) out += " -x";
      if (option.value == Value::kWords) {
        out += " -x -a " + Quoted(JoinWords(option.words, " "));
      }
      out += " -d " + Quoted(option.help) + "\n";
    }
    if (!verb.words.empty()) {
      out += when + " -f -a " + Quoted(JoinWords(verb.words, " ")) + "\n";
    } else if (!verb.takes_files) {
      out += when + " -f\n";
    }
  }
  return out;
}

}  // namespace edo::tools
