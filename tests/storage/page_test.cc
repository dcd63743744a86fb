// Pages, their keys, chunk layout, key pages, catalog records and the file EDO: exact bytes, and
// what every damage of them gives. Layouts are checked against docs/format.md's worked examples.
#include "storage/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "storage/catalog.h"
#include "storage/chunk_layout.h"
#include "storage/key_page.h"
#include "storage/order_page.h"
#include "storage/page_checksum.h"
#include "storage/page_key.h"
#include "storage/size_page.h"
#include "storage/store_file.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

TEST(Page, HeaderBytesAreAsDocumented) {
  std::string page;
  StartPage(&page);
  page += "payload";
  SealPage(7, 3, &page);
  EXPECT_EQ(Hex(page.substr(4)),
            "03000000"
            "0700000000000000"
            "7061796c6f6164");
  const auto view = OpenPage(page, 7);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->count, 3u);
  EXPECT_EQ(view->payload, "payload");
}

// Bodies for other vectors give the value that the format names, at every length that xxHash
// treats in another way.
TEST(Page, ChecksumIsXxh3WhateverTheCpu) {
  std::mt19937_64 random(test::Seed(4));
  std::string bytes(70'000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  for (size_t size = 0; size < bytes.size(); size += size < 1100 ? 1 : 977) {
    ASSERT_EQ(PageHash(bytes.data(), size), XXH3_64bits(bytes.data(), size)) << size;
  }
}

TEST(Page, EveryFlippedByteAndEveryCutIsSeen) {
  std::string page;
  StartPage(&page);
  page += std::string(100, 'x');
  SealPage(1, 2, &page);
  for (size_t i = 0; i < page.size(); ++i) {
    std::string damaged = page;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_EQ(OpenPage(damaged, 1).status().code(), StatusCode::kCorruption) << i;
    EXPECT_EQ(OpenPage(std::string_view(page).substr(0, i), 1).status().code(),
              StatusCode::kCorruption)
        << i;
  }
  EXPECT_EQ(OpenPage(page, 2).status().code(), StatusCode::kCorruption) << "wrong place";
}

TEST(PageKey, IsBigEndianGenerationThenNumber) {
  const PageKeyBytes key = EncodePageKey(PageKind::kChunk, 0x010203, 0x0405060708);
  EXPECT_EQ(Hex({key.data(), key.size()}), "0102030405060708");
  const PageKeyBytes index = EncodePageKey(PageKind::kIndex, 1, 2);
  EXPECT_EQ(Hex({index.data(), index.size()}), "0000018000000002");
  const uint64_t id = DecodePageId({index.data(), index.size()});
  EXPECT_EQ(GenerationOf(id), 1u);
  EXPECT_EQ(NumberOf(id), 2u);
  const PageKeyBytes order = EncodePageKey(PageKind::kOrder, 1, 2);
  EXPECT_EQ(Hex({order.data(), order.size()}), "000001c000000002");
  EXPECT_EQ(NumberOf(DecodePageId({order.data(), order.size()})), 2u);
  EXPECT_EQ(NumberOf(PageId(PageKind::kChunk, 1, kMaxPageNumber)), kMaxPageNumber);
}

