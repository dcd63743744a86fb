#include "storage/learned_pages.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace edo::storage {

Status WriteLearned(std::span<const std::byte> learned, BulkWriter* files) {
  std::string page;
  uint64_t number = 0;
  for (size_t at = 0; at < learned.size(); at += kLearnedPageBytes) {
    const auto piece =
        learned.subspan(at, std::min<size_t>(kLearnedPageBytes, learned.size() - at));
    StartPage(&page);
    page.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    SealPage(number, static_cast<uint32_t>(piece.size()), &page);
    EDO_RETURN_IF_ERROR(files->Put(PageKind::kLearned, number++, page));
  }
  return Status::Ok();
}

Status CheckLearned(const PageView& page, uint64_t number, uint64_t bytes) {
  const uint64_t expected =
      std::min<uint64_t>(kLearnedPageBytes, bytes - number * kLearnedPageBytes);
  if (page.count == expected && page.payload.size() >= expected) return Status::Ok();
  return Status::Corruption("holds " + std::to_string(page.count) + " learned bytes in " +
                            std::to_string(page.payload.size()) + ", expected " +
                            std::to_string(expected));
}

Result<std::vector<std::byte>> ReadLearned(const RowStore& rows, uint64_t generation,
                                           uint64_t bytes) {
  std::vector<std::byte> learned(bytes);
  std::vector<uint64_t> numbers(LearnedPages(bytes));
  std::iota(numbers.begin(), numbers.end(), uint64_t{0});
  Status failed;
  rows.ReadPages(PageKind::kLearned, generation, numbers, {},
                 [&](size_t i, const Status& status, const PageView& page) {
                   Status s = AsDamage(status);
                   if (s.ok()) s = CheckLearned(page, i, bytes);
                   if (s.ok()) {
                     std::memcpy(learned.data() + i * kLearnedPageBytes, page.payload.data(),
                                 page.count);
                   } else if (failed.ok()) {
                     failed = s.WithContext(std::string(PageKindName(PageKind::kLearned)) + " " +
                                            std::to_string(i));
                   }
                 });
  if (!failed.ok()) return failed;
  return learned;
}

}  // namespace edo::storage
