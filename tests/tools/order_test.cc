// edo import --order and edo advise: every order, what info and export say of it, and every fault
// of the command line and of the files.
#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OrderTest : public ::testing::Test {
 protected:
  OrderTest() {
    std::string text = "60 16\n", counts, trace;
    for (int row = 0; row < 60; ++row) {
      text += "w" + std::to_string(row);
      text += " " + std::to_string(row * row);  // no two rows are alike
      for (int c = 1; c < 16; ++c) text += " " + std::to_string((row * 7 + c * 3) % 11);
      text += "\n";
      counts += "w" + std::to_string(row) + "\t" + std::to_string(row * row) + "\n";
      trace += "w" + std::to_string(row % 7 * 8) + " w" + std::to_string(row % 3) + " other\n";
    }
    WriteFile(Path("rows.vec"), text);
    WriteFile(Path("counts"), counts);
    WriteFile(Path("trace"), trace);
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string store() const { return dir_.File("store"); }
  Said Import(const std::string& order, const std::string& table = "t") {
    return Edo({"import", Path("rows.vec"), "--store", store(), "--table", table, "--order", order,
                "--force"});
  }
  TempDir dir_;
};

TEST_F(OrderTest, EveryOrderIsShownAndExportsAsItCame) {
  const std::string source = ReadFile(Path("rows.vec"));
  for (const std::string order : {"file", "tiered", "counts:", "tiered:", "trace:"}) {
    std::string given = order;
    if (order.ends_with(":")) given += Path(order == "trace:" ? "trace" : "counts");
    const Said said = Import(given);
    ASSERT_EQ(said.code, 0) << said.err;
    const std::string word = order.substr(0, order.find(':'));
    if (word != "file") {
      EXPECT_THAT(said.err, HasSubstr("order '" + word + "'"));
    }
    EXPECT_THAT(Edo({"info", "--store", store()}).out, HasSubstr("\norder\t" + word + "\n"));
    EXPECT_EQ(EdoJson({"info", "--store", store()})["tables"][0]["order"], word);
    EXPECT_EQ(Edo({"export", "-", "--store", store(), "--to", "word2vec"}).out, source);
    EXPECT_THAT(Edo({"get", "--store", store(), "w3"}).out, HasSubstr("w3\t9\t2\t5\t"));
    EXPECT_EQ(Edo({"verify", "--store", store()}).code, 0);
  }
}

TEST_F(OrderTest, DenseTablesKeepTheirKeys) {
  ASSERT_EQ(Import("file").code, 0);
  ASSERT_EQ(Edo({"export", Path("rows.npy"), "--store", store()}).code, 0);
  std::string counts;
  for (int row = 0; row < 60; ++row)
    counts += std::to_string(row) + "\t" + std::to_string(row) + "\n";
  WriteFile(Path("c"), counts);
  for (const std::string table : {"plain", "ordered"}) {
    const Said said =
        Edo({"import", Path("rows.npy"), "--store", store(), "--table", table, "--keys", "dense",
             "--order", table == "plain" ? "file" : "counts:" + Path("c")});
    ASSERT_EQ(said.code, 0) << said.err;
  }
  const auto ask = [&](const std::string& table, std::vector<std::string> args) {
    args.insert(args.end(), {"--store", store(), "--table", table});
    return Edo(args).out;
  };
  for (const std::vector<std::string>& args : {std::vector<std::string>{"get", "0", "59", "17"},
                                               {"nn", "17", "-k", "4", "--metric", "l2"}}) {
    EXPECT_EQ(ask("ordered", args), ask("plain", args));
  }
  EXPECT_EQ(ask("ordered", {"export", "-", "--to", "npy"}),
            ask("plain", {"export", "-", "--to", "npy"}));
  WriteFile(Path("ids"), "59\n0\n");
  EXPECT_EQ(ask("ordered", {"export", "-", "--to", "tsv", "--ids", Path("ids")}),
            ask("plain", {"export", "-", "--to", "tsv", "--ids", Path("ids")}));
}

TEST_F(OrderTest, KeysThatTheTableLacksAreCounted) {
  const Said said = Import("trace:" + Path("trace"));
  EXPECT_THAT(said.err, AllOf(HasSubstr("60 of 180 keys in "), HasSubstr("line 1: 'other'")));
  const auto json = EdoJson({"import", Path("rows.vec"), "--store", store(), "--table", "j",
                             "--order", "trace:" + Path("trace")});
  EXPECT_EQ(json["order"]["order"], "trace");
  EXPECT_EQ(json["order"]["lines"], 60);
  EXPECT_EQ(json["order"]["keys_unknown"], 60);
}

