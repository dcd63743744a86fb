// KeyUses: the file of an order, line by line, as row numbers of a table that can be read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edo/row_order.h"
#include "storage/catalog.h"
#include "storage/codec.h"
#include "storage/key_directory.h"
#include "storage/order_map.h"
#include "storage/readers/order_file.h"
#include "storage/row_store.h"

namespace edo::engine {

// Rows of one generation that can be read: of a table, or of one that is being made.
struct RowSource {
  const storage::RowStore* rows = nullptr;
  const storage::TableRecord* record = nullptr;
  const storage::Codec* codec = nullptr;
};

// Called now and then; an error ends the work.
using OrderStep = std::function<Status()>;

class KeyUses {
 public:
  // Both must outlive it. The file is opened by the first Next.
  KeyUses(const RowOrder& order, const RowSource& source);

  // The next line that is not blank, or false at the end.
  Result<bool> Next();

  uint64_t line() const { return report_.lines; }       // lines so far
  uint64_t line_number() const { return at().number; }  // in the file, from 1
  uint64_t count() const { return at().count; }         // of a file of counts
  // Rows that the line's keys name, each once, ascending; keys that the table lacks are left out.
  std::span<const uint64_t> rows() const { return rows_; }
  // The line's first key as a message shows it.
  std::string first_key() const { return lines_.NameOf(first_key_); }
  // The number of the first line whose first key is this line's first key.
  Result<uint64_t> FirstLineOfKey() const;
  const OrderReport& report() const { return report_; }  // of the lines so far

 private:
  const storage::KeyLines::Line& at() const { return lines_.lines[next_line_ - 1]; }
  Status FindRows();

  const RowOrder& order_;
  const RowSource source_;
  const storage::KeyDirectory keys_;
  const storage::OrderMap places_;
  std::unique_ptr<storage::OrderFileReader> reader_;
  storage::KeyLines lines_;
  std::vector<uint64_t> found_;  // row of each key of lines_
  size_t next_line_ = 0;         // in lines_
  size_t first_key_ = 0;         // of the present line
  std::vector<uint64_t> rows_;
  OrderReport report_;
};

// Reads the whole file, which proves that its lines are what they must be. Lines that are not
// blank.
Result<uint64_t> CountLines(const RowOrder& order, KeyKind keys, const OrderStep& step);

}  // namespace edo::engine
