// Evaluate on small vocabularies: Spearman with and without ties against values worked out by hand,
// analogies against brute force, in a table, in an ordered one and straight from the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "edo/eval.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

using ::testing::HasSubstr;

class EvaluateTest : public ::testing::TestWithParam<test::StoreBody> {
 protected:
  void SetUp() override { store_ = test::NewStore(GetParam(), dir_.File("store")); }
  std::string File(const std::string& name, const std::string& bytes) const {
    test::WriteFile(dir_.File(name), bytes);
    return dir_.File(name);
  }
  std::unique_ptr<Table> Import(const std::string& path, ImportOptions options = {}) {
    options.source.path = path;
    options.table = path.substr(path.rfind('/') + 1);
    const auto report = edo::Import(store_.get(), options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    auto table = store_->OpenTable(options.table);
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return std::move(table).value();
  }
  test::TempDir dir_;
  std::unique_ptr<Store> store_;
};

// Rows at given angles: the cosine of two is known, and falls as the angle between them grows.
std::string Angles(const std::vector<std::pair<std::string, double>>& words) {
  std::string text;
  for (const auto& [word, degrees] : words) {
    const double angle = degrees * std::acos(-1) / 180;
    text +=
        word + " " + std::to_string(std::cos(angle)) + " " + std::to_string(std::sin(angle)) + "\n";
  }
  return text;
}

TEST_P(EvaluateTest, SpearmanOfPairsWithoutAndWithTies) {
  const auto table = Import(
      File("t.txt", Angles({{"a", 0}, {"b", 10}, {"c", 30}, {"d", 60}, {"e", 100}}) + "z 0 0\n"));
  const auto spearman = [&](const std::string& pairs) {
    EvalOptions options;
    options.similarity = {File("pairs.txt", pairs)};
    const auto report = Evaluate(*table, options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report->similarity[0];
  };
  const auto same = spearman("a b 9\na c 8\na d 7\na e 1\n");
  EXPECT_EQ(same.used, 4u);
  EXPECT_DOUBLE_EQ(same.spearman.value_or(0), 1);
  EXPECT_DOUBLE_EQ(spearman("a b 1\na c 2\na d 3\na e 4\n").spearman.value_or(0), -1);
  // Ranks of scores 4 3 1 2 against cosines 4 3 2 1: 1 - 6 * 2 / (4 * 15).
  EXPECT_DOUBLE_EQ(spearman("a b 9\na c 8\na d 1\na e 7\n").spearman.value_or(0), 0.8);
  // Scores 1.5 1.5 3 4 against cosines 4 3 2 1: covariance -4.5, variances 4.5 and 5.
  EXPECT_NEAR(spearman("a b 1\na c 1\na d 3\na e 4\n").spearman.value_or(0),
              -4.5 / std::sqrt(4.5 * 5), 1e-12);
  // Missing words and rows of zeros are skipped.
  const auto some = spearman("a b 9\nA c 3\na z 5\nnone a 1\na c 1\n");
  EXPECT_EQ(some.pairs, 5u);
  EXPECT_EQ(some.used, 2u);
  EXPECT_EQ(some.skipped(), 3u);
  EXPECT_FALSE(spearman("a b 1\nnone c 2\n").spearman.has_value());
  EXPECT_FALSE(spearman("a b 1\na c 1\n").spearman.has_value());
}

TEST_P(EvaluateTest, LowerFoldsTheWordsOfTheFilesOnly) {
  const auto table = Import(File("t.txt", Angles({{"paris", 0}, {"rome", 20}, {"ROME", 70}})));
  EvalOptions options;
  options.similarity = {File("p", "Paris Rome 2\nparis ROME 1\n")};
  EXPECT_EQ(Evaluate(*table, options)->similarity[0].used, 1u);
  options.lower = true;
  EXPECT_EQ(Evaluate(*table, options)->similarity[0].used, 2u);
}

struct Vocabulary {
  size_t dim = 6;
  std::vector<std::string> words;
  std::vector<float> rows;
  std::string text;
};
// Coordinates are small whole numbers over two: exact as text, and cosines often tie exactly.
Vocabulary RandomVocabulary(size_t count, uint64_t seed) {
  Vocabulary v;
  std::mt19937_64 random(seed);
  for (size_t r = 0; r < count; ++r) {
    v.words.push_back("w" + std::to_string(r));
    v.text += v.words.back();
    for (size_t c = 0; c < v.dim; ++c) {
      const float x = static_cast<float>(static_cast<int>(random() % 5) - 2) / 2;
      v.rows.push_back(x);
      v.text += " " + std::to_string(x);
    }
    v.text += "\n";
  }
  return v;
}

std::vector<float> UnitOf(const Vocabulary& v, size_t row) {
  double squares = 0;
  std::vector<float> unit(v.rows.begin() + static_cast<ptrdiff_t>(row * v.dim),
                          v.rows.begin() + static_cast<ptrdiff_t>((row + 1) * v.dim));
  for (const float x : unit) squares += double{x} * double{x};
  if (squares == 0) return {};
  for (float& x : unit) x = static_cast<float>(double{x} * (1 / std::sqrt(squares)));
  return unit;
}

// The answer to a question, in floats and in the order that eval.h promises.
size_t NaiveAnswer(const Vocabulary& v, const size_t* q, size_t vocabulary) {
  const auto a = UnitOf(v, q[0]), b = UnitOf(v, q[1]), c = UnitOf(v, q[2]);
  size_t best = SIZE_MAX;
  float best_score = 0;
  for (size_t row = 0; row < vocabulary; ++row) {
    const auto unit = UnitOf(v, row);
    if (unit.empty() || row == q[0] || row == q[1] || row == q[2]) continue;
    float score = 0;
    for (size_t d = 0; d < v.dim; ++d) score += (b[d] - a[d] + c[d]) * unit[d];
    if (best == SIZE_MAX || score > best_score) best = row, best_score = score;
  }
  return best;
}

TEST_P(EvaluateTest, AnalogiesAgreeWithBruteForce) {
  const uint64_t seed = test::Seed(404);
  const Vocabulary v = RandomVocabulary(700, seed);
  const size_t vocabulary = 500;
  std::mt19937_64 random(seed + 1);
  std::string questions = ": all\n";
  uint64_t used = 0, solved = 0;
  const size_t count = 1500;
  for (size_t i = 0; i < count; ++i) {
    size_t q[4];
    for (size_t& row : q) row = random() % (i % 50 == 0 ? 700 : vocabulary);
    bool known = true;
    for (size_t k = 0; k < 3; ++k) known = known && q[k] < vocabulary && !UnitOf(v, q[k]).empty();
    if (known && i % 2 == 0) q[3] = NaiveAnswer(v, q, vocabulary);
    known = known && q[3] < vocabulary && !UnitOf(v, q[3]).empty();
    used += known;
    solved += known && q[3] == NaiveAnswer(v, q, vocabulary);
    for (const size_t row : q) questions += v.words[row] + " ";
    questions += "\n";
    if (i == count / 2) questions += ": second half\nnobody w1 w2 w3\n";
  }
  const std::string path = File("v.txt", v.text);
  EvalOptions options;
  options.analogies = {File("q.txt", questions)};
  options.vocabulary = vocabulary;
  const auto check = [&](const Result<EvalReport>& report) {
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->vocabulary, vocabulary);
    const AnalogyReport& analogies = report->analogies[0];
    EXPECT_EQ(analogies.total.questions, count + 1);
    EXPECT_EQ(analogies.total.used, used);
    EXPECT_EQ(analogies.total.solved, solved);
    ASSERT_EQ(analogies.sections.size(), 2u);
    EXPECT_EQ(analogies.sections[1].name, "second half");
    EXPECT_EQ(analogies.sections[0].questions + analogies.sections[1].questions, count + 1);
    EXPECT_GT(analogies.sections[0].solved, 0u);
  };
  EXPECT_GT(solved, count / 3);
  EXPECT_LT(solved, used);
  const auto table = Import(path);
  check(Evaluate(*table, options));
  options.threads = 3;
  check(Evaluate(*table, options));
  check(Evaluate(SourceOptions{.path = path}, options));

  // The vocabulary is the beginning of the source, wherever its rows are stored.
  std::string counts;
  for (size_t r = 0; r < v.words.size(); ++r)
    counts += v.words[r] + "\t" + std::to_string(r) + "\n";
  ImportOptions ordered;
  ordered.order = {OrderKind::kCounts, File("counts", counts)};
  ordered.replace = true;
  const auto again = Import(path, ordered);
  ASSERT_EQ(again->info().order, "counts");
  check(Evaluate(*again, options));
}

TEST_P(EvaluateTest, TheFileGivesWhatTheTableGives) {
  const Vocabulary v = RandomVocabulary(300, test::Seed(8));
  const std::string path = File("v.txt", v.text);
  const auto table = Import(path);
  EvalOptions options;
  std::string pairs;
  for (size_t i = 0; i < 100; ++i) {
    pairs += "w" + std::to_string(i) + " w" + std::to_string(299 - i) + " " +
             std::to_string(i * 37 % 101) + "\n";
  }
  options.similarity = {File("pairs", pairs)};
  options.analogies = {File("q", "w1 w2 w3 w4\n")};
  options.vocabulary = 50;
  const auto a = Evaluate(*table, options);
  const auto b = Evaluate(SourceOptions{.path = path}, options);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->similarity[0].spearman, b->similarity[0].spearman);
  EXPECT_EQ(a->similarity[0].used, b->similarity[0].used);
  EXPECT_EQ(a->analogies[0].total.solved, b->analogies[0].total.solved);
}

