#include "storage/key_page.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "storage/little_endian.h"

namespace edo::storage {
namespace {

size_t EntryHashBytes(KeyKind kind) { return kind == KeyKind::kInt64 ? 8 : 2; }

Status CheckSize(std::string_view what, const PageView& page, uint64_t expected) {
  if (page.payload.size() == expected) return Status::Ok();
  return Status::Corruption(std::string(what) + " of " + std::to_string(page.count) +
                            " entries: " + std::to_string(page.payload.size()) +
                            " bytes, expected " + std::to_string(expected));
}

void AppendVarint(uint32_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// The hash (int64) or fingerprint (text) of entry i.
uint64_t EntryHash(KeyKind kind, const char* hashes, size_t i) {
  return kind == KeyKind::kInt64 ? LoadLE<uint64_t>(hashes + i * 8)
                                 : LoadLE<uint16_t>(hashes + i * 2);
}

}  // namespace

uint32_t KeysPerPage(KeyKind kind) {
  return kind == KeyKind::kInt64 ? kIntKeysPerPage : kTextKeysPerPage;
}

uint64_t IndexBuckets(KeyKind kind, uint64_t rows) {
  const uint64_t mean = kind == KeyKind::kInt64 ? kIntEntriesPerBucket : kTextEntriesPerBucket;
  return std::max<uint64_t>(1, (rows + mean - 1) / mean);
}

uint64_t HashKey(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

uint64_t HashKey(int64_t key) {
  // Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014.
  auto z = static_cast<uint64_t>(key) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void AppendTextKeys(std::span<const std::string_view> keys, std::string* page) {
  for (const std::string_view key : keys) AppendVarint(static_cast<uint32_t>(key.size()), page);
  for (const std::string_view key : keys) page->append(key);
}

void AppendIntKeys(std::span<const int64_t> keys, std::string* page) {
  page->append(reinterpret_cast<const char*>(keys.data()), keys.size_bytes());
}

void AppendIndex(KeyKind kind, uint64_t buckets, std::span<const IndexEntry> entries,
                 std::string* page) {
  for (const IndexEntry& e : entries) {
    if (kind == KeyKind::kInt64) {
      AppendLE<uint64_t>(e.hash, page);
    } else {
      AppendLE<uint16_t>(PlaceOf(e.hash, buckets).fingerprint, page);
    }
  }
  for (const IndexEntry& e : entries) AppendLE40(e.row, page);
}

Status ReadTextKeys(const PageView& page, std::vector<std::string_view>* keys) {
  keys->clear();
  // A length takes at least one byte, so a count beyond the payload is damage, not a big buffer.
  if (page.count > page.payload.size()) return CheckSize("key page", page, page.count);
  std::vector<uint32_t> lengths(page.count);
  size_t at = 0;
  uint64_t total = 0;
  for (uint32_t& length : lengths) {
    for (int shift = 0;; shift += 7) {
      if (at == page.payload.size() || shift > 14) {
        return Status::Corruption("key page: length of a key is not whole");
      }
      const auto byte = static_cast<uint8_t>(page.payload[at++]);
      length |= static_cast<uint32_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    total += length;
  }
  EDO_RETURN_IF_ERROR(CheckSize("key page", page, at + total));
  keys->reserve(page.count);
  for (const uint32_t length : lengths) {
    keys->push_back(page.payload.substr(at, length));
    at += length;
  }
  return Status::Ok();
}

Status ReadIntKeys(const PageView& page, std::vector<int64_t>* keys) {
  EDO_RETURN_IF_ERROR(CheckSize("key page", page, uint64_t{page.count} * 8));
  keys->resize(page.count);
  std::copy_n(page.payload.data(), page.payload.size(), reinterpret_cast<char*>(keys->data()));
  return Status::Ok();
}

Status FindInIndex(KeyKind kind, const PageView& page, uint64_t hash, uint64_t buckets,
                   std::vector<uint64_t>* rows) {
  const size_t hash_bytes = EntryHashBytes(kind);
  EDO_RETURN_IF_ERROR(CheckSize("key index", page, page.count * (hash_bytes + 5)));
  const uint64_t wanted =
      kind == KeyKind::kInt64 ? hash : uint64_t{PlaceOf(hash, buckets).fingerprint};
  const char* hashes = page.payload.data();
  size_t low = 0;
  size_t high = page.count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (EntryHash(kind, hashes, middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const char* row_bytes = hashes + page.count * hash_bytes;
  for (; low < page.count && EntryHash(kind, hashes, low) == wanted; ++low) {
    rows->push_back(LoadLE40(row_bytes + low * 5));
  }
  return Status::Ok();
}

Status ReadIndex(KeyKind kind, const PageView& page, std::vector<IndexEntry>* entries) {
  const size_t hash_bytes = EntryHashBytes(kind);
  EDO_RETURN_IF_ERROR(CheckSize("key index", page, page.count * (hash_bytes + 5)));
  const char* hashes = page.payload.data();
  const char* row_bytes = hashes + page.count * hash_bytes;
  entries->resize(page.count);
  for (size_t i = 0; i < page.count; ++i) {
    (*entries)[i] = {EntryHash(kind, hashes, i), LoadLE40(row_bytes + i * 5)};
  }
  return Status::Ok();
}

}  // namespace edo::storage
