// LineReader: lines of an Input without a copy. A line ends at LF; a CR before it stays in the
// view (StripCr takes it off). The view dies with the next call. One thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "edo/status.h"
#include "storage/readers/input.h"

namespace edo::storage {

class LineReader {
 public:
  // A line longer than this is an error, so that a file without LF cannot fill the memory.
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  explicit LineReader(Input* input) : input_(input) {}

  // False at the end. A last line without LF is a line; an empty one after the last LF is not.
  Result<bool> Next(std::string_view* line);
  // Number of the line that Next gave last, from 1.
  uint64_t number() const { return number_; }
  // False when the line that Next gave last had no LF behind it.
  bool had_line_end() const { return had_line_end_; }

 private:
  Input* const input_;
  size_t consume_ = 0;  // bytes of the line given last
  uint64_t number_ = 0;
  bool had_line_end_ = true;
};

inline std::string_view StripCr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The first lines of what is left, without their line ends and without consuming them; at most
// `max_lines`, and a cut last line only when it is the only one. The views die with the next read.
Result<std::vector<std::string_view>> PeekLines(Input* input, size_t max_lines);

// An error when what was peeked has CR and no LF at all: the line ends of an old Mac, which would
// make one row of the whole file.
Status RefuseCrLineEnds(const Input& input);

// Skips a UTF-8 byte order mark at the very beginning of `input`.
Status SkipByteOrderMark(Input* input);

}  // namespace edo::storage
