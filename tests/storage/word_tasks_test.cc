// Files of word pairs and of analogies: each layout that is in use, and every fault with the line,
// what was found and what was expected.
#include "storage/readers/word_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::HasSubstr;

std::string Pairs(std::string_view bytes, std::string_view column = "") {
  auto pairs = ReadWordPairs(Input::FromMemory("pairs", bytes).value(), column);
  if (!pairs.ok()) return pairs.status().ToString();
  std::string out = pairs->header.empty() ? "" : "[" + pairs->header + "] ";
  for (const WordPairs::Pair& pair : pairs->pairs) {
    out += pair.first + "~" + pair.second + "=" + std::to_string(pair.score).substr(0, 4) + " ";
  }
  return out;
}

TEST(WordPairs, LayoutsInUse) {
  EXPECT_EQ(Pairs("sun sunlight 50.0\na  b 1\n"), "sun~sunlight=50.0 a~b=1.00 ");  // MEN
  EXPECT_EQ(Pairs("Word 1,Word 2,Human (mean)\r\nlove,sex,6.77\r\n"),              // WS-353
            "[Word 1,Word 2,Human (mean)] love~sex=6.77 ");
  EXPECT_EQ(Pairs("love\tsex\t6.77\n\ntiger\tcat\t7.35"), "love~sex=6.77 tiger~cat=7.35 ");
  EXPECT_EQ(Pairs("a\tb\t5.88\t7\t0\nc\td\t1\t2\t3\n"), "a~b=5.88 c~d=1.00 ");        // RW
  EXPECT_EQ(Pairs("word1\tword2\tPOS\tSimLex999\nold\tnew\tA\t1.58\n", "SimLex999"),  // SimLex
            "[word1\tword2\tPOS\tSimLex999] old~new=1.58 ");
  EXPECT_EQ(Pairs("\xef\xbb\xbf# remark\n# more\na b -1e-1\n"), "a~b=-0.1 ");
  EXPECT_EQ(Pairs("a, new york , 3\n"), "a~new york=3.00 ");
}

TEST(WordPairs, FaultsNameTheLine) {
  const auto expect = [](std::string_view bytes, const char* words, std::string_view column = "") {
    const std::string said = Pairs(bytes, column);
    EXPECT_THAT(said, HasSubstr("bad input: pairs"));
    EXPECT_THAT(said, HasSubstr(words));
  };
  expect("", "found no pair of words");
  expect("a b score\n", "found no pair of words");
  expect("a b\n", "line 1: found 2 fields in 'a b', expected two words and a score");
  expect("a b 1\n\nc d\n", "line 3: found 2 fields in 'c d', expected 3 as on the first line");
  expect("a b 1\nc d x\n", "line 2: found 'x', expected a score, a finite number");
  expect("a b 1\nc d inf\n", "line 2: found 'inf'");
  expect("a b 1\nc d 1,5\n", "line 2: found '1,5'");
  expect("w1\tw2\tPOS\tSim\na\tb\tA\t1\n", "line 2: found 'A', expected a score in column 3");
  expect("w1\tw2\tPOS\n", "line 1: found no column 'Sim'", "Sim");
  expect("a\t\t1\n", "line 1: found an empty word");
  expect("\"a\",b,1\n", "a word without quotes");
  expect("a b 1\n# remark\n", "line 2: found 2 fields in '# remark'");
}

std::string Asked(std::string_view bytes) {
  auto questions = ReadQuestions(Input::FromMemory("q", bytes).value());
  if (!questions.ok()) return questions.status().ToString();
  std::string out;
  for (const Questions::Question& question : questions->questions) {
    out += questions->sections[question.section] + ":";
    for (const std::string& word : question.words) out += word + ",";
    out += " ";
  }
  return out;
}

TEST(Questions, SectionsAndFaults) {
  EXPECT_EQ(Asked(": capital common\na b c d\n\ne f  g\th\r\n: x\n: y\ni j k l"),
            "capital common:a,b,c,d, capital common:e,f,g,h, y:i,j,k,l, ");
  EXPECT_EQ(Asked("a b c d\n"), ":a,b,c,d, ");
  EXPECT_THAT(Asked(": x\na b c\n"),
              HasSubstr("q line 2: found 3 words in 'a b c', expected four"));
  EXPECT_THAT(Asked("a b c d e\n"), HasSubstr("q line 1: found 5 words"));
  EXPECT_THAT(Asked(": \na b c d\n"), HasSubstr("q line 1: found ':' alone"));
  EXPECT_THAT(Asked(": x\n"), HasSubstr("found no question"));
}

}  // namespace
}  // namespace edo::storage
