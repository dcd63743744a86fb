// Places of a batch grouped by the page that each needs, so that a page is read once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace edo::storage {

// Groups of places that need the same page.
struct PageGroups {
  std::vector<uint32_t> order;  // places, grouped by page
  std::vector<uint64_t> pages;  // distinct page numbers, ascending
  std::vector<uint32_t> begin;  // (pages + 1) first place of each group in `order`
};

inline PageGroups GroupByPage(std::span<const uint64_t> page_of) {
  PageGroups groups;
  groups.order.resize(page_of.size());
  std::iota(groups.order.begin(), groups.order.end(), 0u);
  std::sort(groups.order.begin(), groups.order.end(), [&](uint32_t a, uint32_t b) {
    return page_of[a] != page_of[b] ? page_of[a] < page_of[b] : a < b;
  });
  for (uint32_t i = 0; i < groups.order.size(); ++i) {
    const uint64_t page = page_of[groups.order[i]];
    if (groups.pages.empty() || groups.pages.back() != page) {
      groups.pages.push_back(page);
      groups.begin.push_back(i);
    }
  }
  groups.begin.push_back(static_cast<uint32_t>(groups.order.size()));
  return groups;
}

}  // namespace edo::storage
