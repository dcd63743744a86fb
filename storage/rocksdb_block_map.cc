#include "storage/rocksdb_block_map.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "storage/page_key.h"
#include "storage/rocksdb_block.h"
#include "storage/rocksdb_block_ring.h"
#include "storage/rocksdb_options.h"
#include "storage/size_page.h"

namespace edo::storage {
namespace {

constexpr uint64_t kMostBlockBytes = uint64_t{1} << 20;  // larger ones do not fit a reader's memory

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<char, FreeMemory>;

}  // namespace

const BlockFile* BlockMap::Find(uint64_t number) const {
  auto after = std::upper_bound(
      files_.begin(), files_.end(), number,
      [](uint64_t n, const std::unique_ptr<const BlockFile>& f) { return n < f->first; });
  if (after == files_.begin()) return nullptr;
  const BlockFile* const file = (--after)->get();
  return number - file->first < file->count ? file : nullptr;
}

std::shared_ptr<const BlockMap> BlockMaps::Of(uint64_t generation) {
  const auto find = [&]() -> std::shared_ptr<const BlockMap> {
    const auto found = maps_.find(generation);
    return found == maps_.end() ? nullptr : found->second;
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto map = find()) return map;
  }
  const std::lock_guard one_at_a_time(make_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (auto map = find()) return map;
  }
  const std::vector<ListedFile> files = FilesOf(generation);
  auto map = Make(generation, files);
  if (files.empty()) return map;  // not ingested yet, or dropped
  const std::lock_guard lock(mutex_);
  maps_[generation] = map;
  return map;
}

void BlockMaps::Forget(uint64_t generation) {
  const std::lock_guard no_making(make_mutex_);  // of a map of files that are gone
  listing_.erase(generation);
  const std::lock_guard lock(mutex_);
  maps_.erase(generation);
}

std::vector<BlockMaps::ListedFile> BlockMaps::FilesOf(uint64_t generation) {
  if (!listing_.contains(generation)) {
    listing_.clear();
    std::vector<rocksdb::LiveFileMetaData> live;
    db_->GetLiveFilesMetaData(&live);
    for (const auto& file : live) {
      if (file.column_family_name != kChunksFamily) continue;
      const uint64_t first = DecodePageId(file.smallestkey);
      const uint64_t last = DecodePageId(file.largestkey);
      listing_[GenerationOf(first)].push_back(
          {directory_ + "/" + file.relative_filename, NumberOf(first), NumberOf(last), file.size});
    }
  }
  const auto found = listing_.find(generation);
  if (found == listing_.end()) return {};
  std::vector<ListedFile> files = std::move(found->second);
  listing_.erase(found);  // the map is kept; if that is forgotten, the files are others
  std::sort(files.begin(), files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.first < b.first; });
  return files;
}

std::shared_ptr<const BlockMap> BlockMaps::Make(uint64_t generation,
                                                const std::vector<ListedFile>& files) {
  std::vector<std::unique_ptr<const BlockFile>> fitting;
  const Result<bool> has_sizes = HasSizes(generation);
  for (size_t i = 0; i < files.size(); ++i) {
    auto file = std::make_unique<BlockFile>();
    Status s;
    if ((i > 0 && files[i - 1].last >= files[i].first) ||
        (i + 1 < files.size() && files[i].last >= files[i + 1].first)) {
      s = Status::Corruption("another file has the same chunks");
    } else {
      s = has_sizes.status();
      if (s.ok() && *has_sizes) s = ReadSizes(files[i], generation, file.get());
      if (s.ok()) s = Fit(files[i], generation, file.get());
    }
    if (s.ok()) {
      fitting.push_back(std::move(file));
    } else if (!misfit_noted_) {
      misfit_noted_ = true;
      path_->Note("files read through RocksDB, the first " + files[i].path + ": " +
                  std::string(s.message()));
    }
  }
  return std::make_shared<BlockMap>(std::move(fitting));
}

Result<bool> BlockMaps::HasSizes(uint64_t generation) const {
  const uint64_t id = PageId(PageKind::kSizes, generation, 0);
  Status status;
  getter_->Get(PageKind::kSizes, std::span(&id, 1),
               [&](size_t, const Status& s, const PageView&) { status = s; });
  if (status.ok()) return true;
  if (status.code() == StatusCode::kNotFound) return false;
  return status.WithContext("size page 0");
}

