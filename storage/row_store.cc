#include "storage/row_store.h"

#include <vector>

namespace edo::storage {

// In groups of neighbours in time: what a store can do that has only ReadPages.
void RowStore::ReadStream(PageStream* stream) const {
  constexpr size_t kGroup = 128;
  std::vector<PageRequest> group;
  std::vector<uint64_t> numbers;
  std::optional<PageRequest> next;  // taken from the stream, does not fit the group
  for (;;) {
    group.clear();
    numbers.clear();
    while (group.size() < kGroup) {
      PageRequest request;
      if (next) {
        request = *next;
        next.reset();
      } else if (!stream->Next(&request)) {
        break;
      }
      const bool fits =
          group.empty() ||
          (request.kind == group[0].kind && request.generation == group[0].generation &&
           request.deadline == group[0].deadline && request.number > group.back().number);
      if (!fits) {
        next = request;
        break;
      }
      group.push_back(request);
      numbers.push_back(request.number);
    }
    if (group.empty()) return;
    ReadPages(group[0].kind, group[0].generation, numbers, group[0].deadline,
              [&](size_t i, const Status& status, const PageView& page) {
                stream->Done(group[i], status, page);
              });
  }
}

}  // namespace edo::storage
