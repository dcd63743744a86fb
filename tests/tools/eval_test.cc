// edo eval: what it prints as text and JSON, its exit codes and its messages.
#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;

class EvalTool : public ::testing::Test {
 protected:
  void SetUp() override {
    // king - man + woman = queen, exactly.
    WriteFile(
        Path("w.txt"),
        "man 1 0 0\nwoman 0 1 0\nking 1 0 1\nqueen 0 1 1\napple -1 -1 0.5\npear -1 -0.9 0.5\n");
    WriteFile(Path("pairs.csv"),
              "first,second,mean\napple,pear,9\nman,woman,5\nman,apple,1\nX,man,2\n");
    WriteFile(Path("q.txt"),
              ": royal\nman king woman queen\nman king woman pear\n: none\nman king a b\n");
    ASSERT_EQ(Edo({"import", Path("w.txt"), "--store", store()}).code, 0);
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string store() const { return Path("store"); }
  std::vector<std::string> Args(std::vector<std::string> more) const {
    more.insert(more.begin(), {"eval", "--store", store()});
    return more;
  }
  TempDir dir_;
};

TEST_F(EvalTool, PrintsSimilarityAndAnalogiesBySection) {
  const Said said = Edo(Args({"--similarity", Path("pairs.csv"), "--analogies", Path("q.txt")}));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "similarity\tpairs\tused\tskipped\tspearman\n" + Path("pairs.csv") +
                          "\t4\t3\t1\t1.0000\n\n" + Path("q.txt") +
                          "\tquestions\tused\tskipped\tsolved\taccuracy\n"
                          "royal\t2\t2\t0\t1\t0.5000\nnone\t1\t0\t1\t0\t-\n"
                          "total\t3\t2\t1\t1\t0.5000\n");
  EXPECT_EQ(said.err, Path("pairs.csv") + ": line 1 is a header: first,second,mean\n");
}

TEST_F(EvalTool, TheOriginalStandsBesideTheTable) {
  ASSERT_EQ(Edo({"import", Path("w.txt"), "--store", Path("int8"), "--codec", "INT8"}).code, 0);
  const Said said = Edo({"eval", "--store", Path("int8"), "--similarity", Path("pairs.csv"),
                         "--analogies", Path("q.txt"), "--against", Path("w.txt")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("\tspearman\tused of original\tspearman of original\n"));
  EXPECT_THAT(said.out, HasSubstr("royal\t2\t2\t0\t1\t0.5000\t2\t1\t0.5000\n"));
}

TEST_F(EvalTool, JsonHasBoth) {
  const auto json = EdoJson(
      Args({"--similarity", Path("pairs.csv"), "--similarity", Path("pairs.csv"), "--analogies",
            Path("q.txt"), "--vocabulary", "5", "--lower", "--against", Path("w.txt")}));
  EXPECT_EQ(json["similarity"].size(), 2u);
  EXPECT_EQ(json["similarity"][1]["skipped"], 1);
  EXPECT_EQ(json["similarity"][0]["spearman"], 1.0);
  EXPECT_EQ(json["vocabulary"], 5);
  EXPECT_EQ(json["analogies"][0]["used"], 1) << "pear is beyond the vocabulary";
  EXPECT_EQ(json["analogies"][0]["sections"][1]["accuracy"], nullptr);
  EXPECT_EQ(json["against"]["analogies"][0]["solved"], 1);
  EXPECT_EQ(EdoJson(Args({"--analogies", Path("q.txt")}))["against"], nullptr);
}

TEST_F(EvalTool, TheScoreColumnCanBeNamed) {
  WriteFile(Path("sim.txt"), "word1\tword2\tPOS\tSim\nman\twoman\tN\t2\napple\tpear\tN\t9\n");
  EXPECT_THAT(Edo(Args({"--similarity", Path("sim.txt")})).err, HasSubstr("line 2: found 'N'"));
  EXPECT_EQ(Edo(Args({"--similarity", Path("sim.txt"), "--score-column", "Sim"})).code, 0);
}

TEST_F(EvalTool, FaultsAreOneErrorWithFileAndLine) {
  WriteFile(Path("bad"), "man king woman\n");
  const Said said = Edo(Args({"--similarity", Path("pairs.csv"), "--analogies", Path("bad")}));
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, HasSubstr(Path("bad") + " line 1: found 3 words"));
  EXPECT_EQ(Edo(Args({"--analogies", Path("absent")})).code, 1);
  for (const auto& more : std::vector<std::vector<std::string>>{
           {},
           {"--similarity", Path("pairs.csv"), "--from", "glove"},
           {"--analogies", Path("q.txt"), "--score-column", "mean"},
           {"--analogies", Path("q.txt"), "--vocabulary", "0"}}) {
    EXPECT_EQ(Edo(Args(more)).code, 2);
  }
}

}  // namespace
}  // namespace edo::test