TEST(OrderPage, BytesAreAsDocumentedAndMustFitTheirCount) {
  const auto hex_of = [](uint64_t number, const std::vector<uint64_t>& entries) {
    std::string bytes;
    StartPage(&bytes);
    AppendOrder(entries, &bytes);
    SealPage(number, static_cast<uint32_t>(entries.size()), &bytes);
    return Hex(bytes);
  };
  EXPECT_EQ(hex_of(0, {1, 2, 0}), "5ecc513f030000000000000000000000010000000002000000000000000000");
  EXPECT_EQ(hex_of(1, {2, 0, 1}), "b3c3ed73030000000100000000000000020000000000000000000100000000");
  std::string page;
  StartPage(&page);
  AppendOrder(std::vector<uint64_t>{2, 0, 0x0102030405}, &page);
  SealPage(4, 3, &page);
  EXPECT_EQ(Hex(page).substr(32), "020000000000000000000504030201");
  const auto view = OpenPage(page, 4);
  ASSERT_TRUE(view.ok());
  EDO_EXPECT_OK(CheckOrder(*view, 3));
  EXPECT_EQ(OrderEntry(*view, 0), 2u);
  EXPECT_EQ(OrderEntry(*view, 2), 0x0102030405u);
  EXPECT_EQ(CheckOrder(*view, 2).code(), StatusCode::kCorruption);
  EXPECT_EQ(CheckOrder({3, view->payload.substr(1)}, 3).code(), StatusCode::kCorruption);
  EXPECT_EQ(OrderPages(KeyKind::kText, 801, 800), 2u);
  EXPECT_EQ(OrderPages(KeyKind::kDense, 800, 800), 2u);
  EXPECT_EQ(OrderPages(KeyKind::kDense, 0, 800), 0u);
  EXPECT_EQ(OrderPages(KeyKind::kDense, 800, 0), 0u);
}

TEST(Page, ACompressedChunkSaysSoInTheTopBitOfItsCount) {
  std::string page;
  StartPage(&page);
  page += "packed";
  SealPage(9, 31, &page, /*packed=*/true);
  EXPECT_EQ(Hex(page).substr(8, 8), "1f000080");
  const auto view = OpenPage(page, 9);
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->packed);
  EXPECT_EQ(view->count, 31u);
  EXPECT_EQ(view->page_bytes, page.size());
}

TEST(SizePage, BytesAndDamage) {
  std::string page;
  StartPage(&page);
  AppendSizes(std::vector<uint32_t>{0x01020304, 5}, &page);
  SealPage(2, 2, &page);
  EXPECT_EQ(Hex(page).substr(32), "0403020105000000");
  const auto view = OpenPage(page, 2);
  ASSERT_TRUE(view.ok());
  EDO_EXPECT_OK(CheckSizes(*view));
  EXPECT_EQ(SizeEntry(*view, 0), 0x01020304u);
  EXPECT_EQ(SizeEntry(*view, 1), 5u);
  EXPECT_FALSE(CheckSizes({3, view->payload}).ok());
  EXPECT_FALSE(CheckSizes({0, ""}).ok());
  EXPECT_FALSE(CheckSizes({1001, std::string(4004, 'x')}).ok());
  EXPECT_EQ(SizePages(0), 0u);
  EXPECT_EQ(SizePages(1000), 1u);
  EXPECT_EQ(SizePages(1001), 2u);
  const PageKeyBytes key = EncodePageKey(PageKind::kSizes, 3, 7);
  EXPECT_EQ(Hex(std::string_view(key.data(), 8)), "000003f000000007");
  EXPECT_EQ(NumberOf(PageId(PageKind::kSizes, 3, 7)), 7u);
}

// The rule of chunk_layout.h over every row size to 20,000 bytes: rows fit, nothing is read that is
// more than twice the larger of a sector and a row, and the bound on file size holds to 512 bytes.
TEST(ChunkLayout, FitsAndWastesLittle) {
  for (uint64_t row = 1; row < 20000; ++row) {
    const ChunkLayout layout = ChooseChunkLayout(row);
    ASSERT_GE(layout.rows, 1u) << row;
    ASSERT_EQ(layout.bytes % 4096, 0u) << row;
    ASSERT_LE(layout.rows * row + kChunkOverheadBytes, layout.bytes) << row;
    const uint64_t least = (row + kChunkOverheadBytes + 4095) / 4096 * 4096;
    ASSERT_LE(layout.bytes, std::max(least, 2 * std::max<uint64_t>(4096, row))) << row;
    if (row >= 32 && row <= 512) {
      ASSERT_LT(static_cast<double>(layout.bytes) / static_cast<double>(layout.rows * row), 1.0755)
          << row;
    }
  }
  EXPECT_EQ(ChooseChunkLayout(128).rows, 31u);
  EXPECT_EQ(ChooseChunkLayout(128).bytes, 4096u);
}

