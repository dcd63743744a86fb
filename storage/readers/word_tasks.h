// Files that words are tested with: pairs with a score of how alike people found them, and
// questions of the kind "a is to b as c is to d". Both are small and read whole. kBadInput names
// file and line, what was found and what was expected.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edo/status.h"
#include "storage/readers/input.h"

namespace edo::storage {

struct WordPairs {
  struct Pair {
    std::string first, second;
    double score = 0;  // finite
  };
  std::vector<Pair> pairs;  // at least one
  std::string header;       // line 1 when it was taken for one
};

// Two words and a score a line, as MEN, WordSim-353, SimLex-999, RW and MTurk-771 have it: between
// TABs, commas or blanks, as the first line says; every line has as many fields as the first. Lines
// of '#' before the first are remarks. The first line is a header when its score is no number.
// `score_column`: name of the score in the header; empty: the third field.
Result<WordPairs> ReadWordPairs(std::unique_ptr<Input> input, std::string_view score_column);

struct Questions {
  struct Question {
    std::array<std::string, 4> words;
    size_t section = 0;
  };
  std::vector<std::string> sections;  // "" for questions before the first
  std::vector<Question> questions;    // at least one
};

// Four words a line, ": NAME" before each section, as word2vec's questions-words.txt has it.
Result<Questions> ReadQuestions(std::unique_ptr<Input> input);

}  // namespace edo::storage
