#include "storage/rocksdb_bulk_writer.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/page_key.h"
#include "storage/rocksdb_file_system.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"

namespace edo::storage {

namespace fs = std::filesystem;

RocksdbBulkWriter::RocksdbBulkWriter(std::string directory, uint64_t generation,
                                     std::shared_ptr<RingFileSystem> files,
                                     rocksdb::Options chunk_options, rocksdb::Options key_options)
    : directory_(std::move(directory)), generation_(generation), files_(std::move(files)) {
  families_[0].options = std::move(chunk_options);
  families_[1].options = key_options;
  families_[2].options = std::move(key_options);
}

Result<std::unique_ptr<RocksdbBulkWriter>> RocksdbBulkWriter::Make(
    std::string directory, uint64_t generation, std::shared_ptr<RingFileSystem> files,
    rocksdb::Options chunk_options, rocksdb::Options key_options) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Status(
        error == std::errc::no_space_on_device ? StatusCode::kNoSpace : StatusCode::kIoError,
        "cannot make directory " + directory + ": " + error.message());
  }
  return std::unique_ptr<RocksdbBulkWriter>(
      new RocksdbBulkWriter(std::move(directory), generation, std::move(files),
                            std::move(chunk_options), std::move(key_options)));
}

RocksdbBulkWriter::~RocksdbBulkWriter() {
  for (Family& f : families_) {
    f.writer.reset();
    f.readers.clear();
  }
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

Status RocksdbBulkWriter::OpenFile(Family* family, PageKind kind) {
  FileInfo info;
  info.path = directory_ + "/" + std::to_string(next_file_++) + ".sst";
  info.kind = kind;
  // The file's pages stay in the page cache: a table just imported is read next.
  family->writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(family->options),
                                                            family->options, nullptr,
                                                            /*invalidate_page_cache=*/false);
  family->writer_kind = kind;
  family->files.push_back(std::move(info));
  return FromRocksdb(family->writer->Open(family->files.back().path),
                     "cannot make " + family->files.back().path);
}

Status RocksdbBulkWriter::CloseFile(Family* family) {
  if (!family->writer) return Status::Ok();
  FileInfo& info = family->files.back();
  rocksdb::ExternalSstFileInfo written;
  const rocksdb::Status s = family->writer->Finish(&written);
  family->writer.reset();
  EDO_RETURN_IF_ERROR(FromRocksdb(s, "cannot finish " + info.path));
  info.bytes = written.file_size;
  info.checksum = files_->TakeFileChecksum(info.path);
  if (info.checksum.empty()) return Status::IoError("no checksum was computed of " + info.path);
  info.first_key = written.smallest_key;
  info.last_key = written.largest_key;
  return Status::Ok();
}

void RocksdbBulkWriter::PackChunks() {
  families_[0].options.table_factory = PackedChunksOptions().table_factory;
}

Status RocksdbBulkWriter::Put(PageKind kind, uint64_t number, std::string_view page) {
  if (number > kMaxPageNumber) {
    return Status::InvalidArgument("page number " + std::to_string(number) + " is over the limit");
  }
  Family& f = family(kind);
  if (f.writer && f.writer->FileSize() >= kSstFileBytes) EDO_RETURN_IF_ERROR(CloseFile(&f));
  if (!f.writer) EDO_RETURN_IF_ERROR(OpenFile(&f, kind));
  const PageKeyBytes key = EncodePageKey(kind, generation_, number);
  return FromRocksdb(f.writer->Put(rocksdb::Slice(key.data(), key.size()),
                                   rocksdb::Slice(page.data(), page.size())),
                     "cannot write " + f.files.back().path);
}

Result<std::string> RocksdbBulkWriter::ReadBack(PageKind kind, uint64_t number) {
  Family& f = family(kind);
  EDO_RETURN_IF_ERROR(CloseFile(&f));
  const PageKeyBytes bytes = EncodePageKey(kind, generation_, number);
  const rocksdb::Slice key(bytes.data(), bytes.size());
  for (size_t i = 0; i < f.files.size(); ++i) {
    if (key.compare(f.files[i].first_key) < 0 || key.compare(f.files[i].last_key) > 0) continue;
    if (f.readers.size() < f.files.size()) f.readers.resize(f.files.size());
    if (!f.readers[i]) {
      f.readers[i] = std::make_unique<rocksdb::SstFileReader>(f.options);
      EDO_RETURN_IF_ERROR(
          FromRocksdb(f.readers[i]->Open(f.files[i].path), "cannot read back " + f.files[i].path));
    }
    const std::unique_ptr<rocksdb::Iterator> it(f.readers[i]->NewIterator(rocksdb::ReadOptions()));
    it->Seek(key);
    EDO_RETURN_IF_ERROR(FromRocksdb(it->status(), "cannot read back " + f.files[i].path));
    if (it->Valid() && it->key() == key) return it->value().ToString();
  }
  return Status::Corruption("page " + std::to_string(number) + " just written is not there");
}

uint64_t RocksdbBulkWriter::file_bytes(PageKind kind) const {
  uint64_t bytes = 0;
  for (const Family& f : families_) {
    if ((&f == families_.data()) != (kind == PageKind::kChunk)) continue;
    if (f.writer) bytes += f.writer->FileSize();
    for (const FileInfo& info : f.files) bytes += info.bytes;
  }
  return bytes;
}

uint64_t RocksdbBulkWriter::file_count(PageKind kind) const {
  if (kind == PageKind::kChunk) return families_[0].files.size();
  return families_[1].files.size() + families_[2].files.size();
}

std::vector<RocksdbBulkWriter::FileInfo> RocksdbBulkWriter::key_files() const {
  std::vector<FileInfo> files = families_[1].files;
  files.insert(files.end(), families_[2].files.begin(), families_[2].files.end());
  return files;
}

Status RocksdbBulkWriter::Finish() {
  for (Family& f : families_) EDO_RETURN_IF_ERROR(CloseFile(&f));
  return Status::Ok();
}

}  // namespace edo::storage
