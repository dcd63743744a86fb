// RowSpool: rows of floats that wait for their codec. Keeps them in order - in memory while they
// are few, else in a file that is deleted with the spool - and draws a sample of them as they pass.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edo/status.h"
#include "engine/row_sample.h"

namespace edo::engine {

class RowSpool {
 public:
  // `path`: of the file, if one is needed. `sample_rows`: that the sample holds at most.
  RowSpool(std::string path, uint32_t dim, uint64_t sample_rows, uint64_t memory_bytes = 64 << 20);
  ~RowSpool();
  RowSpool(const RowSpool&) = delete;
  RowSpool& operator=(const RowSpool&) = delete;

  Status Append(std::span<const float> rows);  // (count, dim)
  uint64_t rows() const { return rows_; }

  // The sample in random order; spent by the call.
  std::vector<float> TakeSample() { return sample_.Take(); }

  // All rows in order, some at a time, as often as it is called; then no more are appended. `rows`:
  // (count, dim).
  Status ForEach(const std::function<Status(std::span<const float> rows)>& each);

 private:
  Status Spill();

  const std::string path_;
  const uint32_t dim_;
  const uint64_t memory_bytes_;
  int file_ = -1;
  uint64_t rows_ = 0;
  std::vector<float> buffer_;  // the rows that are not in the file
  RowSample sample_;
};

}  // namespace edo::engine