TEST_P(EvaluateTest, RefusesWhatCannotBeEvaluated) {
  const auto table = Import(File("t.txt", "a 1 0\nb 0 1\n"));
  EXPECT_EQ(Evaluate(*table, {}).status().code(), StatusCode::kInvalidArgument);
  EvalOptions options;
  options.similarity = {dir_.File("none")};
  EXPECT_EQ(Evaluate(*table, options).status().code(), StatusCode::kNotFound);
  options.similarity = {File("bad", "a b 1\na b\n")};
  const Status bad = Evaluate(*table, options).status();
  EXPECT_EQ(bad.code(), StatusCode::kBadInput);
  EXPECT_THAT(std::string(bad.message()), HasSubstr(dir_.File("bad") + " line 2: found 2 fields"));
  options.similarity = {File("good", "a b 1\n")};
  ImportOptions dense;
  dense.source.keys = "dense";
  const auto numbers = Import(File("n.txt", "a 1 0\nb 0 1\n"), dense);
  EXPECT_THAT(std::string(Evaluate(*numbers, options).status().message()), HasSubstr("dense keys"));
  options.similarity = {};
  options.analogies = {File("q", "a b a b\n")};
  options.progress = [](const Progress&) { return false; };
  EXPECT_EQ(Evaluate(*table, options).status().code(), StatusCode::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Bodies, EvaluateTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

}  // namespace
}  // namespace edo