TEST(KeyPage, TextAndIntKeysComeBack) {
  const std::string long_key(20000, 'k');
  const std::vector<std::string_view> keys{"", "a", std::string_view("\0\n", 2), long_key};
  std::string page;
  StartPage(&page);
  AppendTextKeys(keys, &page);
  SealPage(0, 4, &page);
  std::vector<std::string_view> back;
  EDO_ASSERT_OK(ReadTextKeys(*OpenPage(page, 0), &back));
  EXPECT_EQ(back, keys);
  const std::vector<int64_t> ints{INT64_MIN, -1, 0, INT64_MAX};
  StartPage(&page);
  AppendIntKeys(ints, &page);
  SealPage(0, 4, &page);
  std::vector<int64_t> ints_back;
  EDO_ASSERT_OK(ReadIntKeys(*OpenPage(page, 0), &ints_back));
  EXPECT_EQ(ints_back, ints);
}

TEST(KeyPage, PayloadThatDoesNotFitItsCountIsDamage) {
  std::vector<std::string_view> texts;
  std::vector<int64_t> ints;
  std::vector<uint64_t> rows;
  const std::string payload(
      "\x01\x01"
      "ab",
      4);
  EDO_EXPECT_OK(ReadTextKeys({2, payload}, &texts));
  EXPECT_EQ(ReadTextKeys({3, payload}, &texts).code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadTextKeys({1, payload}, &texts).code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadTextKeys({UINT32_MAX, payload}, &texts).code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadTextKeys({1, "\xff\xff\xff\xff\xff"}, &texts).code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadIntKeys({1, payload}, &ints).code(), StatusCode::kCorruption);
  EXPECT_EQ(FindInIndex(KeyKind::kText, {1, payload}, 0, 1, &rows).code(), StatusCode::kCorruption);
}

// Every key is found in its bucket, at any number of buckets; int64 finds nothing else.
TEST(KeyPage, IndexFindsEveryEntry) {
  std::mt19937_64 random(test::Seed(11));
  for (const KeyKind kind : {KeyKind::kInt64, KeyKind::kText}) {
    const uint64_t buckets = 5;
    std::vector<std::vector<IndexEntry>> by_bucket(buckets);
    std::vector<IndexEntry> all;
    for (uint64_t row = 0; row < 3000; ++row) all.push_back({random(), row});
    all[10].hash = all[11].hash;  // equal hashes of text keys both come back
    for (const IndexEntry& e : all) by_bucket[PlaceOf(e.hash, buckets).bucket].push_back(e);
    for (uint64_t b = 0; b < buckets; ++b) {
      std::sort(by_bucket[b].begin(), by_bucket[b].end(),
                [](const auto& x, const auto& y) { return x.hash < y.hash; });
      std::string page;
      StartPage(&page);
      AppendIndex(kind, buckets, by_bucket[b], &page);
      SealPage(b, static_cast<uint32_t>(by_bucket[b].size()), &page);
      const auto view = OpenPage(page, b);
      ASSERT_TRUE(view.ok());
      for (const IndexEntry& e : by_bucket[b]) {
        std::vector<uint64_t> rows;
        EDO_ASSERT_OK(FindInIndex(kind, *view, e.hash, buckets, &rows));
        EXPECT_NE(std::find(rows.begin(), rows.end(), e.row), rows.end());
      }
    }
  }
}

TEST(KeyHash, ValuesAreFixedForEver) {
  EXPECT_EQ(HashKey(int64_t{0}), 0xe220a8397b1dcdafu);
  EXPECT_EQ(HashKey(int64_t{-1}), 0xe4d971771b652c20u);
  EXPECT_EQ(HashKey(std::string_view("")), 0x2d06800538d394c2u);
  EXPECT_EQ(HashKey(std::string_view("river")), HashKey(std::string_view("river")));
}

