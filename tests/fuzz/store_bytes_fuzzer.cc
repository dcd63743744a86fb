// What a store reads back from its disk: catalog records, the file EDO, pages of keys, the key
// index, packed chunks, sizes, blocks of chunk files, codec names. Records and pages are also
// sealed here with the right checksum, so that the bytes behind the seal are reached. What decodes
// must encode to something that decodes the same. The input: one byte of choice, a count (4 bytes)
// and a hash (8 bytes) for pages, and the bytes.
#include <string>
#include <string_view>
#include <vector>

#include "edo/codec_spec.h"
#include "storage/catalog.h"
#include "storage/chunk_packing.h"
#include "storage/key_page.h"
#include "storage/little_endian.h"
#include "storage/order_page.h"
#include "storage/page.h"
#include "storage/page_key.h"
#include "storage/rocksdb_block.h"
#include "storage/size_page.h"
#include "storage/store_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

using namespace edo;
using namespace edo::storage;

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void FuzzRecords(std::string_view record) {
  if (const auto store = DecodeStoreRecord(record); store.ok()) {
    const auto again = DecodeStoreRecord(EncodeStoreRecord(*store));
    Require(again.ok() && again->commits == store->commits &&
            again->next_generation == store->next_generation);
  }
  if (const auto table = DecodeTableRecord("t", record); table.ok()) {
    Require(table->info.rows <= kMaxRows && table->info.dim >= 1);
    const std::string bytes = EncodeTableRecord(*table);
    const auto again = DecodeTableRecord("t", bytes);
    Require(again.ok() && EncodeTableRecord(*again) == bytes);
  }
}

// Whatever stands in a packed chunk: it gives the bytes that it claims, or is refused.
void FuzzPacked(PageView page) {
  static ChunkUnpacker unpacker;
  page.packed = true;
  const std::string_view payload = page.payload;
  if (!unpacker.Unpack(&page).ok()) return;
  Require(!page.packed && page.payload.size() == LoadLE<uint32_t>(payload.data()));
  Require(page.payload.size() <= kMostChunkCodes && page.payload.size() % page.count == 0);
}

void FuzzPage(const PageView& page, uint64_t hash) {
  FuzzPacked(page);
  if (CheckSizes(page).ok()) {
    Require(page.count <= kSizesPerPage && SizePages(page.count) == 1);
    for (uint64_t i = 0; i < page.count; ++i) Require(SizeEntry(page, i) <= UINT32_MAX);
  }
  std::vector<std::string_view> texts;
  if (ReadTextKeys(page, &texts).ok()) {
    Require(texts.size() == page.count);
    size_t total = 0;
    for (const std::string_view text : texts) total += text.size();
    Require(total <= page.payload.size());
  }
  if (CheckOrder(page, page.count).ok()) {
    for (uint64_t i = 0; i < page.count; ++i) Require(OrderEntry(page, i) < kMaxRows);
  }
  std::vector<int64_t> ids;
  if (ReadIntKeys(page, &ids).ok()) Require(ids.size() == page.count);
  for (const KeyKind kind : {KeyKind::kInt64, KeyKind::kText}) {
    std::vector<IndexEntry> entries;
    if (!ReadIndex(kind, page, &entries).ok()) continue;
    Require(entries.size() == page.count);
    for (const uint64_t wanted : {hash, entries.empty() ? hash : entries.back().hash}) {
      std::vector<uint64_t> rows;
      Require(FindInIndex(kind, page, wanted, 1 + hash % 1000, &rows).ok());
      Require(rows.size() <= page.count);
    }
  }
}

void FuzzPages(std::string_view bytes) {
  if (bytes.size() < 12) return;
  const auto count = LoadLE<uint32_t>(bytes.data());
  const auto hash = LoadLE<uint64_t>(bytes.data() + 4);
  bytes.remove_prefix(12);
  if (const auto page = OpenPage(bytes, hash); page.ok()) FuzzPage(*page, hash);
  std::string sealed;
  StartPage(&sealed);
  sealed.append(bytes);
  SealPage(hash, count, &sealed);
  const auto page = OpenPage(sealed, hash);
  constexpr uint32_t kPacked = 1u << 31;
  Require(page.ok() && page->count == (count & ~kPacked) && page->payload == bytes);
  Require(page->packed == ((count & kPacked) != 0) && page->page_bytes == sealed.size());
  FuzzPage(*page, hash);
}

// A block of a chunk file; its bytes are those of the input, then zeros.
void FuzzBlock(std::string_view bytes) {
  if (bytes.size() < 16) return;
  std::string block(bytes);
  block.resize((bytes.size() + kBlockUnit - 1) / kBlockUnit * kBlockUnit);
  for (const size_t key : {4, 5}) {  // where it stands, by the bytes of the length before it
    const uint64_t id = DecodePageId(bytes.substr(key, 8));
    const auto page = PageInBlock(block, id);
    if (!page.ok()) continue;
    Require(page->data() >= block.data() &&
            page->data() + page->size() <= block.data() + block.size());
    Require(!PageInBlock(block, id + 1).ok());
    // The same without padding, as packed chunks lie.
    const auto bare = PageInBlock(bytes, id);
    Require(!bare.ok() || bare->data() + bare->size() <= bytes.data() + bytes.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 4) {
    FuzzBlock(bytes);
    return 0;
  }
  switch (data[0] % 4) {
    case 0: {
      FuzzRecords(bytes);
      std::string sealed(bytes);
      AppendLE<uint64_t>(XXH3_64bits(bytes.data(), bytes.size()), &sealed);
      FuzzRecords(sealed);
      break;
    }
    case 1:
      FuzzPages(bytes);
      break;
    case 2: {
      const auto content = ParseStoreFile(std::string(bytes), "EDO");
      if (content.ok()) {
        const auto again = ParseStoreFile(FormatStoreFile(*content), "EDO");
        Require(again.ok() && again->commits == content->commits);
      }
      break;
    }
    default: {
      const auto spec = CodecSpec::Parse(bytes);
      if (spec.ok()) Require(spec->ToString() == bytes);
    }
  }
  return 0;
}
