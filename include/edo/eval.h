// What a table of words is good for: how well cosines of its rows agree with people's judgement of
// how alike words are, and how many analogies its rows solve. Meant for holding a compressed table
// against its original.
//
//   auto report = edo::Evaluate(*table, {.similarity = {"MEN.txt"},
//                                        .analogies = {"questions-words.txt"}});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edo/options.h"
#include "edo/status.h"
#include "edo/table.h"
#include "edo/transfer.h"

namespace edo {

struct EvalOptions {
  // Files of two words and a score a line, between TABs, commas or blanks, with or without a
  // header: MEN, WordSim-353, SimLex-999, RW, MTurk-771. gzip and zstd are opened.
  std::vector<std::string> similarity{};
  std::string score_column{};  // of those files: its name in the header; empty: the third field
  // Files of four words a line and ": NAME" before sections: word2vec's questions-words.txt.
  std::vector<std::string> analogies{};
  uint64_t vocabulary = 30000;  // analogies: only the first so many rows, in the order of the
                                // source, are asked about and are answers
  bool lower = false;           // A-Z of the files' words become a-z before they are looked up
  uint32_t threads = 2;         // for analogies
  ProgressFunction progress{};  // unit "questions"
  Status Validate() const;
};

// A word has a row when the table holds it and that row is finite and not all zeros; pairs and
// questions with a word that has none are skipped.
struct SimilarityReport {
  std::string file;
  std::string header;  // line 1 of the file when it was taken for a header
  uint64_t pairs = 0, used = 0;
  uint64_t skipped() const { return pairs - used; }
  // Spearman's rank correlation of scores and cosines, equal ones sharing their mean rank. Empty:
  // fewer than two pairs were used, or all scores or all cosines are equal.
  std::optional<double> spearman;
};

// Question a b c d is solved when, of the vocabulary without a, b and c, the row nearest by cosine
// to b - a + c (rows at length one: 3CosAdd, Mikolov et al. 2013) is that of d; of exactly equal
// cosines the row that comes first in the source.
struct AnalogySection {
  std::string name;  // "" for questions before the first section
  uint64_t questions = 0, used = 0, solved = 0;
  uint64_t skipped() const { return questions - used; }
  std::optional<double> accuracy() const {  // of those used
    if (used == 0) return std::nullopt;
    return static_cast<double>(solved) / static_cast<double>(used);
  }
};
struct AnalogyReport {
  std::string file;
  AnalogySection total;  // its name is empty
  std::vector<AnalogySection> sections;
};

struct EvalReport {
  std::vector<SimilarityReport> similarity;  // in the order of the options
  std::vector<AnalogyReport> analogies;
  uint64_t vocabulary = 0;  // rows of it that there are; 0 without analogies
};

// Of a table. kInvalidArgument: not a text table, no file. kNotFound, kBadInput name the file, and
// the line of what is wrong. Memory: the files, the rows of their words, and the vocabulary's;
// time: questions * vocabulary * dim multiplications.
Result<EvalReport> Evaluate(const Table& table, const EvalOptions& options);
// Of a file that import reads, without importing it; of a word that repeats the first row counts.
// Reads all of it.
Result<EvalReport> Evaluate(const SourceOptions& source, const EvalOptions& options);

}  // namespace edo
