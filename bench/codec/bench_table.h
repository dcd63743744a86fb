// BenchTable: the rows that codecs are measured on, read from a file or made from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edo/status.h"

namespace edo::bench {

struct BenchTable {
  std::string name;
  uint32_t dim = 0;
  std::vector<float> values;  // (rows, dim)

  uint64_t rows() const { return values.size() / dim; }
};

// Any file that `edo import` reads. `tensor`: of a file that holds several; else empty.
Result<BenchTable> ReadTable(const std::string& path, const std::string& tensor);

// 40,000 x 100 values, of a kind:
//   heavy    Student's t with 3 degrees of freedom, norms spread over four decades
//   uniform  between -1 and 1
//   outlier  Gaussian but for four columns around +-20 with a deviation of 5, as transformers have
Result<BenchTable> MakeTable(const std::string& kind, uint64_t seed);

}  // namespace edo::bench
