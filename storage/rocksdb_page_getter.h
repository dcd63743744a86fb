// PageGetter: pages through RocksDB's MultiGet, proved. The way to every page, and the truth about
// those that another way could not prove. Safe from many threads.
#pragma once

#include <rocksdb/db.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "storage/page.h"
#include "storage/row_store.h"

namespace edo::storage {

class PageGetter {
 public:
  // RocksDB splits a MultiGet into groups of 32 keys and waits for each; beyond a few hundred
  // pinned blocks a call, page faults of fresh heap cost more than the reads.
  static constexpr size_t kMost = 128;

  // All outlive it.
  PageGetter(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* chunks,
             rocksdb::ColumnFamilyHandle* keys, std::string directory)
      : db_(db), chunks_(chunks), keys_(keys), directory_(std::move(directory)) {}

  // At most kMost pages of one column family; `ids` ascend, repeats are allowed. The pages are
  // valid during the call of `fn`.
  void Get(PageKind kind, std::span<const uint64_t> ids, const PageFunction& fn) const;

  // Turns what the database gave for a page into what readers are promised.
  Status Prove(PageKind kind, uint64_t id, const rocksdb::Status& s, std::string_view bytes,
               PageView* view) const;
  // Path of the file that holds a page; empty when that is not known.
  std::string FileOf(PageKind kind, uint64_t id) const;
  rocksdb::ColumnFamilyHandle* family(PageKind kind) const {
    return kind == PageKind::kChunk ? chunks_ : keys_;
  }

 private:
  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const chunks_;
  rocksdb::ColumnFamilyHandle* const keys_;
  const std::string directory_;
};

}  // namespace edo::storage
