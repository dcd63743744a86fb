// WordRows: the rows of some words in memory, from a table or from an outside file: those of the
// beginning of the vocabulary, and those of words that were asked for. Immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "edo/status.h"
#include "edo/table.h"
#include "edo/transfer.h"

namespace edo::engine {

class WordRows {
 public:
  // Rows 0 .. vocabulary()-1 are the first `first_rows` of the source, in its order; then come
  // those of `words` that it holds and that are not among them.
  static Result<WordRows> OfTable(const Table& table, uint64_t first_rows,
                                  const std::unordered_set<std::string>& words);
  static Result<WordRows> OfFile(const SourceOptions& source, uint64_t first_rows,
                                 const std::unordered_set<std::string>& words);

  uint32_t dim() const { return dim_; }
  size_t vocabulary() const { return vocabulary_; }
  // Row of a word that is there and has a direction: finite and not all zeros.
  std::optional<size_t> Find(const std::string& word) const;
  bool HasDirection(size_t row) const { return directed_[row]; }
  const float* values() const { return values_.data(); }  // (rows, dim)
  const float* row(size_t i) const { return values_.data() + i * dim_; }

 private:
  void Add(std::string_view word, const float* values);

  uint32_t dim_ = 0;
  size_t vocabulary_ = 0;
  std::vector<float> values_;
  std::vector<bool> directed_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace edo::engine
