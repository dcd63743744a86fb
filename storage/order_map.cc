#include "storage/order_map.h"

#include <algorithm>
#include <utility>

#include "storage/order_page.h"
#include "storage/page_groups.h"

namespace edo::storage {

OrderMap::OrderMap(const RowStore* store, const TableRecord& record)
    : store_(store),
      table_(record.info.name),
      generation_(record.info.generation),
      row_count_(record.info.rows),
      entries_per_page_(record.order_entries_per_page),
      pages_one_way_(OrderPagesOneWay(row_count_, entries_per_page_)) {}

uint64_t OrderMap::EntriesOf(uint64_t page_of_its_way) const {
  return std::min<uint64_t>(entries_per_page_, row_count_ - page_of_its_way * entries_per_page_);
}

template <typename Failed>
void OrderMap::ReadEntries(uint64_t first_page, std::span<const uint64_t> keys,
                           const Deadline& deadline, FindResult* result, Failed failed) const {
  std::vector<uint64_t> page_of(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) page_of[i] = first_page + keys[i] / entries_per_page_;
  const PageGroups groups = GroupByPage(page_of);
  store_->ReadPages(
      PageKind::kOrder, generation_, groups.pages, deadline,
      [&](size_t g, const Status& status, const PageView& page) {
        const uint64_t number = groups.pages[g];
        Status s = AsDamage(status);
        if (s.ok()) s = CheckOrder(page, EntriesOf(number - first_page));
        for (uint32_t i = groups.begin[g]; s.ok() && i < groups.begin[g + 1]; ++i) {
          const uint32_t at = groups.order[i];
          const uint64_t entry = OrderEntry(page, keys[at] % entries_per_page_);
          if (entry < row_count_) {
            result->rows[at] = entry;
          } else {
            s = Status::Corruption("row " + std::to_string(entry) + " of a table of " +
                                   std::to_string(row_count_) + " rows");
          }
        }
        if (s.ok()) {
          ++result->pages_read;
          return;
        }
        for (uint32_t i = groups.begin[g]; i < groups.begin[g + 1]; ++i) failed(groups.order[i]);
        result->failures.push_back(
            {s.WithContext("table '" + table_ + "': order page " + std::to_string(number)), 0, 0});
      });
}

FindResult OrderMap::RowsOf(std::span<const uint64_t> places, const Deadline& deadline) const {
  FindResult result;
  result.unread.assign(places.size(), 0);
  result.rows.assign(places.size(), Table::kMissingRow);
  if (entries_per_page_ == 0) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < row_count_) result.rows[i] = places[i];
    }
    return result;
  }
  // Places beyond the table have no page. Mostly there are none of them.
  const bool all_inside =
      std::all_of(places.begin(), places.end(), [&](uint64_t place) { return place < row_count_; });
  if (all_inside) {
    ReadEntries(0, places, deadline, &result, [&](uint32_t at) {
      result.rows[at] = Table::kMissingRow;
      result.unread[at] = 1;
    });
    return result;
  }
  std::vector<uint64_t> inside;
  std::vector<uint32_t> from;
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (places[i] >= row_count_) continue;
    inside.push_back(places[i]);
    from.push_back(i);
  }
  FindResult found = RowsOf(inside, deadline);
  for (size_t i = 0; i < from.size(); ++i) {
    result.rows[from[i]] = found.rows[i];
    result.unread[from[i]] = found.unread[i];
  }
  result.failures = std::move(found.failures);
  result.pages_read = found.pages_read;
  return result;
}

Status OrderMap::PlacesOf(std::span<const uint64_t> rows, std::vector<uint64_t>* places) const {
  if (entries_per_page_ == 0) {
    places->assign(rows.begin(), rows.end());
    return Status::Ok();
  }
  FindResult result;
  result.rows.assign(rows.size(), 0);
  ReadEntries(pages_one_way_, rows, std::nullopt, &result, [](uint32_t) {});
  *places = std::move(result.rows);
  return result.failures.empty() ? Status::Ok() : result.failures[0].status;
}

}  // namespace edo::storage
