#include "storage/key_directory.h"

#include <algorithm>
#include <utility>

#include "storage/key_page.h"
#include "storage/page_groups.h"

namespace edo::storage {
KeyDirectory::KeyDirectory(const RowStore* store, const TableRecord& record)
    : store_(store),
      kind_(record.info.key_kind),
      table_(record.info.name),
      generation_(record.info.generation),
      row_count_(record.info.rows),
      keys_per_page_(record.keys_per_page),
      buckets_(record.index_buckets) {}

std::vector<KeyDirectory::Candidate> KeyDirectory::ReadBuckets(std::span<const uint64_t> hashes,
                                                               const Deadline& deadline,
                                                               FindResult* result) const {
  std::vector<Candidate> candidates;
  result->rows.assign(hashes.size(), Table::kMissingRow);
  result->unread.assign(hashes.size(), 0);
  if (row_count_ == 0) return candidates;
  std::vector<uint64_t> bucket_of(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i) bucket_of[i] = PlaceOf(hashes[i], buckets_).bucket;
  const PageGroups groups = GroupByPage(bucket_of);
  std::vector<uint64_t> rows;
  store_->ReadPages(
      PageKind::kIndex, generation_, groups.pages, deadline,
      [&](size_t g, const Status& status, const PageView& page) {
        Status s = AsDamage(status);
        for (uint32_t i = groups.begin[g]; s.ok() && i < groups.begin[g + 1]; ++i) {
          const uint32_t key = groups.order[i];
          rows.clear();
          s = FindInIndex(kind_, page, hashes[key], buckets_, &rows);
          for (const uint64_t row : rows) {
            if (row < row_count_) {
              candidates.push_back({row, key});
            } else {
              s = Status::Corruption("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(row_count_) + " rows");
            }
          }
        }
        if (s.ok()) {
          ++result->pages_read;
          return;
        }
        for (uint32_t i = groups.begin[g]; i < groups.begin[g + 1]; ++i) {
          result->unread[groups.order[i]] = 1;
        }
        result->failures.push_back({s.WithContext("table '" + table_ + "': key index page " +
                                                  std::to_string(groups.pages[g])),
                                    0, 0});
      });
  return candidates;
}

FindResult KeyDirectory::Find(std::span<const int64_t> keys, const Deadline& deadline) const {
  std::vector<uint64_t> hashes(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) hashes[i] = HashKey(keys[i]);
  FindResult result;
  for (const Candidate& c : ReadBuckets(hashes, deadline, &result)) {
    if (!result.unread[c.key]) result.rows[c.key] = c.row;  // equal hashes are equal keys
  }
  return result;
}

FindResult KeyDirectory::Find(std::span<const std::string_view> keys,
                              const Deadline& deadline) const {
  std::vector<uint64_t> hashes(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) hashes[i] = HashKey(keys[i]);
  FindResult result;
  std::vector<Candidate> candidates = ReadBuckets(hashes, deadline, &result);
  CompareText(keys, std::move(candidates), deadline, &result);
  return result;
}

void KeyDirectory::CompareText(std::span<const std::string_view> keys,
                               std::vector<Candidate> candidates, const Deadline& deadline,
                               FindResult* result) const {
  std::vector<uint64_t> page_of(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) page_of[i] = candidates[i].row / keys_per_page_;
  const PageGroups groups = GroupByPage(page_of);
  std::vector<std::string_view> page_keys;
  std::vector<std::pair<size_t, Status>> failed;  // groups
  store_->ReadPages(
      PageKind::kKeys, generation_, groups.pages, deadline,
      [&](size_t g, const Status& status, const PageView& page) {
        Status s = AsDamage(status);
        if (s.ok()) s = ReadTextKeys(page, &page_keys);
        for (uint32_t i = groups.begin[g]; s.ok() && i < groups.begin[g + 1]; ++i) {
          const Candidate& c = candidates[groups.order[i]];
          const uint64_t slot = c.row % keys_per_page_;
          if (slot >= page_keys.size()) {
            s = Status::Corruption("row " + std::to_string(c.row) + " is not in its key page");
          } else if (page_keys[slot] == keys[c.key]) {
            result->rows[c.key] = c.row;
          }
        }
        if (s.ok()) {
          ++result->pages_read;
          return;
        }
        for (uint32_t i = groups.begin[g]; i < groups.begin[g + 1]; ++i) {
          result->unread[candidates[groups.order[i]].key] = 1;
        }
        failed.emplace_back(g, std::move(s));
      });
  // A key whose other candidate matched is found, whatever an unreadable page might have held, and
  // a page that nobody is left waiting for is nobody's failure.
  for (size_t i = 0; i < keys.size(); ++i) {
    if (result->rows[i] != Table::kMissingRow) result->unread[i] = 0;
  }
  for (const auto& [g, status] : failed) {
    const auto lost = [&](uint32_t i) { return result->unread[candidates[i].key] != 0; };
    const auto first = groups.order.begin() + groups.begin[g];
    if (std::none_of(first, groups.order.begin() + groups.begin[g + 1], lost)) continue;
    result->failures.push_back(
        {status.WithContext("table '" + table_ + "': key page " + std::to_string(groups.pages[g])),
         0, 0});
  }
}

template <typename Page, typename Read, typename Take>
Status KeyDirectory::ReadKeyPages(std::span<const uint64_t> rows, Read read, Take take) const {
  std::vector<uint64_t> page_of(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) page_of[i] = rows[i] / keys_per_page_;
  const PageGroups groups = GroupByPage(page_of);
  Status first;
  Page page_keys;
  store_->ReadPages(PageKind::kKeys, generation_, groups.pages, std::nullopt,
                    [&](size_t g, const Status& status, const PageView& page) {
                      Status s = AsDamage(status);
                      if (s.ok()) s = read(page, &page_keys);
                      for (uint32_t i = groups.begin[g]; s.ok() && i < groups.begin[g + 1]; ++i) {
                        const uint32_t place = groups.order[i];
                        const uint64_t slot = rows[place] % keys_per_page_;
                        if (slot >= page_keys.size()) {
                          s = Status::Corruption("row " + std::to_string(rows[place]) +
                                                 " is not in its key page");
                        } else {
                          take(place, page_keys[slot]);
                        }
                      }
                      if (!s.ok() && first.ok()) {
                        first = s.WithContext("table '" + table_ + "': key page " +
                                              std::to_string(groups.pages[g]));
                      }
                    });
  return first;
}

Status KeyDirectory::TextKeysOf(std::span<const uint64_t> rows,
                                std::vector<std::string>* keys) const {
  keys->assign(rows.size(), {});
  return ReadKeyPages<std::vector<std::string_view>>(
      rows, ReadTextKeys, [&](uint32_t place, std::string_view key) { (*keys)[place] = key; });
}

Status KeyDirectory::IntKeysOf(std::span<const uint64_t> rows, std::vector<int64_t>* keys) const {
  keys->assign(rows.size(), 0);
  return ReadKeyPages<std::vector<int64_t>>(
      rows, ReadIntKeys, [&](uint32_t place, int64_t key) { (*keys)[place] = key; });
}

}  // namespace edo::storage
