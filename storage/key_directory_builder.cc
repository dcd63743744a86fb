#include "storage/key_directory_builder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace edo::storage {
namespace {

Status SpillError(const std::string& what) {
  const int error = errno;
  const std::string message = "cannot " + what + " a spill file of keys: " + std::strerror(error);
  return error == ENOSPC ? Status::NoSpace(message) : Status::IoError(message);
}

bool ByHash(const IndexEntry& a, const IndexEntry& b) {
  return a.hash != b.hash ? a.hash < b.hash : a.row < b.row;
}

}  // namespace

KeyDirectoryBuilder::KeyDirectoryBuilder(KeyKind kind, BulkWriter* writer)
    : kind_(kind), writer_(writer) {}

KeyDirectoryBuilder::~KeyDirectoryBuilder() {
  for (std::FILE* file : partitions_) {
    if (file) std::fclose(file);
  }
}

Status KeyDirectoryBuilder::Add(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    pending_bytes_.append(key);
    pending_ends_.push_back(pending_bytes_.size());
    EDO_RETURN_IF_ERROR(AddEntry(HashKey(key)));
    if (pending_ends_.size() == kTextKeysPerPage) EDO_RETURN_IF_ERROR(FlushKeyPage());
  }
  return Status::Ok();
}

Status KeyDirectoryBuilder::Add(std::span<const int64_t> keys) {
  for (const int64_t key : keys) {
    pending_ints_.push_back(key);
    EDO_RETURN_IF_ERROR(AddEntry(HashKey(key)));
    if (pending_ints_.size() == kIntKeysPerPage) EDO_RETURN_IF_ERROR(FlushKeyPage());
  }
  return Status::Ok();
}

Status KeyDirectoryBuilder::AddEntry(uint64_t hash) {
  if (entries_.capacity() == 0) entries_.reserve(4096);
  entries_.push_back({hash, rows_++});
  return entries_.size() >= kSpillEntries ? Spill() : Status::Ok();
}

Status KeyDirectoryBuilder::FlushKeyPage() {
  StartPage(&page_);
  uint32_t count = 0;
  if (kind_ == KeyKind::kInt64) {
    count = static_cast<uint32_t>(pending_ints_.size());
    AppendIntKeys(pending_ints_, &page_);
  } else {
    count = static_cast<uint32_t>(pending_ends_.size());
    std::vector<std::string_view> keys;
    keys.reserve(count);
    size_t begin = 0;
    for (const size_t end : pending_ends_) {
      keys.push_back(std::string_view(pending_bytes_).substr(begin, end - begin));
      begin = end;
    }
    AppendTextKeys(keys, &page_);
  }
  if (count == 0) return Status::Ok();
  SealPage(next_page_, count, &page_);
  EDO_RETURN_IF_ERROR(writer_->Put(PageKind::kKeys, next_page_, page_));
  ++next_page_;
  pending_bytes_.clear();
  pending_ends_.clear();
  pending_ints_.clear();
  return Status::Ok();
}

Status KeyDirectoryBuilder::Spill() {
  partitions_.resize(size_t{1} << kPartitionBits);
  std::sort(entries_.begin(), entries_.end(), ByHash);
  for (size_t begin = 0; begin < entries_.size();) {
    const uint64_t partition = entries_[begin].hash >> (64 - kPartitionBits);
    size_t end = begin;
    while (end < entries_.size() && entries_[end].hash >> (64 - kPartitionBits) == partition) ++end;
    std::FILE*& file = partitions_[partition];
    if (!file) {
      const std::string path = writer_->temp_directory() + "/keys." + std::to_string(partition);
      file = std::fopen(path.c_str(), "w+be");
      if (!file) return SpillError("make");
      // Writes are a few thousand entries at once; 256 stdio buffers would only hold memory.
      std::setvbuf(file, nullptr, _IONBF, 0);
    }
    if (std::fwrite(&entries_[begin], sizeof(IndexEntry), end - begin, file) != end - begin) {
      return SpillError("write");
    }
    begin = end;
  }
  entries_.clear();
  return Status::Ok();
}

Status KeyDirectoryBuilder::LoadPartition(size_t partition) {
  entries_.clear();
  std::FILE* file = partitions_[partition];
  if (!file) return Status::Ok();
  const long bytes = std::ftell(file);
  if (bytes < 0 || std::fseek(file, 0, SEEK_SET) != 0) return SpillError("read");
  entries_.resize(static_cast<size_t>(bytes) / sizeof(IndexEntry));
  if (std::fread(entries_.data(), sizeof(IndexEntry), entries_.size(), file) != entries_.size()) {
    return SpillError("read");
  }
  std::fclose(std::exchange(partitions_[partition], nullptr));
  return Status::Ok();
}

