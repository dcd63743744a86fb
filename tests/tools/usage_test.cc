// The command line itself: help, version, usage errors and their exit code, completions, and that
// help, man page and completions name the same options.
#include <fstream>
#include <regex>
#include <set>

#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kVerbs{
    "import", "export", "ls",     "info",    "get",  "compose", "nn",     "stats",
    "verify", "advise", "recode", "analyze", "eval", "drop",    "rename", "completions"};

std::set<std::string> LongOptions(const std::string& text) {
  std::set<std::string> names;
  const std::regex pattern("--[a-z][a-z0-9-]*");
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    names.insert(it->str());
  }
  return names;
}

TEST(Usage, HelpOfEveryVerbHasUsageAndExample) {
  const Said top = Edo({"--help"});
  EXPECT_EQ(top.code, 0);
  for (const auto& verb : kVerbs) {
    EXPECT_THAT(top.out, HasSubstr("  " + verb + " "));
    const Said said = Edo({verb, "--help"});
    EXPECT_EQ(said.code, 0) << verb;
    EXPECT_THAT(said.out, HasSubstr("Usage: edo " + verb)) << verb;
    EXPECT_THAT(said.out, HasSubstr("Example")) << verb;
    EXPECT_EQ(said.err, "") << verb;
    std::istringstream lines(said.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

// An empty name, of a variable that was not set perhaps, is not "no name given".
TEST(Usage, AnEmptyTableNameIsRefused) {
  const TempDir dir;
  const std::string store = dir.File("store"), file = dir.File("words.vec");
  WriteFile(file, "a 1 2\nb 3 4\n");
  ASSERT_EQ(Edo({"import", file, "--store", store}).code, 0);
  const std::string before = Edo({"ls", "--store", store}).out;
  int verbs = 0;
  for (const auto& verb : kVerbs) {
    if (verb == "compose") continue;  // its name is required
    if (Edo({verb, "--help"}).out.find("-t,--table") == std::string::npos) continue;
    ++verbs;
    for (const auto& name : {std::vector<std::string>{"--table", ""}, {"--table="}, {"-t", ""}}) {
      std::vector<std::string> args{verb, "--store", store};
      if (verb == "import") args.insert(args.end(), {file, "--force"});
      if (verb == "export") args.push_back(dir.File("out.vec"));
      if (verb == "get" || verb == "nn") args.push_back("a");
      if (verb == "analyze") args.insert(args.end(), {"--against", file});
      if (verb == "eval") args.insert(args.end(), {"--similarity", file});
      if (verb == "recode") args.insert(args.end(), {"--codec", "F16"});
      args.insert(args.end(), name.begin(), name.end());
      const Said said = Edo(args);
      EXPECT_EQ(said.code, 2) << verb << " " << name[0] << ": " << said.err;
      EXPECT_THAT(said.err, HasSubstr("--table: ")) << verb;
      EXPECT_THAT(said.err, HasSubstr(name.size() == 2 ? "the name is empty" : "missing")) << verb;
    }
  }
  EXPECT_GE(verbs, 12);
  EXPECT_EQ(Edo({"ls", "--store", store}).out, before);
}

TEST(Usage, HelpSaysWhatOptionsTake) {
  for (const std::string verb : {"import", "recode"}) {
    std::string help = Edo({verb, "--help"}).out;
    help = std::regex_replace(help, std::regex("\\s+"), " ");
    EXPECT_THAT(help, HasSubstr("up to 15 times")) << verb;
    EXPECT_THAT(help, HasSubstr("auto: where a sample shrinks by a tenth")) << verb;
  }
}

TEST(Usage, VersionIsPrinted) {
  const Said said = Edo({"--version"});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.out, StartsWith("edo "));
}

TEST(Usage, EveryOptionOfTheHelpIsInTheManPage) {
  const std::string page = ReadFile(EDO_SOURCE_DIR "/tools/edo.1.scd");
  for (const auto& verb : kVerbs) {
    EXPECT_THAT(page, HasSubstr("*edo " + verb + "*")) << verb;
    for (const auto& name : LongOptions(Edo({verb, "--help"}).out)) {
      EXPECT_THAT(page, HasSubstr("*" + name + "*")) << verb;
    }
  }
}

TEST(Usage, WrongCommandLinesExitWithTwoAndPointToTheHelp) {
  struct Case {
    std::vector<std::string> args;
    const char* says;
    const char* help;
  };
  const Case cases[] = {
      {{}, "no verb", "edo --help"},
      {{"frobnicate"}, "'frobnicate'", "edo --help"},
      {{"--frobnicate"}, "--frobnicate", "edo --help"},
      {{"import"}, "FILE is required", "edo import --help"},
      {{"import", "x"}, "--store is required", "edo import --help"},
      {{"import", "x", "--store", "d", "--codec", "int8"},
       "F32, F16, BF16, INT8",
       "edo import --help"},
      {{"import", "x", "--store", "d", "--non-finite", "no"},
       "error, zero, keep",
       "edo import --help"},
      {{"import", "x", "--store", "d", "--limit", "-1"}, "'-1'", "edo import --help"},
      {{"import", "x", "--store", "d", "--dim", "0"}, "'0'", "edo import --help"},
      {{"import", "x", "--store", "d", "--meta", "nothing"}, "KEY=VALUE", "edo import --help"},
      {{"import", "x", "--store", "d", "--order", "random"}, "'random'", "edo import --help"},
      {{"import", "x", "--store", "d", "--delimiter", "ab"}, "one character", "edo import --help"},
      {{"import", "x", "--store", "d", "--frobnicate"}, "--frobnicate", "edo import --help"},
      {{"import", "-", "--store", "d"}, "--table", "edo import --help"},
      {{"export", "-", "--store", "d"}, "--to", "edo export --help"},
      {{"get", "--store", "d"}, "no key", "edo get --help"},
      {{"get", "--store", "d", "-x"}, "goes after --", "edo get --help"},
      {{"nn", "--store", "d", "a", "b"}, "2 were given", "edo nn --help"},
      {{"nn", "--store", "d", "a", "-k", "0"}, "'0'", "edo nn --help"},
      {{"info"}, "FILE or --store", "edo info --help"},
      {{"drop", "--store", "d"}, "name the table", "edo drop --help"},
      {{"rename", "--store", "d", "a"}, "NEW is required", "edo rename --help"},
      {{"completions", "ksh"}, "bash, zsh, fish", "edo completions --help"},
  };
  for (const Case& c : cases) {
    const Said said = Edo(c.args);
    SCOPED_TRACE(said.err);
    EXPECT_EQ(said.code, 2);
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, StartsWith("edo: "));
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1);
    EXPECT_THAT(said.err, HasSubstr(c.says));
    EXPECT_THAT(said.err, HasSubstr(c.help));
  }
}

