// Keys of pages in RocksDB: 8 bytes, big-endian, generation << 40 | number, so that the pages of a
// generation stand together and in order. Chunks live in column family "chunks"; all other pages
// share column family "keys": the index behind the key pages (bit 39 of the number), the order
// pages behind the index (bits 39 and 38), learned pages behind those (bits 39 to 37), size pages
// last (bits 39 to 36).
// docs/format.md, "Column families".
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/page.h"

namespace edo::storage {

inline constexpr int kPageNumberBits = 40;
inline constexpr uint64_t kIndexBit = uint64_t{1} << 39;
inline constexpr uint64_t kOrderBit = uint64_t{1} << 38;    // only beside kIndexBit
inline constexpr uint64_t kLearnedBit = uint64_t{1} << 37;  // only beside both
inline constexpr uint64_t kSizesBits = uint64_t{3} << 36;   // only beside kIndexBit and kOrderBit
inline constexpr uint64_t kMaxPageNumber = kIndexBit - 1;

using PageKeyBytes = std::array<char, 8>;

inline uint64_t PageId(PageKind kind, uint64_t generation, uint64_t number) {
  const uint64_t part = kind == PageKind::kIndex     ? kIndexBit
                        : kind == PageKind::kOrder   ? kIndexBit | kOrderBit
                        : kind == PageKind::kLearned ? kIndexBit | kOrderBit | kLearnedBit
                        : kind == PageKind::kSizes   ? kIndexBit | kOrderBit | kSizesBits
                                                     : 0;
  return generation << kPageNumberBits | part | number;
}
inline PageKeyBytes EncodePageId(uint64_t id) {
  const uint64_t big_endian = __builtin_bswap64(id);
  return std::bit_cast<PageKeyBytes>(big_endian);
}
inline PageKeyBytes EncodePageKey(PageKind kind, uint64_t generation, uint64_t number) {
  return EncodePageId(PageId(kind, generation, number));
}
inline uint64_t DecodePageId(std::string_view key) {
  uint64_t big_endian = 0;
  if (key.size() == 8) std::memcpy(&big_endian, key.data(), 8);
  return __builtin_bswap64(big_endian);
}
inline uint64_t GenerationOf(uint64_t page_id) { return page_id >> kPageNumberBits; }
// Index buckets, order pages and those behind them stay far below 2^36.
inline uint64_t NumberOf(uint64_t page_id) {
  if ((page_id & kIndexBit) == 0) return page_id & (kIndexBit - 1);
  return page_id & ((page_id & kOrderBit) != 0 ? (uint64_t{1} << 36) - 1 : kOrderBit - 1);
}

}  // namespace edo::storage
