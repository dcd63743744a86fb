// BlockMap: where the chunks of one generation lie in its files. In a file that was written in one
// go, one chunk a block, block i lies at i x (bytes of a block), so that the place of a chunk is
// computed and RocksDB's index is not asked. Compressed chunks lie one behind the other: there a
// place is a sum of sizes, which size pages hold (size_page.h), 4 bytes of memory a chunk.
// BlockMaps makes the map of a generation when it is first read and checks it against what RocksDB
// gives; files that do not fit are not in it.
//
// A map holds its files open, and so outlives the drop of its generation while it is in use.
// BlockMaps is safe from many threads; a map does not change.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/rocksdb_page_getter.h"
#include "storage/rocksdb_read_path.h"

namespace edo::storage {

struct BlockFile {
  struct Place {
    uint64_t offset = 0;
    uint32_t bytes = 0;  // of the block
  };
  // Of chunk `number`, which the file holds.
  Place PlaceOf(uint64_t number) const {
    const uint64_t i = number - first;
    if (!starts.empty()) return {starts[i], starts[i + 1] - starts[i]};
    return {i * block_bytes, i + 1 == count ? last_bytes : block_bytes};
  }

  uint64_t first = 0;  // number of its first chunk
  uint64_t count = 0;
  uint32_t block_bytes = 0;  // of every chunk but the last
  uint32_t last_bytes = 0;
  // Of compressed chunks, in place of the two above: where each begins, and the end of the last.
  std::vector<uint32_t> starts;
  std::shared_ptr<const OpenFile> file;
  // Pages that did not prove here although RocksDB had them right; after a few, the file is left to
  // RocksDB.
  mutable std::atomic<uint32_t> wrong{0};
};

class BlockMap {
 public:
  explicit BlockMap(std::vector<std::unique_ptr<const BlockFile>> files)
      : files_(std::move(files)) {}
  // The file that holds the chunk; null: ask RocksDB.
  const BlockFile* Find(uint64_t number) const;
  size_t size() const { return files_.size(); }

 private:
  std::vector<std::unique_ptr<const BlockFile>> files_;  // by first
};

class BlockMaps {
 public:
  // All but the shared parts outlive it. `direct`: files are read by O_DIRECT.
  BlockMaps(rocksdb::DB* db, const PageGetter* getter, std::string directory, bool direct,
            std::shared_ptr<OpenFiles> files, std::shared_ptr<ReadPath> path)
      : db_(db),
        getter_(getter),
        directory_(std::move(directory)),
        direct_(direct),
        files_(std::move(files)),
        path_(std::move(path)) {}

  std::shared_ptr<const BlockMap> Of(uint64_t generation);
  // The files of the generation are no longer what they were. To be called when the change is done.
  void Forget(uint64_t generation);

 private:
  struct ListedFile {
    std::string path;
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t bytes = 0;
  };
  std::vector<ListedFile> FilesOf(uint64_t generation);
  std::shared_ptr<const BlockMap> Make(uint64_t generation, const std::vector<ListedFile>& files);
  // Whether the chunks of the generation are compressed; then it has size pages.
  Result<bool> HasSizes(uint64_t generation) const;
  Status ReadSizes(const ListedFile& listed, uint64_t generation, BlockFile* file) const;
  Status Fit(const ListedFile& listed, uint64_t generation, BlockFile* file) const;

  rocksdb::DB* const db_;
  const PageGetter* const getter_;
  const std::string directory_;
  const bool direct_;
  const std::shared_ptr<OpenFiles> files_;
  const std::shared_ptr<ReadPath> path_;

  std::mutex make_mutex_;  // one map is made at a time; taken before mutex_
  // Chunk files by generation, as they were listed last: a listing for each of a thousand tables
  // would take longer than reading them. Guarded by make_mutex_.
  std::map<uint64_t, std::vector<ListedFile>> listing_;
  bool misfit_noted_ = false;  // guarded by make_mutex_

  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const BlockMap>> maps_;  // guarded by mutex_
};

}  // namespace edo::storage