TEST(Usage, ErrorsUnderJsonAreObjectsToo) {
  for (const auto& args : std::vector<std::vector<std::string>>{
           {"get", "--json"}, {"ls", "--json", "--store", "/nonexistent/\xff"}}) {
    const Said said = Edo(args);
    EXPECT_NE(said.code, 0);
    const auto json = nlohmann::json::parse(said.out);
    EXPECT_EQ(json["schema"], "edo.error/1");
    EXPECT_FALSE(json["error"]["message"].get<std::string>().empty());
    EXPECT_THAT(said.err, StartsWith("edo: "));
  }
}

TEST(Usage, NothingIsMadeForAFileThatDoesNotExist) {
  TempDir dir;
  const Said said = Edo({"import", dir.File("none.vec"), "--store", dir.File("store")});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.err, HasSubstr("none.vec"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("store")));
}

TEST(Completions, NameEveryVerbAndOption) {
  std::set<std::string> options;
  for (const auto& verb : kVerbs) options.merge(LongOptions(Edo({verb, "--help"}).out));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Said said = Edo({"completions", shell});
    EXPECT_EQ(said.code, 0);
    for (const auto& verb : kVerbs) EXPECT_THAT(said.out, HasSubstr(verb)) << shell;
    for (const auto& option : options) {
      EXPECT_THAT(said.out,
                  HasSubstr(shell == std::string("fish") ? "-l " + option.substr(2) : option))
          << shell;
    }
  }
}

// Asks the shell itself to read the script; tells when the shell is not here.
void CheckSyntax(const std::string& shell) {
  if (std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << shell << " is not installed";
  }
  TempDir dir;
  WriteFile(dir.File("script"), Edo({"completions", shell}).out);
  EXPECT_EQ(std::system((shell + " -n " + dir.File("script")).c_str()), 0);
}
TEST(Completions, BashReadsItsScript) { CheckSyntax("bash"); }
TEST(Completions, ZshReadsItsScript) { CheckSyntax("zsh"); }
TEST(Completions, FishReadsItsScript) { CheckSyntax("fish"); }

TEST(Completions, BashOffersVerbsOptionsAndWords) {
  TempDir dir;
  WriteFile(dir.File("script"), Edo({"completions", "bash"}).out);
  const auto offered = [&](const std::string& words, int at) {
    const std::string out = dir.File("out");
    const std::string script = "source " + dir.File("script") + "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(at) +
                               "; _edo; echo \"${COMPREPLY[*]}\" > " + out;
    EXPECT_EQ(std::system(("bash -c '" + script + "'").c_str()), 0);
    return ReadFile(out);
  };
  EXPECT_EQ(offered("edo im", 1), "import\n");
  EXPECT_EQ(offered("edo get --sto", 2), "--store\n");
  EXPECT_EQ(offered("edo nn --metric co", 3), "cosine\n");
  EXPECT_EQ(offered("edo completions f", 2), "fish\n");
}

}  // namespace
}  // namespace edo::test
