// edo analyze: exit codes, what it prints as text, JSON and HTML, and what a failed call leaves.
#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class AnalyzeTool : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (uint64_t r = 0; r < 300; ++r) {
      text += "w" + std::to_string(r);
      for (uint32_t c = 0; c < 8; ++c) text += " " + std::to_string(ValueAt(r, c));
      text += "\n";
    }
    WriteFile(Path("a.txt"), text);
    ASSERT_EQ(Edo({"import", Path("a.txt"), "--store", store(), "--codec", "INT8"}).code, 0);
  }
  static int ValueAt(uint64_t r, uint32_t c) {
    return static_cast<int>((r * 7919 + c * 104729 + r * c * 31) % 2001) - 1000;
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string store() const { return Path("store"); }
  std::vector<std::string> Args(std::vector<std::string> more = {},
                                const std::string& original = "a.txt") const {
    std::vector<std::string> args{"analyze", "--store", store(), "--against", Path(original)};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  Said Analyze(std::vector<std::string> more = {}, const std::string& original = "a.txt") const {
    return Edo(Args(std::move(more), original));
  }
  TempDir dir_;
};

TEST_F(AnalyzeTool, PrintsFiguresBucketsHistogramAndWorstRows) {
  const Said said = Analyze();
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* line :
       {"rows compared\t300\n", "relative error p99\t", "cosine p1\t0.9999", "neighbours kept\t",
        "\nnorm from\tto\trows\t", "\nrelative error from\tto\trows\n", "\nworst key\trow\t"}) {
    EXPECT_THAT(said.out, HasSubstr(line));
  }
  EXPECT_THAT(said.err, HasSubstr("recognised glove"));
  EXPECT_EQ(Analyze({"--quiet"}).err, "");
}

TEST_F(AnalyzeTool, JsonHasWhatTheTextHas) {
  const auto json = EdoJson(Args());
  EXPECT_EQ(json["table"]["codec"], "INT8");
  EXPECT_EQ(json["quality"]["rows"], 300);
  EXPECT_GT(json["quality"]["rel_error_mean"], 0.0);
  EXPECT_GE(json["quality"]["rel_error_worst"], json["quality"]["rel_error_p99"]);
  EXPECT_EQ(json["quality"]["worst"].size(), 20u);
  EXPECT_EQ(json["quality"]["worst"][0]["rel_error"], json["quality"]["rel_error_worst"]);
  EXPECT_TRUE(json["quality"]["overlap"].is_number());
  EXPECT_EQ(json["overlap_rows"], 300);
  EXPECT_TRUE(json["missed"].empty());
  EXPECT_TRUE(EdoJson(Args({"--overlap-rows", "0"}))["quality"]["overlap"].is_null());
}

TEST_F(AnalyzeTool, AMissedThresholdExitsWithThreeAndSaysWhich) {
  EXPECT_EQ(
      Analyze({"--min-cosine", "0.99", "--max-rel-error", "0.001", "--min-overlap", "0.5"}).code,
      0);
  const Said said = Analyze({"--min-cosine", "0.9999999", "--at", "worst"});
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(said.err, HasSubstr("table 'a': worst cosine 0.9999"));
  EXPECT_THAT(said.err, HasSubstr("is below 1"));
  EXPECT_THAT(said.out, HasSubstr("rows compared"));
  EXPECT_EQ(Analyze({"--max-rel-error", "0"}).code, 3);
  EXPECT_EQ(EdoJson(Args({"--max-rel-error", "1e-9", "--at", "mean"}), 3)["missed"].size(), 1u);
}

TEST_F(AnalyzeTool, RowsWithoutAPartnerExitWithOneUnlessTheyMayBeMissing) {
  WriteFile(Path("less.txt"), "w3 1 2 3 4 5 6 7 8\nzzz 1 2 3 4 5 6 7 8\n");
  const Said said = Analyze({}, "less.txt");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.err, HasSubstr("1 row of " + Path("less.txt") +
                                  " is not in table 'a'; the first has key 'zzz' (line 2)"));
  EXPECT_THAT(said.err, HasSubstr("299 rows of table 'a' are not in " + Path("less.txt")));
  EXPECT_THAT(said.out, HasSubstr("rows compared\t1\n"));
  EXPECT_EQ(Analyze({"--ignore-missing"}, "less.txt").code, 0);
  EXPECT_EQ(Analyze({"--ignore-missing", "--max-rel-error", "1e-12"}, "less.txt").code, 3);
  const auto json = EdoJson(Args({}, "less.txt"), 1);
  EXPECT_EQ(json["missing"][0]["key"], "zzz");
  EXPECT_EQ(json["rows_extra"], 299);
}

