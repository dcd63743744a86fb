// KeySource: the keys a verb was asked for, in batches: those on the command line, then those of
// the --keys-from file, one a line. A line ends at LF, which is not part of the key; every other
// byte is.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "edo/status.h"

namespace edo::tools {

class KeySource {
 public:
  // `path`: empty = no file, "-" = standard input.
  static Result<std::unique_ptr<KeySource>> Open(std::vector<std::string> keys,
                                                 const std::string& path);
  ~KeySource();
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;

  // Up to `most` keys; empty at the end.
  Result<std::vector<std::string>> Next(size_t most);
  // Where key i of the last batch stood: "FILE line 12"; empty for one of the command line.
  std::string PlaceOf(size_t i) const;

 private:
  explicit KeySource(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  std::vector<std::string> keys_;
  size_t next_ = 0;
  size_t given_ = 0;         // of the last batch, from the command line
  uint64_t lines_ = 0;       // read from the file
  uint64_t first_line_ = 0;  // of the last batch
  std::string path_;
  FILE* file_ = nullptr;
  char* line_ = nullptr;  // getline's buffer
  size_t line_bytes_ = 0;
};

}  // namespace edo::tools
