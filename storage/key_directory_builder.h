// KeyDirectoryBuilder: writes the key directory of a table while its rows stream past, and finds
// keys that are there twice. Keys go to disk in row order at once; of each key only (hash, row) is
// kept, spilled to files of equal hash prefix when a table has more than a million keys, and sorted
// piece by piece at the end. Memory: about 20 MiB, and a 256th of 16 bytes a key beyond that.
// One thread at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/options.h"
#include "edo/status.h"
#include "storage/key_page.h"
#include "storage/row_store.h"

namespace edo::storage {

// Rows that hold the same key, first < second.
struct DuplicateRows {
  uint64_t first;
  uint64_t second;
};

class KeyDirectoryBuilder {
 public:
  // `writer` must outlive the builder.
  KeyDirectoryBuilder(KeyKind kind, BulkWriter* writer);
  ~KeyDirectoryBuilder();
  KeyDirectoryBuilder(const KeyDirectoryBuilder&) = delete;
  KeyDirectoryBuilder& operator=(const KeyDirectoryBuilder&) = delete;

  Status Add(std::span<const std::string_view> keys);
  Status Add(std::span<const int64_t> keys);

  // Writes what is left and the index. Pairs of rows with the same key come back in `duplicates`,
  // each later row once, with the first row of its key (sorted by `second`); when there are any,
  // the index is not one to ingest.
  Status Finish(std::vector<DuplicateRows>* duplicates);

  uint64_t rows() const { return rows_; }
  uint64_t key_pages() const { return next_page_; }
  uint64_t index_buckets() const { return IndexBuckets(kind_, rows_); }
  // The key of a row that was added, read back from the disk (for messages).
  Result<std::string> ReadBackKey(uint64_t row);

 private:
  static constexpr size_t kSpillEntries = 1 << 20;
  static constexpr int kPartitionBits = 8;

  Status FlushKeyPage();
  Status AddEntry(uint64_t hash);
  Status Spill();
  Status LoadPartition(size_t partition);
  Status WriteIndexOf(std::span<const IndexEntry> sorted);
  Status WriteBucket();
  Status NoteEqualHashes(std::span<const IndexEntry> sorted, std::vector<DuplicateRows>* out);
  Status NoteGroup(std::span<const IndexEntry> group, std::vector<DuplicateRows>* out);

  const KeyKind kind_;
  BulkWriter* const writer_;
  uint64_t rows_ = 0;
  uint64_t next_page_ = 0;

  // The key page being filled: text keys as bytes and ends, or int keys.
  std::string pending_bytes_;
  std::vector<size_t> pending_ends_;
  std::vector<int64_t> pending_ints_;
  std::string page_;

  std::vector<IndexEntry> entries_;     // not yet spilled
  std::vector<std::FILE*> partitions_;  // empty until the first spill
  uint64_t bucket_ = 0;                 // being collected
  std::vector<IndexEntry> bucket_entries_;

  // The page ReadBackKey read last: equal keys are often neighbours.
  uint64_t read_back_number_ = UINT64_MAX;
  std::string read_back_page_;
};

}  // namespace edo::storage
