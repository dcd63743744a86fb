// Bytes of key pages and of the key index (docs/format.md, "Key directory"). A key page holds
// kKeysPerPage keys in row order; a bucket of the index holds the keys whose hash falls into it,
// sorted by hash, with their row numbers. Pure functions over bytes; no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/options.h"
#include "edo/status.h"
#include "storage/page.h"

namespace edo::storage {

inline constexpr uint32_t kTextKeysPerPage = 128;
inline constexpr uint32_t kIntKeysPerPage = 500;
inline constexpr uint64_t kTextEntriesPerBucket = 560;  // on average; 7 bytes each
inline constexpr uint64_t kIntEntriesPerBucket = 300;   // on average; 13 bytes each

uint32_t KeysPerPage(KeyKind kind);
uint64_t IndexBuckets(KeyKind kind, uint64_t rows);

// Text: XXH3-64 of the bytes. Int64: an invertible mix (the finaliser of SplitMix64), so that equal
// hashes mean equal keys.
uint64_t HashKey(std::string_view key);
uint64_t HashKey(int64_t key);

// Where a hash belongs: hash * buckets, a 128-bit product. Its upper half is the bucket; the top
// 16 bits of its lower half are the fingerprint that text buckets store. Both grow with the hash,
// so entries sorted by hash are sorted by bucket and fingerprint.
struct IndexPlace {
  uint64_t bucket;
  uint16_t fingerprint;
};
inline IndexPlace PlaceOf(uint64_t hash, uint64_t buckets) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash) * buckets;
  return {static_cast<uint64_t>(product >> 64),
          static_cast<uint16_t>(static_cast<uint64_t>(product) >> 48)};
}

struct IndexEntry {
  uint64_t hash;
  uint64_t row;
};

// Builders of payloads (behind the page header that is already in `page`).
void AppendTextKeys(std::span<const std::string_view> keys, std::string* page);
void AppendIntKeys(std::span<const int64_t> keys, std::string* page);
void AppendIndex(KeyKind kind, uint64_t buckets, std::span<const IndexEntry> entries,
                 std::string* page);

// Readers. Every one proves that the payload has the bytes that its count asks for.
Status ReadTextKeys(const PageView& page, std::vector<std::string_view>* keys);
Status ReadIntKeys(const PageView& page, std::vector<int64_t>* keys);
// Row numbers that may hold the key: exactly the key's row for int64, candidates to be compared for
// text. Appended to `rows`.
Status FindInIndex(KeyKind kind, const PageView& page, uint64_t hash, uint64_t buckets,
                   std::vector<uint64_t>* rows);
// All entries; the hash of a text entry is its fingerprint.
Status ReadIndex(KeyKind kind, const PageView& page, std::vector<IndexEntry>* entries);

}  // namespace edo::storage
