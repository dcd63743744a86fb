// KeyDirectory: from keys to row numbers and back, for int64 and text tables, without holding the
// vocabulary in memory. A lookup reads one bucket of the index and, for text, one key page to
// compare the bytes; pages come through the RowStore, many in flight at once.
//
// A thin view of a RowStore and a generation; safe from many threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/table.h"
#include "storage/catalog.h"
#include "storage/row_store.h"

namespace edo::storage {

struct FindResult {
  std::vector<uint64_t> rows;         // (count) row number, or Table::kMissingRow
  std::vector<uint8_t> unread;        // (count) 1 where a page could not be read
  std::vector<ReadFailure> failures;  // one a page that could not be read
  uint64_t pages_read = 0;
};

class KeyDirectory {
 public:
  // `record` is copied; `store` must outlive the directory.
  KeyDirectory(const RowStore* store, const TableRecord& record);

  FindResult Find(std::span<const std::string_view> keys, const Deadline& deadline) const;
  FindResult Find(std::span<const int64_t> keys, const Deadline& deadline) const;

  // Keys of rows, in the order asked; rows must be < table rows.
  Status TextKeysOf(std::span<const uint64_t> rows, std::vector<std::string>* keys) const;
  Status IntKeysOf(std::span<const uint64_t> rows, std::vector<int64_t>* keys) const;

 private:
  // Reads the index buckets of all hashes; candidates[i] of key order.
  struct Candidate {
    uint64_t row;
    uint32_t key;
  };
  std::vector<Candidate> ReadBuckets(std::span<const uint64_t> hashes, const Deadline& deadline,
                                     FindResult* result) const;
  void CompareText(std::span<const std::string_view> keys, std::vector<Candidate> candidates,
                   const Deadline& deadline, FindResult* result) const;
  // Reads the key pages of rows[order[...]] and calls take(place in rows, page, slot).
  template <typename Page, typename Read, typename Take>
  Status ReadKeyPages(std::span<const uint64_t> rows, Read read, Take take) const;

  const RowStore* store_;
  const KeyKind kind_;
  const std::string table_;
  const uint64_t generation_;
  const uint64_t row_count_;
  const uint32_t keys_per_page_;
  const uint64_t buckets_;
};

}  // namespace edo::storage
