#include "storage/size_page.h"

#include "storage/little_endian.h"

namespace edo::storage {

void AppendSizes(std::span<const uint32_t> sizes, std::string* page) {
  for (const uint32_t size : sizes) AppendLE<uint32_t>(size, page);
}

Status CheckSizes(const PageView& page) {
  if (!page.packed && page.count >= 1 && page.count <= kSizesPerPage &&
      page.payload.size() == uint64_t{page.count} * 4) {
    return Status::Ok();
  }
  return Status::Corruption("holds " + std::to_string(page.count) + " sizes in " +
                            std::to_string(page.payload.size()) +
                            " bytes, expected 1 to 1000 of 4 bytes");
}

uint32_t SizeEntry(const PageView& page, uint64_t i) {
  return LoadLE<uint32_t>(page.payload.data() + i * 4);
}

}  // namespace edo::storage