TableRecord SomeRecord() {
  TableRecord r;
  r.info.name = "words";
  r.info.key_kind = KeyKind::kText;
  r.info.codec = *CodecSpec::Parse("INT8");
  r.info.dim = 100;
  r.info.rows = 1000;
  r.info.generation = 3;
  r.info.row_bytes = 102;
  r.info.chunk_rows = 39;
  r.info.chunk_count = 26;
  r.key_pages = 8;
  r.keys_per_page = 128;
  r.index_buckets = 2;
  r.info.metadata = {{"licence", "CC0"}, {"", std::string("\0x", 2)}};
  return r;
}

TEST(Catalog, RecordsComeBackAndDamageIsSeen) {
  const std::string bytes = EncodeTableRecord(SomeRecord());
  const auto back = DecodeTableRecord("words", bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(EncodeTableRecord(*back), bytes);
  EXPECT_EQ(back->info.metadata, SomeRecord().info.metadata);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(DecodeTableRecord("words", damaged).ok()) << i;
    EXPECT_FALSE(DecodeTableRecord("words", bytes.substr(0, i)).ok()) << i;
  }
  TableRecord impossible = SomeRecord();
  impossible.info.chunk_count = 25;
  EXPECT_EQ(DecodeTableRecord("words", EncodeTableRecord(impossible)).status().code(),
            StatusCode::kCorruption);
}

