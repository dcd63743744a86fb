// OrderFileReader: the file of a RowOrder (edo/row_order.h): counts, or a trace of batches.
// Streams; checks lines, numbers and keys as the table's kind has them, and names file, line, found
// and expected. Which keys the table holds is not its business. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edo/row_order.h"
#include "edo/table.h"
#include "storage/readers/input.h"
#include "storage/readers/line_reader.h"

namespace edo::storage {

// Some thousand keys, line by line.
struct KeyLines {
  std::vector<int64_t> int_keys;  // of dense and int64 tables
  std::string key_bytes;          // text keys, one after the other
  std::vector<size_t> key_ends;   // (text keys) end of each in key_bytes

  struct Line {
    uint64_t number = 0;  // in the file, from 1
    size_t end = 0;       // one past its last key
    uint64_t count = 0;   // in a file of counts
  };
  std::vector<Line> lines;

  size_t key_count() const { return int_keys.size() + key_ends.size(); }
  std::vector<std::string_view> TextKeys() const;
  // Key i as a message shows it.
  std::string NameOf(size_t i) const;
};

class OrderFileReader {
 public:
  // `kind`: kTrace reads batches, anything else counts. kNotFound; kInvalidArgument for what is no
  // regular file, as the file is read more than once.
  static Result<std::unique_ptr<OrderFileReader>> Open(const std::string& path, OrderKind kind,
                                                       KeyKind keys);
  // For tests and fuzzers; the caller keeps `bytes` alive.
  static Result<std::unique_ptr<OrderFileReader>> OnBytes(std::string_view bytes, OrderKind kind,
                                                          KeyKind keys);

  // Clears and fills `lines`; at least one line, or false at the end.
  Result<bool> Next(KeyLines* lines);
  const std::string& name() const { return input_->name(); }

 private:
  OrderFileReader(std::unique_ptr<Input> input, bool trace, KeyKind keys)
      : input_(std::move(input)), lines_(input_.get()), trace_(trace), keys_(keys) {}
  static Result<std::unique_ptr<OrderFileReader>> On(std::unique_ptr<Input> input, OrderKind kind,
                                                     KeyKind keys);
  Status AddPlain(std::string_view line, KeyLines* to) const;
  Status AddCount(std::string_view line, KeyLines* to) const;
  Status AddJson(std::string_view line, KeyLines* to) const;
  Status AddKey(std::string_view text, KeyLines* to) const;
  Status Bad(std::string_view found, std::string_view expected) const;

  const std::unique_ptr<Input> input_;
  LineReader lines_;
  const bool trace_;
  const KeyKind keys_;
  bool started_ = false;
  bool json_ = false;  // every line is a JSON array, because the first one is
};

}  // namespace edo::storage
