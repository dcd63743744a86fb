// Evaluate: word similarity and analogies.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "edo/eval.h"
#include "engine/nearest_rows.h"
#include "engine/word_rows.h"
#include "storage/readers/word_tasks.h"

namespace edo {

Status EvalOptions::Validate() const {
  if (similarity.empty() && analogies.empty()) {
    return Status::InvalidArgument("no file of word pairs or analogies was given");
  }
  if (!score_column.empty() && similarity.empty()) {
    return Status::InvalidArgument("a score column was named without a file of word pairs");
  }
  if (vocabulary == 0) return Status::InvalidArgument("vocabulary 0; at least 1 is needed");
  return Status::Ok();
}

namespace {

using engine::WordRows;
using storage::Input;
using storage::Questions;
using storage::WordPairs;

constexpr size_t kQuestionsAtOnce = 4096;

void Lower(std::string* word) {
  for (char& c : *word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
}

// Rank of each value, from 1; equal ones share the mean of their ranks.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

std::optional<double> Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = static_cast<double>(a.size() + 1) / 2;  // of any ranks
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

double CosineOf(const float* a, const float* b, uint32_t dim) {
  double ab = 0, aa = 0, bb = 0;
  for (uint32_t c = 0; c < dim; ++c) {
    ab += double{a[c]} * double{b[c]};
    aa += double{a[c]} * double{a[c]};
    bb += double{b[c]} * double{b[c]};
  }
  return ab / (std::sqrt(aa) * std::sqrt(bb));
}

class Evaluator {
 public:
  explicit Evaluator(const EvalOptions& options) : options_(options) {}

  Status ReadFiles() {
    EDO_RETURN_IF_ERROR(options_.Validate());
    for (const std::string& path : options_.similarity) {
      EDO_ASSIGN_OR_RETURN(auto input, Input::Open(path));
      EDO_ASSIGN_OR_RETURN(auto pairs,
                           storage::ReadWordPairs(std::move(input), options_.score_column));
      for (WordPairs::Pair& pair : pairs.pairs) {
        Want(&pair.first);
        Want(&pair.second);
      }
      pairs_.push_back(std::move(pairs));
    }
    for (const std::string& path : options_.analogies) {
      EDO_ASSIGN_OR_RETURN(auto input, Input::Open(path));
      EDO_ASSIGN_OR_RETURN(auto questions, storage::ReadQuestions(std::move(input)));
      for (Questions::Question& question : questions.questions) {
        if (!options_.lower) break;
        for (std::string& word : question.words) Lower(&word);
      }
      all_questions_ += questions.questions.size();
      questions_.push_back(std::move(questions));
    }
    return Status::Ok();
  }

  uint64_t first_rows() const { return questions_.empty() ? 0 : options_.vocabulary; }
  const std::unordered_set<std::string>& words() const { return words_; }

  Result<EvalReport> Run(const WordRows& rows) {
    EvalReport report;
    report.vocabulary = rows.vocabulary();
    for (size_t i = 0; i < pairs_.size(); ++i) {
      report.similarity.push_back(Similarity(rows, pairs_[i]));
      report.similarity.back().file = options_.similarity[i];
    }
    if (questions_.empty()) return report;
    std::vector<size_t> candidates;
    for (size_t row = 0; row < rows.vocabulary(); ++row) {
      if (rows.HasDirection(row)) candidates.push_back(row);
    }
    for (size_t i = 0; i < questions_.size(); ++i) {
      EDO_ASSIGN_OR_RETURN(AnalogyReport analogies, Analogies(rows, candidates, questions_[i]));
      analogies.file = options_.analogies[i];
      report.analogies.push_back(std::move(analogies));
    }
    return report;
  }

 private:
  void Want(std::string* word) {
    if (options_.lower) Lower(word);
    words_.insert(*word);
  }

  static SimilarityReport Similarity(const WordRows& rows, const WordPairs& pairs) {
    SimilarityReport report;
    report.header = pairs.header;
    report.pairs = pairs.pairs.size();
    std::vector<double> scores, cosines;
    for (const WordPairs::Pair& pair : pairs.pairs) {
      const auto a = rows.Find(pair.first), b = rows.Find(pair.second);
      if (!a || !b) continue;
      scores.push_back(pair.score);
      cosines.push_back(CosineOf(rows.row(*a), rows.row(*b), rows.dim()));
    }
    report.used = scores.size();
    report.spearman = Correlation(RanksOf(scores), RanksOf(cosines));
    return report;
  }

  struct Asked {
    std::array<size_t, 4> rows;
    AnalogySection* section;
  };

  Result<AnalogyReport> Analogies(const WordRows& rows, std::span<const size_t> candidates,
                                  const Questions& questions) {
    AnalogyReport report;
    report.sections.resize(questions.sections.size());
    for (size_t s = 0; s < report.sections.size(); ++s) {
      report.sections[s].name = questions.sections[s];
    }
    std::vector<Asked> asked;
    for (const Questions::Question& question : questions.questions) {
      Asked next{{}, &report.sections[question.section]};
      ++next.section->questions;
      bool known = true;
      for (size_t i = 0; i < 4; ++i) {
        const auto row = rows.Find(question.words[i]);
        known = known && row && *row < rows.vocabulary();
        next.rows[i] = row.value_or(0);
      }
      if (known) asked.push_back(next);
      if (asked.size() == kQuestionsAtOnce) EDO_RETURN_IF_ERROR(Answer(rows, candidates, &asked));
      ++questions_seen_;
    }
    EDO_RETURN_IF_ERROR(Answer(rows, candidates, &asked));
    for (const AnalogySection& section : report.sections) {
      report.total.questions += section.questions;
      report.total.used += section.used;
      report.total.solved += section.solved;
    }
    return report;
  }

  // Answers the questions and forgets them.
  Status Answer(const WordRows& rows, std::span<const size_t> candidates,
                std::vector<Asked>* asked) {
    const size_t dim = rows.dim();
    std::vector<float> queries(asked->size() * dim), unit(3 * dim);
    for (size_t q = 0; q < asked->size(); ++q) {
      for (size_t i = 0; i < 3; ++i) {
        engine::UnitRow(rows.row((*asked)[q].rows[i]), rows.dim(), unit.data() + i * dim);
      }
      for (size_t c = 0; c < dim; ++c) {
        queries[q * dim + c] = unit[dim + c] - unit[c] + unit[2 * dim + c];
      }
    }
    // Four: the words of the question may be the nearest three.
    const auto near =
        engine::NearestRows(rows.values(), candidates, rows.dim(), queries, 4, options_.threads);
    for (size_t q = 0; q < asked->size(); ++q) {
      const Asked& question = (*asked)[q];
      ++question.section->used;
      const auto answer = std::find_if(near[q].begin(), near[q].end(), [&](const auto& candidate) {
        return std::find(question.rows.begin(), question.rows.begin() + 3, candidate.row) ==
               question.rows.begin() + 3;
      });
      question.section->solved += answer != near[q].end() && answer->row == question.rows[3];
    }
    asked->clear();
    if (!options_.progress ||
        options_.progress({questions_seen_, all_questions_, 0, "questions"})) {
      return Status::Ok();
    }
    return Status::Cancelled("the evaluation was cancelled");
  }

  const EvalOptions& options_;
  std::vector<WordPairs> pairs_;
  std::vector<Questions> questions_;
  std::unordered_set<std::string> words_;  // of pairs; questions ask for the vocabulary only
  uint64_t all_questions_ = 0, questions_seen_ = 0;
};

}  // namespace

Result<EvalReport> Evaluate(const Table& table, const EvalOptions& options) {
  Evaluator evaluator(options);
  EDO_RETURN_IF_ERROR(evaluator.ReadFiles());
  EDO_ASSIGN_OR_RETURN(const auto rows,
                       WordRows::OfTable(table, evaluator.first_rows(), evaluator.words()));
  return evaluator.Run(rows);
}

Result<EvalReport> Evaluate(const SourceOptions& source, const EvalOptions& options) {
  Evaluator evaluator(options);
  EDO_RETURN_IF_ERROR(evaluator.ReadFiles());
  EDO_ASSIGN_OR_RETURN(const auto rows,
                       WordRows::OfFile(source, evaluator.first_rows(), evaluator.words()));
  return evaluator.Run(rows);
}

}  // namespace edo