Status KeyDirectoryBuilder::WriteBucket() {
  StartPage(&page_);
  AppendIndex(kind_, index_buckets(), bucket_entries_, &page_);
  SealPage(bucket_, static_cast<uint32_t>(bucket_entries_.size()), &page_);
  bucket_entries_.clear();
  return writer_->Put(PageKind::kIndex, bucket_++, page_);
}

Status KeyDirectoryBuilder::WriteIndexOf(std::span<const IndexEntry> sorted) {
  const uint64_t buckets = index_buckets();
  for (const IndexEntry& entry : sorted) {
    const uint64_t bucket = PlaceOf(entry.hash, buckets).bucket;
    while (bucket_ < bucket) EDO_RETURN_IF_ERROR(WriteBucket());
    bucket_entries_.push_back(entry);
  }
  return Status::Ok();
}

Status KeyDirectoryBuilder::NoteEqualHashes(std::span<const IndexEntry> sorted,
                                            std::vector<DuplicateRows>* out) {
  for (size_t begin = 0; begin + 1 < sorted.size();) {
    size_t end = begin + 1;
    while (end < sorted.size() && sorted[end].hash == sorted[begin].hash) ++end;
    if (end - begin > 1) EDO_RETURN_IF_ERROR(NoteGroup(sorted.subspan(begin, end - begin), out));
    begin = end;
  }
  return Status::Ok();
}

Status KeyDirectoryBuilder::NoteGroup(std::span<const IndexEntry> group,
                                      std::vector<DuplicateRows>* out) {
  // Int64 keys of equal hash are equal. Text keys all but certainly; only the bytes prove it.
  struct Known {
    std::string key;
    uint64_t row;
  };
  std::vector<Known> known;
  for (const IndexEntry& entry : group) {
    std::string key;
    if (kind_ == KeyKind::kText) {
      EDO_ASSIGN_OR_RETURN(key, ReadBackKey(entry.row));
    }
    const auto same =
        std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.key == key; });
    if (same == known.end()) {
      known.push_back({std::move(key), entry.row});
    } else {
      out->push_back({same->row, entry.row});
    }
  }
  return Status::Ok();
}

Status KeyDirectoryBuilder::Finish(std::vector<DuplicateRows>* duplicates) {
  duplicates->clear();
  EDO_RETURN_IF_ERROR(FlushKeyPage());
  const bool spilled = !partitions_.empty();
  if (spilled && !entries_.empty()) EDO_RETURN_IF_ERROR(Spill());
  const size_t pieces = spilled ? partitions_.size() : 1;
  for (size_t piece = 0; piece < pieces; ++piece) {
    if (spilled) EDO_RETURN_IF_ERROR(LoadPartition(piece));
    std::sort(entries_.begin(), entries_.end(), ByHash);
    EDO_RETURN_IF_ERROR(WriteIndexOf(entries_));
    EDO_RETURN_IF_ERROR(NoteEqualHashes(entries_, duplicates));
  }
  const uint64_t buckets = rows_ == 0 ? 0 : index_buckets();
  while (bucket_ < buckets) EDO_RETURN_IF_ERROR(WriteBucket());
  entries_ = {};
  std::sort(duplicates->begin(), duplicates->end(),
            [](const DuplicateRows& a, const DuplicateRows& b) { return a.second < b.second; });
  return Status::Ok();
}

Result<std::string> KeyDirectoryBuilder::ReadBackKey(uint64_t row) {
  const uint64_t number = row / KeysPerPage(kind_);
  const uint64_t slot = row % KeysPerPage(kind_);
  if (number != read_back_number_) {
    EDO_ASSIGN_OR_RETURN(read_back_page_, writer_->ReadBack(PageKind::kKeys, number));
    read_back_number_ = number;
  }
  EDO_ASSIGN_OR_RETURN(const PageView page, OpenPage(read_back_page_, number));
  if (kind_ == KeyKind::kInt64) {
    std::vector<int64_t> keys;
    EDO_RETURN_IF_ERROR(ReadIntKeys(page, &keys));
    return std::to_string(keys.at(slot));
  }
  std::vector<std::string_view> keys;
  EDO_RETURN_IF_ERROR(ReadTextKeys(page, &keys));
  return std::string(keys.at(slot));
}

}  // namespace edo::storage