// Sums the sizes of the file's chunks.
Status BlockMaps::ReadSizes(const ListedFile& listed, uint64_t generation, BlockFile* file) const {
  const uint64_t count = listed.last - listed.first + 1;
  // The least block holds a page of a header only; so `count` is proved before it sizes anything.
  if (listed.bytes > UINT32_MAX || count > listed.bytes / BareBlockBytes(kPageHeaderBytes)) {
    return Status::Unsupported("file of " + std::to_string(listed.bytes) + " bytes with " +
                               std::to_string(count) + " chunks");
  }
  file->starts.reserve(count + 1);
  file->starts.push_back(0);
  const uint64_t last_page = listed.last / kSizesPerPage;
  Status status;
  for (uint64_t page = listed.first / kSizesPerPage; page <= last_page && status.ok();) {
    std::array<uint64_t, PageGetter::kMost> ids;
    const uint64_t first_page = page;
    size_t pages = 0;
    while (page <= last_page && pages < ids.size()) {
      ids[pages++] = PageId(PageKind::kSizes, generation, page++);
    }
    getter_->Get(PageKind::kSizes, std::span(ids).first(pages),
                 [&](size_t i, const Status& read, const PageView& view) {
                   if (!status.ok()) return;
                   const uint64_t begin = (first_page + i) * kSizesPerPage;
                   status = read;
                   if (status.ok()) status = CheckSizes(view);
                   for (uint64_t n = std::max(begin, listed.first);
                        status.ok() && n <= std::min(begin + kSizesPerPage - 1, listed.last); ++n) {
                     if (n - begin >= view.count) {
                       status = Status::Corruption("no size of chunk " + std::to_string(n));
                       break;
                     }
                     const uint64_t bytes = BareBlockBytes(SizeEntry(view, n - begin));
                     const uint64_t end = file->starts.back() + bytes;
                     if (bytes > kMostBlockBytes || end > listed.bytes) {
                       status = Status::Corruption("chunk " + std::to_string(n) + " of " +
                                                   std::to_string(bytes) +
                                                   " bytes does not fit its file");
                       break;
                     }
                     file->starts.push_back(static_cast<uint32_t>(end));
                   }
                   if (!status.ok()) {
                     status = status.WithContext("size page " + std::to_string(first_page + i));
                   }
                 });
  }
  return status;
}

// Reads the first, the middle and the last chunk both ways and compares.
Status BlockMaps::Fit(const ListedFile& listed, uint64_t generation, BlockFile* file) const {
  file->first = listed.first;
  file->count = listed.last - listed.first + 1;
  const std::array<uint64_t, 3> samples = {0, (file->count - 1) / 2, file->count - 1};
  std::array<uint64_t, 3> ids;
  for (size_t i = 0; i < 3; ++i) {
    ids[i] = PageId(PageKind::kChunk, generation, listed.first + samples[i]);
  }
  Status status;
  getter_->Get(PageKind::kChunk, ids, [&](size_t i, const Status& s, const PageView& page) {
    if (!status.ok()) return;
    if (!s.ok()) {
      status = s.WithContext("chunk " + std::to_string(listed.first + samples[i]));
      return;
    }
    const std::string_view expected(page.payload.data() - kPageHeaderBytes,
                                    page.payload.size() + kPageHeaderBytes);
    const bool packed = !file->starts.empty();
    const uint64_t bytes = packed ? BareBlockBytes(expected.size()) : BlockBytes(expected.size());
    if (bytes > kMostBlockBytes) {
      status = Status::Unsupported("blocks of " + std::to_string(bytes) + " bytes");
      return;
    }
    if (i == 0) {
      // By now RocksDB has the file open; it is shared with us.
      if (const int error = files_->Open(listed.path, direct_, &file->file); error != 0) {
        status = Status::IoError(std::string("open: ") + std::strerror(error));
        return;
      }
      if (!file->file->direct()) ::posix_fadvise(file->file->fd(), 0, 0, POSIX_FADV_RANDOM);
      file->block_bytes = static_cast<uint32_t>(bytes);
    }
    if (i == 2) file->last_bytes = static_cast<uint32_t>(bytes);
    const BlockFile::Place place = file->PlaceOf(listed.first + samples[i]);
    if (packed && place.bytes != bytes) {
      status = Status::Corruption("chunk " + std::to_string(listed.first + samples[i]) + " takes " +
                                  std::to_string(bytes) + " bytes, its size page says " +
                                  std::to_string(place.bytes));
      return;
    }
    const uint64_t offset = place.offset / kBlockUnit * kBlockUnit;
    const uint64_t skipped = place.offset - offset;
    const uint64_t read_bytes = (skipped + bytes + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
    const AlignedMemory block(static_cast<char*>(std::aligned_alloc(kBlockUnit, read_bytes)));
    if (!block) {
      status = Status::IoError("no memory");
      return;
    }
    const int64_t got =
        PreadRest(file->file->fd(), offset, read_bytes, 0, file->file->direct(), block.get());
    if (got < 0) {
      status = Status::IoError(std::string("read: ") + std::strerror(static_cast<int>(-got)));
      return;
    }
    const auto found = PageInBlock(
        {block.get() + skipped, std::min<size_t>(bytes, got - std::min<int64_t>(got, skipped))},
        ids[i]);
    if (!found.ok()) {
      status = found.status().WithContext("chunk " + std::to_string(listed.first + samples[i]));
    } else if (*found != expected) {
      status = Status::Corruption("chunk " + std::to_string(listed.first + samples[i]) +
                                  " differs from RocksDB's");
    }
  });
  return status;
}

}  // namespace edo::storage