TEST(Catalog, CompressionIsFourFieldsMore) {
  TableRecord r = SomeRecord();
  const std::string plain = EncodeTableRecord(r);
  EXPECT_EQ(DecodeTableRecord("words", plain)->info.compression, Compression::kNone);
  r.info.compression = Compression::kZstd;
  r.info.plain_chunk_bytes = 106496;
  r.size_pages = 1;
  r.sizes_per_page = 1000;
  const std::string bytes = EncodeTableRecord(r);
  EXPECT_EQ(Hex(std::string_view(bytes).substr(plain.size() - 8, bytes.size() - plain.size())),
            "2580"
            "04000000"
            "7a737464"
            "2680"
            "08000000"
            "0100000000000000"
            "2780"
            "08000000"
            "e803000000000000"
            "2800"
            "08000000"
            "00a0010000000000");
  const auto back = DecodeTableRecord("words", bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(EncodeTableRecord(*back), bytes);
  EXPECT_EQ(back->info.compression, Compression::kZstd);
  EXPECT_EQ(back->info.plain_chunk_bytes, 106496u);
  for (const auto& [pages, a_page] : {std::pair(2u, 1000u), {0u, 1000u}, {1u, 0u}, {1u, 999u}}) {
    TableRecord bad = r;
    bad.size_pages = pages;
    bad.sizes_per_page = a_page;
    EXPECT_EQ(DecodeTableRecord("words", EncodeTableRecord(bad)).status().code(),
              StatusCode::kCorruption);
  }
}

TEST(Catalog, EachTierBeforeTheLastIsOneFieldMore) {
  TableRecord r = SomeRecord();
  const auto tier = [&](uint64_t rows, const char* codec, uint64_t generation) {
    TableRecord t;
    t.info.codec = *CodecSpec::Parse(codec);
    t.info.dim = 100;
    t.info.rows = rows;
    t.info.generation = generation;
    t.info.row_bytes = t.info.codec.RowBytes(100);
    t.info.chunk_rows = 10;
    t.info.chunk_count = (rows + 9) / 10;
    t.info.chunk_file_bytes = 5000;
    t.chunk_files = 1;
    return t;
  };
  r.info.chunk_file_bytes = 70000;
  r.info.chunk_count = 25;  // of the last 960 rows
  const std::string plain = EncodeTableRecord(r);
  AddTiers({tier(30, "F32", 1), tier(10, "F16", 2)}, &r);
  EXPECT_EQ(r.info.chunk_count, 29u);
  EXPECT_EQ(r.info.chunk_file_bytes, 80000u);
  const std::string bytes = EncodeTableRecord(r);
  // The table's own fields are the last tier's, but for its rows; the others' fields follow.
  const std::string_view added = std::string_view(bytes).substr(plain.size() - 8);
  EXPECT_EQ(std::string_view(bytes).substr(0, plain.size() - 8),
            std::string_view(plain).substr(0, plain.size() - 8));
  EXPECT_EQ(Hex(added.substr(0, 20)),
            "2a80"
            "e9000000"
            "1080"
            "08000000"
            "0100000000000000");
  ASSERT_EQ(added.size(), 2 * (6 + 0xe9u) + 8);
  const auto back = DecodeTableRecord("words", bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(EncodeTableRecord(*back), bytes);
  ASSERT_EQ(back->info.tiers.size(), 3u);
  EXPECT_EQ(back->info.tiers[1].first_row, 30u);
  EXPECT_EQ(back->info.tiers[1].codec.ToString(), "F16");
  EXPECT_EQ(back->info.tiers[2].first_row, 40u);
  EXPECT_EQ(back->info.tiers[2].rows, 960u);
  EXPECT_EQ(back->info.tiers[2].chunk_file_bytes, 70000u);
  EXPECT_EQ(back->info.chunk_file_bytes, 80000u);
  EXPECT_EQ(back->tiers[2].info.key_kind, KeyKind::kDense);
  EXPECT_EQ(back->tiers[2].first_row, 40u);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(DecodeTableRecord("words", damaged).ok()) << i;
  }
  for (int fault = 0; fault < 6; ++fault) {
    TableRecord bad = r;
    TableRecord& first = bad.tiers.front();
    if (fault == 0) first.info.rows = 0;
    if (fault == 1) first.info.rows = 995;  // together more than the table has
    if (fault == 2) first.info.dim = 99;
    if (fault == 3) first.info.chunk_count = 4;
    if (fault == 4) first.info.key_kind = KeyKind::kText;
    if (fault == 5) first.learned_bytes = 8;
    EXPECT_EQ(DecodeTableRecord("words", EncodeTableRecord(bad)).status().code(),
              StatusCode::kCorruption)
        << fault;
  }
}

TEST(Catalog, AnOrderIsThreeFieldsMore) {
  const std::string plain = EncodeTableRecord(SomeRecord());
  EXPECT_EQ(DecodeTableRecord("words", plain)->info.order, "file");
  TableRecord ordered = SomeRecord();
  ordered.info.order = "tiered";
  ordered.order_entries_per_page = 800;
  ordered.order_pages = 2;
  const std::string bytes = EncodeTableRecord(ordered);
  EXPECT_EQ(Hex(std::string_view(bytes).substr(plain.size() - 8, bytes.size() - plain.size())),
            "2280"
            "08000000"
            "0200000000000000"
            "2380"
            "08000000"
            "2003000000000000"
            "2400"
            "06000000"
            "746965726564");
  const auto back = DecodeTableRecord("words", bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->info.order, "tiered");
  EXPECT_EQ(EncodeTableRecord(*back), bytes);
  ordered.order_pages = 1;
  EXPECT_EQ(DecodeTableRecord("words", EncodeTableRecord(ordered)).status().code(),
            StatusCode::kCorruption);
}

TEST(StoreFileText, VersionsAndDamage) {
  const std::string text = FormatStoreFile({kFormatVersion, 17});
  const auto content = ParseStoreFile(text, "EDO");
  ASSERT_TRUE(content.ok()) << content.status().ToString();
  EXPECT_EQ(content->commits, 17u);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 2);
    EXPECT_FALSE(ParseStoreFile(damaged, "EDO").ok()) << i;
    EXPECT_FALSE(ParseStoreFile(text.substr(0, i), "EDO").ok()) << i;
  }
  EXPECT_EQ(ParseStoreFile(FormatStoreFile({kFormatVersion + 1, 1}), "EDO").status().code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(ParseStoreFile("edo store\nformat 9\nanything else\n", "EDO").status().code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace edo::storage
