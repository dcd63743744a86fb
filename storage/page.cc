#include "storage/page.h"

#include "storage/little_endian.h"
#include "storage/page_checksum.h"

namespace edo::storage {
namespace {

constexpr uint32_t kPackedBit = 1u << 31;  // ON DISK, in the count

// Low 32 bits of XXH3-64 over everything behind the checksum itself.
uint32_t Checksum(std::string_view page) {
  return static_cast<uint32_t>(PageHash(page.data() + 4, page.size() - 4));
}

}  // namespace

std::string_view PageKindName(PageKind kind) {
  switch (kind) {
    case PageKind::kChunk:
      return "chunk";
    case PageKind::kKeys:
      return "key page";
    case PageKind::kIndex:
      return "key index";
    case PageKind::kLearned:
      return "learned page";
    case PageKind::kOrder:
      return "order page";
    case PageKind::kSizes:
      return "size page";
  }
  return "page";
}

void SealPage(uint64_t number, uint32_t count, std::string* page, bool packed) {
  StoreLE<uint32_t>(packed ? count | kPackedBit : count, page->data() + 4);
  StoreLE<uint64_t>(number, page->data() + 8);
  StoreLE<uint32_t>(Checksum(*page), page->data());
}

Result<PageView> OpenPage(std::string_view page, uint64_t number) {
  if (page.size() < kPageHeaderBytes) {
    return Status::Corruption("page of " + std::to_string(page.size()) +
                              " bytes is shorter than its header of 16");
  }
  const uint32_t stored = LoadLE<uint32_t>(page.data());
  const uint32_t computed = Checksum(page);
  if (stored != computed) {
    return Status::Corruption("checksum stored " + std::to_string(stored) + ", computed " +
                              std::to_string(computed));
  }
  const uint64_t found = LoadLE<uint64_t>(page.data() + 8);
  if (found != number) {
    return Status::Corruption("page number found " + std::to_string(found) + ", expected " +
                              std::to_string(number));
  }
  const uint32_t count = LoadLE<uint32_t>(page.data() + 4);
  return PageView{count & ~kPackedBit, page.substr(kPageHeaderBytes), (count & kPackedBit) != 0,
                  static_cast<uint32_t>(page.size())};
}

}  // namespace edo::storage
