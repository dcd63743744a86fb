// RocksdbBulkWriter: the pages of one generation into SST files beside the database, ready to be
// ingested by a move. Owns a temporary directory inside the store's directory and removes it.
// One thread at a time.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "storage/row_store.h"

namespace edo::storage {

class RingFileSystem;

class RocksdbBulkWriter : public BulkWriter {
 public:
  struct FileInfo {
    std::string path;
    std::string checksum;
    uint64_t bytes = 0;
    PageKind kind = PageKind::kChunk;  // the kind of the file's first page
    std::string first_key, last_key;
  };

  // `chunk_options` and `key_options`: the column families' options, with an Env over `files`.
  static Result<std::unique_ptr<RocksdbBulkWriter>> Make(std::string directory, uint64_t generation,
                                                         std::shared_ptr<RingFileSystem> files,
                                                         rocksdb::Options chunk_options,
                                                         rocksdb::Options key_options);
  ~RocksdbBulkWriter() override;

  void PackChunks() override;
  Status Put(PageKind kind, uint64_t number, std::string_view page) override;
  Result<std::string> ReadBack(PageKind kind, uint64_t number) override;
  uint64_t file_bytes(PageKind kind) const override;
  uint64_t file_count(PageKind kind) const override;
  const std::string& temp_directory() const override { return directory_; }
  Status Finish() override;

  uint64_t generation() const { return generation_; }
  const std::vector<FileInfo>& chunk_files() const { return families_[0].files; }
  // Of key directory, order and sizes; no two overlap.
  std::vector<FileInfo> key_files() const;

 private:
  struct Family {
    rocksdb::Options options;
    std::unique_ptr<rocksdb::SstFileWriter> writer;  // of the file being written, if any
    PageKind writer_kind = PageKind::kChunk;
    std::vector<FileInfo> files;
    std::vector<std::unique_ptr<rocksdb::SstFileReader>> readers;  // of files, made on demand
  };

  RocksdbBulkWriter(std::string directory, uint64_t generation,
                    std::shared_ptr<RingFileSystem> files, rocksdb::Options chunk_options,
                    rocksdb::Options key_options);
  // Chunks, keys, and sizes: those come while keys do, and stand behind them.
  static size_t Place(PageKind kind) {
    return kind == PageKind::kChunk ? 0 : kind == PageKind::kSizes ? 2 : 1;
  }
  Family& family(PageKind kind) { return families_[Place(kind)]; }
  Status OpenFile(Family* family, PageKind kind);
  Status CloseFile(Family* family);

  const std::string directory_;
  const uint64_t generation_;
  const std::shared_ptr<RingFileSystem> files_;
  std::array<Family, 3> families_;
  int next_file_ = 0;
};

// The temporary directories that writers make, for clean-up at open: "<store>/import.tmp.<N>".
inline constexpr char kBulkDirectoryPrefix[] = "import.tmp.";

}  // namespace edo::storage
