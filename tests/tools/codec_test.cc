// edo advise on codecs, edo import --codec auto and edo recode: what they print, what they leave
// behind, and the exit codes.
#include <nlohmann/json.hpp>
#include <random>

#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class CodecVerbs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(5);
    std::normal_distribution<float> gauss(0, 1);
    std::string rows = "600 16\n";
    for (int r = 0; r < 600; ++r) {
      rows += "k" + std::to_string(r);
      for (int c = 0; c < 16; ++c) rows += " " + std::to_string(gauss(random));
      rows += "\n";
    }
    WriteFile(Path("table.vec"), rows);
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string store() const { return Path("store"); }
  Said Import(std::vector<std::string> more) const {
    std::vector<std::string> args{"import", Path("table.vec"), "--store", store()};
    args.insert(args.end(), more.begin(), more.end());
    return Edo(args);
  }
  std::string Codec() const {
    return nlohmann::json::parse(
        Edo({"info", "--store", store(), "--json"}).out)["tables"][0]["codec"];
  }

  TempDir dir_;
};

TEST_F(CodecVerbs, AdviceNamesTheSmallestThatKeepsTheGoal) {
  const Said said = Edo({"advise", Path("table.vec"), "--min-cosine", "0.99", "--codecs", "INT8",
                         "--codecs", "L4", "--codecs", "PQ2x4", "--codecs", "F16", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto advice = nlohmann::json::parse(said.out);
  EXPECT_EQ(advice["schema"], "edo.advise.codec/1");
  EXPECT_EQ(advice["best"], "L4");
  EXPECT_EQ(advice["rows"], 600);
  ASSERT_EQ(advice["codecs"].size(), 4u);
  EXPECT_EQ(advice["codecs"][0]["codec"], "F16");  // the largest first
  EXPECT_EQ(advice["codecs"][2]["bits"], 8.0 * 10 / 16);
  EXPECT_EQ(advice["codecs"][3]["missed"].size(), 1u);
  const Said text = Edo({"advise", Path("table.vec"), "--codecs", "L4"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("codec\tbits\tbytes\trel error\t"));
  EXPECT_THAT(text.out, HasSubstr("\nL4\t5.000\t6000\t"));
  // Nothing keeps it: a threshold was missed.
  const Said none =
      Edo({"advise", Path("table.vec"), "--min-cosine", "0.999999", "--codecs", "L4"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.out, HasSubstr("is below 0.999999"));
  EXPECT_EQ(Edo({"advise", Path("table.vec"), "--codecs", "L5"}).code, 2);
  EXPECT_EQ(Edo({"advise", Path("none.vec"), "--codecs", "L4"}).code, 1);
  EXPECT_EQ(Edo({"advise"}).code, 2);
}

TEST_F(CodecVerbs, ImportChoosesAndRecodeChanges) {
  const Said import = Import({"--codec", "auto", "--max-rel-error", "0.02", "--at", "mean"});
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_THAT(import.err, HasSubstr("chosen: "));
  const std::string chosen = Codec();
  const Said check = Edo({"analyze", "--store", store(), "--against", Path("table.vec"),
                          "--max-rel-error", "0.02", "--at", "mean"});
  EXPECT_EQ(check.code, 0) << check.err;

  const Said recode = Edo({"recode", "--store", store(), "--codec", "L4+4", "--json"});
  ASSERT_EQ(recode.code, 0) << recode.err;
  const auto report = nlohmann::json::parse(recode.out);
  EXPECT_EQ(report["schema"], "edo.recode/1");
  EXPECT_EQ(report["codec_before"], chosen);
  EXPECT_EQ(report["table"]["codec"], "L4+4");
  EXPECT_EQ(Codec(), "L4+4");
  // What would be left is known before it is done.
  const auto quality = [&](std::vector<std::string> more) {
    std::vector<std::string> args{"analyze",   "--store",         store(),
                                  "--against", Path("table.vec"), "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return nlohmann::json::parse(Edo(args).out)["quality"];
  };
  const auto half = quality({"--base-only"});
  EXPECT_NE(half, quality({}));
  const Said dropped = Edo({"recode", "--store", store(), "--codec", "L4"});
  EXPECT_EQ(half, quality({}));
  const Said none_left =
      Edo({"analyze", "--store", store(), "--against", Path("table.vec"), "--base-only"});
  EXPECT_NE(none_left.code, 0);
  EXPECT_THAT(none_left.err, HasSubstr("have no refinement to be read without"));
  EXPECT_EQ(dropped.code, 0);
  EXPECT_THAT(dropped.err, HasSubstr("the refinement was dropped"));
  const Said again = Edo({"recode", "--store", store(), "--codec", "L4"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("nothing was written"));
  EXPECT_EQ(Edo({"verify", "--store", store()}).code, 0);
  // Thresholds that the table misses now.
  EXPECT_EQ(Edo({"analyze", "--store", store(), "--against", Path("table.vec"), "--min-cosine",
                 "0.99999"})
                .code,
            3);
}

// The first rows in finer codecs, by a number and by a share; most used first with an order.
TEST_F(CodecVerbs, HotRowsInFinerCodecs) {
  WriteFile(Path("counts.tsv"), "k300\t9\nk7\t8\n");
  const Said import = Import({"--hot", "2:F32", "--hot", "10%:INT8", "--codec", "L4", "--order",
                              "counts:" + Path("counts.tsv"), "--json"});
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_THAT(import.err, HasSubstr("600 rows as 2:F32 60:INT8 L4 in "));
  const auto table = nlohmann::json::parse(import.out)["table"];
  EXPECT_EQ(table["codec"], "2:F32 60:INT8 L4");
  ASSERT_EQ(table["tiers"].size(), 3u);
  EXPECT_EQ(table["tiers"][2]["first_row"], 62);
  EXPECT_EQ(table["tiers"][2]["rows"], 538);
  EXPECT_EQ(table["tiers"][2]["codec"], "L4");
  const Said info = Edo({"info", "--store", store()});
  EXPECT_THAT(info.out, HasSubstr("rows 2..61 as INT8, 18 bytes a row, "));
  EXPECT_THAT(Edo({"ls", "--store", store()}).out, HasSubstr("\t2:F32 60:INT8 L4\t"));
  // The row used most is as it was.
  const std::string file = ReadFile(Path("table.vec"));
  const size_t line = file.find("\nk300 ") + 1;
  const double first = std::stod(file.substr(line + 5));
  const auto got = nlohmann::json::parse(Edo({"get", "--store", store(), "k300", "--json"}).out);
  EXPECT_FLOAT_EQ(got["rows"][0]["values"][0].get<float>(), static_cast<float>(first));
  EXPECT_EQ(Edo({"verify", "--store", store()}).code, 0);
  EXPECT_EQ(
      Edo({"analyze", "--store", store(), "--against", Path("table.vec"), "--min-cosine", "0.98"})
          .code,
      0);
  const Said same =
      Edo({"recode", "--store", store(), "--hot", "2:F32", "--hot", "60:INT8", "--codec", "L4"});
  EXPECT_THAT(same.err, HasSubstr("is in 2:F32 60:INT8 L4 already"));
  const Said recode =
      Edo({"recode", "--store", store(), "--hot", "62:INT8", "--codec", "PQ4x4", "--json"});
  ASSERT_EQ(recode.code, 0) << recode.err;
  EXPECT_EQ(nlohmann::json::parse(recode.out)["codec_before"], "2:F32 60:INT8 L4");
  EXPECT_EQ(Codec(), "62:INT8 PQ4x4");
  const Said whole = Edo({"recode", "--store", store(), "--codec", "L4"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(Codec(), "L4");
  // All rows hot: nothing is left for --codec.
  const Said all = Edo({"recode", "--store", store(), "--hot", "600:INT8", "--codec", "L4"});
  EXPECT_EQ(all.code, 2);
  EXPECT_THAT(all.err, HasSubstr("some must be left for the last tier"));
  EXPECT_EQ(Codec(), "L4");
}

// A goal is for the whole table, hot rows included.
TEST_F(CodecVerbs, AGoalCountsHotRows) {
  const Said import = Import({"--hot", "50%:F32", "--codec", "auto", "--max-bytes", "25000"});
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_THAT(import.err, HasSubstr("chosen: 300:F32 "));
  EXPECT_THAT(import.err, HasSubstr(" over all 600 rows: "));
  for (const std::string rows : {"50%", "300"}) {
    for (const std::string bytes : {"19200", "19201"}) {
      const Said none = Edo({"import", Path("table.vec"), "--store", Path("other"), "--hot",
                             rows + ":F32", "--codec", "auto", "--max-bytes", bytes});
      EXPECT_EQ(none.code, 3);
      EXPECT_THAT(none.err, HasSubstr(bytes == "19200" ? "the hot tiers alone take 19200 bytes"
                                                       : "no codec of the rows behind"));
      EXPECT_FALSE(fs::exists(Path("other")));
    }
  }
  const std::string before = Codec();
  const Said recode = Edo({"recode", "--store", store(), "--hot", "100:PQ4x4", "--codec", "auto",
                           "--min-cosine", "0.99", "--at", "worst"});
  EXPECT_EQ(recode.code, 3);
  EXPECT_THAT(recode.err, HasSubstr("hot tier 1 (PQ4x4, rows 0..99) by itself: worst cosine"));
  EXPECT_EQ(Codec(), before);
}

// A goal that nothing keeps is an exit code of its own, whoever is asked; so is one that cannot be
// measured, which is said.
TEST_F(CodecVerbs, GoalsThatAreMissed) {
  ASSERT_EQ(Import({}).code, 0);
  WriteFile(Path("one.vec"), "a 1 2 3 4 5 6 7 8\n");
  WriteFile(Path("zeros.vec"), "a 0 0 0 0\nb 0 0 0 0\nc 0 0 0 0\n");
  for (const std::string file : {"one.vec", "zeros.vec"}) {
    const std::string other = Path(file + ".edo");
    ASSERT_EQ(Edo({"import", Path(file), "--store", other}).code, 0);
    const std::vector<std::string> goal{"--min-overlap", "0.9"};
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"import", Path(file), "--store", Path("new"), "--codec", "auto"},
             {"recode", "--store", other, "--codec", "auto"},
             {"advise", Path(file)},
             {"advise", "--store", other}}) {
      std::vector<std::string> args = verb;
      args.insert(args.end(), goal.begin(), goal.end());
      const Said said = Edo(args);
      EXPECT_EQ(said.code, 3) << said.err;
      EXPECT_THAT(said.err + said.out, HasSubstr("overlap of neighbours could not be measured"));
    }
    EXPECT_FALSE(fs::exists(Path("new")));
  }
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"import", Path("table.vec"), "--store", Path("new"), "--codec", "auto"},
           {"recode", "--store", store(), "--codec", "auto"},
           {"advise", "--store", store()}}) {
    std::vector<std::string> args = verb;
    args.insert(args.end(), {"--max-bytes", "10", "--json"});
    const Said said = Edo(args);
    EXPECT_EQ(said.code, 3) << said.err;
    EXPECT_THAT(said.err, HasSubstr("no codec keeps what was asked for"));
    if (verb[0] != "advise") {
      EXPECT_EQ(nlohmann::json::parse(said.out)["error"]["code"], "goal missed");
    }
  }
  EXPECT_FALSE(fs::exists(Path("new")));
  EXPECT_EQ(Codec(), "F32");
  WriteFile(Path("none.csv"), "key,a,b\n");
  const Said none = Edo({"import", Path("none.csv"), "--store", Path("new"), "--codec", "auto",
                         "--min-cosine", "0.9"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("no rows to choose a codec by"));
}

TEST_F(CodecVerbs, FaultsOfTheCommandLine) {
  for (const auto& [more, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--codec", "auto"}, "needs to know what to keep"},
           {{"--codec", "L4", "--min-cosine", "0.9"}, "go with --codec auto"},
           {{"--min-cosine", "0.9"}, "go with --codec auto"},
           {{"--codec", "auto", "--min-cosine", "2"}, "-1..1"},
           {{"--hot", "INT8"}, "expected ROWS:CODEC"},
           {{"--hot", "0:INT8"}, "rows are a whole number from 1"},
           {{"--hot", "1e3:INT8"}, "rows are a whole number from 1"},
           {{"--hot", "100%:INT8"}, "between 0% and 100%"},
           {{"--hot", "nan%:INT8"}, "between 0% and 100%"},
           {{"--hot", "5:L9"}, "--hot '5:L9': "},
           {{"--codec", "PQ8x5"}, "4 and 8 are known"},
           {{"--codec", ""}, "'' is no codec"},
           {{"--limit", "0", "--hot", "3:F32"}, "--limit 0"},
           {{"--limit", "0", "--hot", "3%:F32"}, "--limit 0"},
           {{"--limit", "5", "--hot", "3:F32", "--hot", "2:F16"},
            "--limit 5 leaves no row behind the 5 of --hot"},
           {{"--codec", "L3"}, "is not known; known codecs: F32, F16"}}) {
    const Said said = Import(more);
    EXPECT_EQ(said.code, 2) << says;
    EXPECT_THAT(said.err, HasSubstr(says));
    EXPECT_FALSE(fs::exists(store()));
  }
  const Said parts = Import({"--codec", "PQ7x8"});
  EXPECT_NE(parts.code, 0);
  EXPECT_THAT(parts.err, HasSubstr("m = 6 or 8 would do"));
  EXPECT_FALSE(fs::exists(store()));
  const Said budget = Import({"--codec", "auto", "--max-bytes", "10"});
  EXPECT_EQ(budget.code, 3);
  EXPECT_THAT(budget.err, HasSubstr("no codec keeps what was asked for"));
  ASSERT_EQ(Import({}).code, 0);
  EXPECT_EQ(Edo({"recode", "--store", store()}).code, 2);
  EXPECT_EQ(Edo({"recode", "--store", store(), "--codec", "auto"}).code, 2);
  EXPECT_EQ(Edo({"recode", "--store", store(), "--table", "x", "--codec", "L4"}).code, 1);
  EXPECT_EQ(Codec(), "F32");
}

}  // namespace
}  // namespace edo::test
