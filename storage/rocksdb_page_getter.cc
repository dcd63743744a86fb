#include "storage/rocksdb_page_getter.h"

#include <array>
#include <cassert>
#include <vector>

#include "storage/page_key.h"
#include "storage/rocksdb_status.h"

namespace edo::storage {

std::string PageGetter::FileOf(PageKind kind, uint64_t id) const {
  const PageKeyBytes key = EncodePageId(id);
  const std::string_view wanted(key.data(), key.size());
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  for (const auto& file : files) {
    if (file.column_family_name == family(kind)->GetName() && file.smallestkey <= wanted &&
        wanted <= file.largestkey) {
      return directory_ + "/" + file.relative_filename;
    }
  }
  return {};
}

Status PageGetter::Prove(PageKind kind, uint64_t id, const rocksdb::Status& s,
                         std::string_view bytes, PageView* view) const {
  if (s.IsNotFound()) return Status::NotFound("not in the store");
  if (!s.ok()) return FromRocksdb(s, "");
  Result<PageView> page = OpenPage(bytes, NumberOf(id));
  if (!page.ok()) return page.status().WithContext(FileOf(kind, id));
  *view = *page;
  return Status::Ok();
}

void PageGetter::Get(PageKind kind, std::span<const uint64_t> ids, const PageFunction& fn) const {
  assert(ids.size() <= kMost);
  std::array<PageKeyBytes, kMost> keys;
  std::array<rocksdb::Slice, kMost> slices;
  std::array<rocksdb::PinnableSlice, kMost> values;
  std::array<rocksdb::Status, kMost> statuses;
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = kind != PageKind::kSizes;  // read once; keys need the cache
  for (size_t i = 0; i < ids.size(); ++i) {
    keys[i] = EncodePageId(ids[i]);
    slices[i] = rocksdb::Slice(keys[i].data(), keys[i].size());
  }
  db_->MultiGet(options, family(kind), ids.size(), slices.data(), values.data(), statuses.data(),
                /*sorted_input=*/true);
  for (size_t i = 0; i < ids.size(); ++i) {
    PageView view;
    const Status status =
        Prove(kind, ids[i], statuses[i], {values[i].data(), values[i].size()}, &view);
    fn(i, status, view);
  }
}

}  // namespace edo::storage