TEST_F(AnalyzeTool, TheSameOptionsAsOfTheImportReadTheOriginal) {
  WriteFile(Path("twice.csv"), "id,x,y\na,1,2\nb,nan,1\na,5,5\n");
  const std::vector<std::string> options{"--on-duplicate", "last",     "--non-finite",
                                         "zero",           "--header", "yes"};
  std::vector<std::string> import{"import", Path("twice.csv"), "--store", Path("other")};
  import.insert(import.end(), options.begin(), options.end());
  ASSERT_EQ(Edo(import).code, 0);
  std::vector<std::string> args{"analyze", "--store", Path("other"), "--against",
                                Path("twice.csv")};
  const Said strict = Edo(args);
  EXPECT_EQ(strict.code, 1);
  EXPECT_EQ(strict.out, "");
  EXPECT_THAT(strict.err, HasSubstr("line 3"));
  args.insert(args.end(), options.begin(), options.end());
  const Said said = Edo(args);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("rows exact\t2\n"));
  EXPECT_THAT(said.err, HasSubstr("1 row of a repeated key left out"));
  EXPECT_THAT(said.err, HasSubstr("1 value changed to 0"));
}

TEST_F(AnalyzeTool, StandardInputIsAnOriginal) {
  const Said said =
      Edo({"analyze", "--store", store(), "--against", "-"}, {.input = ReadFile(Path("a.txt"))});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("rows compared\t300\n"));
  const Said twice =
      Edo({"analyze", "--store", store(), "--against", "-", "--on-duplicate", "last"},
          {.input = ReadFile(Path("a.txt"))});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("read twice"));
}

TEST_F(AnalyzeTool, ThePageIsWholeAndReplacedOnlyByForce) {
  const std::string page = Path("report.html");
  ASSERT_EQ(Analyze({"--html", page, "--min-cosine", "1"}).code, 3);
  const std::string html = ReadFile(page);
  EXPECT_THAT(html, HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("</html>\n"));
  EXPECT_THAT(html, HasSubstr("<svg "));
  EXPECT_THAT(html, HasSubstr("Missed: p1 cosine"));
  for (const char* outside : {"<script", "http:", "https:", "<link", "<img", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  const Said again = Analyze({"--html", page});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(ReadFile(page), html);
  EXPECT_EQ(Analyze({"--html", page, "--force"}).code, 0);
  EXPECT_THAT(ReadFile(page), Not(HasSubstr("Missed")));
}

TEST_F(AnalyzeTool, AFailedCallLeavesNoPage) {
  WriteFile(Path("bad.txt"), "w1 1 2 3\n");
  const Said said = Analyze({"--html", Path("new.html")}, "bad.txt");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.err, HasSubstr("found rows of 3 values, expected 8"));
  EXPECT_FALSE(fs::exists(Path("new.html")));
  for (const auto& entry : fs::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  }
  EXPECT_EQ(Analyze({"--html", Path("a.txt"), "--force"}).code, 2) << "that is the original";
  EXPECT_EQ(Analyze({"--html", store() + "/x.html"}).code, 2) << "that is the store";
  EXPECT_EQ(Analyze({"--html", "/dev/full"}).code, 1);
}

TEST_F(AnalyzeTool, KeysOfThePageCannotBeMarkup) {
  WriteFile(Path("odd.tsv"), "<b>&\"x\t1.2\t-3\n\xff\xfe\t2.1\t1\n");
  ASSERT_EQ(Edo({"import", Path("odd.tsv"), "--store", Path("odd"), "--codec", "INT8",
                 "--invalid-utf8", "keep"})
                .code,
            0);
  const Said said = Edo({"analyze", "--store", Path("odd"), "--against", Path("odd.tsv"),
                         "--invalid-utf8", "keep", "--html", Path("odd.html")});
  ASSERT_EQ(said.code, 0) << said.err;
  const std::string html = ReadFile(Path("odd.html"));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;&amp;&quot;x"));
  EXPECT_THAT(html, HasSubstr("base64://4="));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

TEST_F(AnalyzeTool, WrongUsageExitsWithTwo) {
  for (const auto& more :
       std::vector<std::vector<std::string>>{{"--min-cosine", "1.5"},
                                             {"--max-rel-error", "-1"},
                                             {"--max-rel-error", "nan"},
                                             {"--at", "median"},
                                             {"--min-overlap", "0.9", "--overlap-rows", "0"},
                                             {"--min-overlap", ""},
                                             {"--threads", "0"},
                                             {"--html", "-"}}) {
    const Said said = Analyze(more);
    EXPECT_EQ(said.code, 2) << more[0] << said.err;
    EXPECT_EQ(said.out, "");
  }
  EXPECT_EQ(Edo({"analyze", "--store", store()}).code, 2);
}

}  // namespace
}  // namespace edo::test