TEST_F(OrderTest, FaultsOfTheCommandLineExitWithTwo) {
  for (const auto& [order, says] :
       std::vector<std::pair<std::string, std::string>>{{"random", "known are file, counts:FILE"},
                                                        {"counts", "counts:FILE"},
                                                        {"counts:", "names no file"},
                                                        {"trace", "trace:FILE"},
                                                        {"file:x", "takes no file"}}) {
    const Said said = Import(order);
    EXPECT_EQ(said.code, 2) << order;
    EXPECT_THAT(said.err, HasSubstr(says)) << order;
    EXPECT_FALSE(fs::exists(store()));
  }
  ASSERT_EQ(Import("file").code, 0);
  const auto advise = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"advise", "--store", store()});
    return Edo(more);
  };
  for (const auto& [more, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{Path("small.vec"), "--order", Path("trace")}, "--order goes with --store"},
           {{Path("small.vec")}, "give either a FILE or --store"},
           {{"--order", Path("trace"), "--batch-lines", "0"}, "'0'"},
           {{"--order", Path("trace"), "--cache-rows", "101"}, "0..100"},
           {{"--order", Path("trace"), "--cache-rows", "nan"}, "0..100"},
           {{"--order", Path("trace"), "--cache-rows", "5%"}, "0..100"}}) {
    const Said said = advise(more);
    EXPECT_EQ(said.code, 2) << says;
    EXPECT_THAT(said.err, HasSubstr(says));
  }
  EXPECT_EQ(advise({"--order", Path("none")}).code, 1);
  WriteFile(Path("short"), "w1\n");
  const Said one = advise({"--order", Path("short")});
  EXPECT_EQ(one.code, 1);
  EXPECT_THAT(one.err, HasSubstr("expected at least 2"));
}

TEST_F(OrderTest, FaultsOfTheFileNameLineFoundAndExpectedAndLeaveNothing) {
  for (const auto& [bytes, says] : std::vector<std::pair<std::string, std::string>>{
           {"w1\t1\nw2\tmany\n", "line 2: found 'many', expected a whole count from 0"},
           {"w1\t-3\n", "line 1: found '-3', expected a whole count from 0"},
           {"w1\t1\t2\n", "line 1: found 3 columns in 'w1\\x091\\x092', expected two"},
           {"w1 7\n", "line 1: found 1 column in 'w1 7', expected two: key TAB count"},
           {"w1\t1\nw2\t1\nw1\t1\n", "line 3: found key 'w1' again, expected each key once"},
           {"q\t1\n", "line 1: 'q' is no key of table 't'"}}) {
    WriteFile(Path("bad"), bytes);
    const Said said = Import("counts:" + Path("bad"));
    EXPECT_EQ(said.code, 1) << bytes;
    EXPECT_THAT(said.err, HasSubstr(Path("bad") + " " + says));
    EXPECT_THAT(said.err, ::testing::Not(HasSubstr("rows.vec")));
    EXPECT_FALSE(fs::exists(store())) << bytes;
  }
  const Said missing = Import("counts:" + Path("none"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("none' does not exist"));
  for (const auto& [bytes, says] : std::vector<std::pair<std::string, std::string>>{
           {"[\"w1\", 5]\n", "line 1: found '5', expected a string key"},
           {"[\"w1\", [\"w2\"]]\n", "line 1: found '[\"w2\"]', expected a string key"},
           {"nobody none\n", "line 1: 'nobody' is no key of table 't', nor is any other"},
           {"", "found no key, expected lines of keys"}}) {
    WriteFile(Path("bad"), bytes);
    const Said said = Import("trace:" + Path("bad"));
    EXPECT_EQ(said.code, 1) << bytes;
    EXPECT_THAT(said.err, HasSubstr(says));
    EXPECT_FALSE(fs::exists(store())) << bytes;
  }
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(OrderTest, AdviseComparesOrdersAndNamesTheBest) {
  ASSERT_EQ(Import("file").code, 0);
  const Said said =
      Edo({"advise", "--store", store(), "--order", Path("trace"), "--batch-lines", "10"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, ::testing::StartsWith("order\tchunks a batch\tbehind the cache\n"));
  for (const char* order :
       {"\nstored (file)\t", "\nhash\t", "\ncounts\t", "\ntiered\t", "\ntrace\t", "\nbest\t"}) {
    EXPECT_THAT(said.out, HasSubstr(order));
  }
  const auto json =
      EdoJson({"advise", "--store", store(), "--order", Path("trace"), "--cache-rows", "0"});
  EXPECT_EQ(json["table"], "t");
  EXPECT_EQ(json["order"]["cache_rows"], 0);
  EXPECT_EQ(json["order"]["orders"].size(), 5u);
  EXPECT_EQ(json["order"]["orders"][0]["order"], "stored");
  EXPECT_EQ(json["order"]["orders"][0]["chunk_reads"], json["order"]["orders"][0]["cached_reads"]);
}

}  // namespace
}  // namespace edo::test
