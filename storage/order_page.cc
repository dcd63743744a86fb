#include "storage/order_page.h"

#include "storage/little_endian.h"

namespace edo::storage {

constexpr uint64_t kEntryBytes = 5;

uint64_t OrderPagesOneWay(uint64_t rows, uint32_t entries_per_page) {
  return entries_per_page == 0 ? 0 : (rows + entries_per_page - 1) / entries_per_page;
}

uint64_t OrderPages(KeyKind kind, uint64_t rows, uint32_t entries_per_page) {
  return (kind == KeyKind::kDense ? 2 : 1) * OrderPagesOneWay(rows, entries_per_page);
}

void AppendOrder(std::span<const uint64_t> entries, std::string* page) {
  for (const uint64_t entry : entries) AppendLE40(entry, page);
}

Status CheckOrder(const PageView& page, uint64_t count) {
  if (page.count == count && page.payload.size() == count * kEntryBytes) return Status::Ok();
  return Status::Corruption("holds " + std::to_string(page.count) + " entries in " +
                            std::to_string(page.payload.size()) + " bytes, expected " +
                            std::to_string(count) + " entries of " + std::to_string(kEntryBytes) +
                            " bytes");
}

uint64_t OrderEntry(const PageView& page, uint64_t i) {
  return LoadLE40(page.payload.data() + i * kEntryBytes);
}

}  // namespace edo::storage
