// Pages that tests of the row store make from their number, and stores full of them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/chunk_packing.h"
#include "storage/page.h"
#include "storage/row_store.h"
#include "storage/size_page.h"
#include "tests/support/test_util.h"

namespace edo::storage {

inline std::string MakePage(uint64_t number, std::string_view payload) {
  std::string page;
  StartPage(&page);
  page.append(payload);
  SealPage(number, 1, &page);
  return page;
}

// Bytes of one page on disk: one block of 4096.
inline std::string Payload(uint64_t number) {
  return std::to_string(number) + std::string(3900, static_cast<char>('a' + number % 26));
}

// Pages 0 .. pages - 1 of every kind, page n with the payload made from n + generation.
inline void WriteGeneration(
    RowStore* store, uint64_t generation, uint64_t pages,
    const std::function<std::string(uint64_t)>& payload = [](uint64_t n) { return Payload(n); }) {
  auto writer = store->NewBulkWriter(generation);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (const PageKind kind : {PageKind::kChunk, PageKind::kKeys, PageKind::kIndex}) {
    for (uint64_t n = 0; n < pages; ++n) {
      EDO_ASSERT_OK((*writer)->Put(kind, n, MakePage(n, payload(n + generation))));
    }
  }
  EDO_ASSERT_OK((*writer)->Finish());
  EDO_ASSERT_OK(store->Ingest(writer->get()));
}

// Pages 0 .. pages - 1, chunks compressed where they shrink, and size pages; `size(n, bytes)` may
// falsify what those say.
inline void WritePackedGeneration(
    RowStore* store, uint64_t generation, uint64_t pages,
    const std::function<std::string(uint64_t)>& payload,
    const std::function<uint32_t(uint64_t, uint32_t)>& size = [](uint64_t, uint32_t bytes) {
      return bytes;
    }) {
  auto writer = store->NewBulkWriter(generation);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  (*writer)->PackChunks();
  ChunkPacker packer;
  std::vector<uint32_t> sizes;
  for (uint64_t n = 0; n < pages; ++n) {
    std::string page;
    StartPage(&page);
    const std::string codes = payload(n + generation);
    const bool packed = packer.Pack(codes, 1, {}, &page);
    if (!packed) page += codes;
    SealPage(n, 1, &page, packed);
    EDO_ASSERT_OK((*writer)->Put(PageKind::kChunk, n, page));
    sizes.push_back(size(n, static_cast<uint32_t>(page.size())));
  }
  for (const PageKind kind : {PageKind::kKeys, PageKind::kIndex}) {
    for (uint64_t n = 0; n < pages; ++n) {
      EDO_ASSERT_OK((*writer)->Put(kind, n, MakePage(n, payload(n + generation))));
    }
  }
  for (uint64_t p = 0; p < SizePages(pages); ++p) {
    std::string page;
    StartPage(&page);
    const auto some = std::span(sizes).subspan(
        p * kSizesPerPage, std::min<size_t>(kSizesPerPage, pages - p * kSizesPerPage));
    AppendSizes(some, &page);
    SealPage(p, static_cast<uint32_t>(some.size()), &page);
    EDO_ASSERT_OK((*writer)->Put(PageKind::kSizes, p, page));
  }
  EDO_ASSERT_OK((*writer)->Finish());
  EDO_ASSERT_OK(store->Ingest(writer->get()));
}

// Bytes that shrink to anything between a few and all of their number.
inline std::string HalfRandom(uint64_t number) {
  std::string bytes(100 + number * 7919 % 9000, 'z');
  uint64_t x = number * 0x9e3779b97f4a7c15u + 1;
  const size_t random = bytes.size() * (number % 5) / 4;
  for (size_t i = 0; i < random; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    bytes[i] = static_cast<char>(x);
  }
  return bytes;
}

// Reads `numbers` and gives each one's payload, or its Status code as text.
inline std::map<uint64_t, std::string> Read(const RowStore& store, PageKind kind,
                                            uint64_t generation,
                                            const std::vector<uint64_t>& numbers,
                                            const Deadline& deadline = std::nullopt) {
  std::map<uint64_t, std::string> found;
  store.ReadPages(kind, generation, numbers, deadline,
                  [&](size_t i, const Status& s, const PageView& page) {
                    EXPECT_FALSE(found.contains(numbers[i])) << "a page arrives once";
                    found[numbers[i]] =
                        s.ok() ? std::string(page.payload) : std::string(StatusCodeName(s.code()));
                  });
  return found;
}

inline std::vector<uint64_t> Numbers(uint64_t count) {
  std::vector<uint64_t> numbers(count);
  for (uint64_t n = 0; n < count; ++n) numbers[n] = n;
  return numbers;
}

inline Stats StatsOf(const RowStore& store) {
  Stats stats;
  store.AddStats(&stats);
  return stats;
}

}  // namespace edo::storage
