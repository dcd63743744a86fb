// That block i of a chunk file lies at i x (bytes of a block): literally, and over the golden
// store. Files of which that is not true - blocks of several chunks, of many sizes, files that a
// compaction rewrote unaligned, two files with the same chunks - are read through RocksDB and
// right.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/resource.h>

#include <filesystem>
#include <random>

#include "storage/page_key.h"
#include "storage/rocksdb_block.h"
#include "storage/rocksdb_block_map.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_row_store.h"
#include "tests/storage/row_store_pages.h"

#if !defined(__SANITIZE_THREAD__)

namespace edo::storage {
namespace {

TEST(Block, HoldsOnePairAndSaysSo) {
  const std::string page = MakePage(5, std::string(200, 'p'));
  std::string block("\x00\x10\xd8\x01", 4);  // 0 shared, 16 of the key, 216 of the value
  block += std::string("\x00\x00\x03\x00\x00\x00\x00\x05", 8);
  block += std::string("\x01\x00\x00\x00\x00\x00\x00\x00", 8);
  block += page;
  block += std::string("\x00\x00\x00\x00\x01\x00\x00\x00", 8);
  block += std::string("\x00????", 5);
  ASSERT_LE(block.size(), 4096u);
  block.resize(4096);
  const uint64_t id = PageId(PageKind::kChunk, 3, 5);
  EXPECT_EQ(BlockBytes(page.size()), 4096u);
  ASSERT_TRUE(PageInBlock(block, id).ok()) << PageInBlock(block, id).status().ToString();
  EXPECT_EQ(*PageInBlock(block, id), page);
  EXPECT_EQ(PageInBlock(block, id + 1).status().message(),
            "key of the page found 3298534883333, expected 3298534883334");
  for (size_t at = 0; at < 20 + page.size() + 9; ++at) {  // all but RocksDB's checksum and padding
    if (at >= 20 && at < 20 + page.size()) continue;      // proved by the page
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = block;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_FALSE(PageInBlock(bad, id).ok()) << at << " " << bit;
    }
  }
  EXPECT_FALSE(PageInBlock(block.substr(0, 100), id).ok());
  // Sizes at which the length takes another byte, and a block another unit.
  EXPECT_EQ(BlockBytes(4096 - 33), 4096u);
  EXPECT_EQ(BlockBytes(4096 - 32), 8192u);
  EXPECT_EQ(BlockBytes(16384 - 34), 16384u);
  EXPECT_EQ(BlockBytes(20480 - 34), 20480u);
  EXPECT_EQ(BlockBytes(20480 - 33), 24576u);
  // Random bytes are refused, never read beyond.
  std::mt19937_64 random(test::Seed(1));
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(4096, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[0] = 0;
    bytes[1] = 16;
    EXPECT_FALSE(PageInBlock(bytes, id).ok());
  }
}

TEST(BlockMap, EveryChunkOfTheGoldenStoreLiesAtItsAddress) {
  const test::TempDir dir;
  std::filesystem::copy(test::DataFile("v1/store"), dir.File("s"));
  RocksdbRowStoreOptions options;
  options.read_only = true;
  auto store = OpenRocksdbRowStore(dir.File("s"), options);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  uint64_t total = 0;
  for (const StoreFile& file : (*store)->Files()) {
    if (!file.has_pages || file.kind != PageKind::kChunk) continue;
    const std::string bytes = test::ReadFile(file.path);
    std::vector<std::string> payloads;
    uint64_t block_bytes = 0;
    const auto cursor = (*store)->ScanPages(PageKind::kChunk, file.generation, 0, kMaxPageNumber);
    for (uint64_t i = 0;; ++i) {
      uint64_t number = 0;
      PageView page;
      const auto more = cursor->Next(&number, &page);
      if (!more.ok()) break;  // behind the last
      if (i == 0) block_bytes = BlockBytes(page.payload.size() + kPageHeaderBytes);
      const auto found = PageInBlock(std::string_view(bytes).substr(i * block_bytes),
                                     PageId(PageKind::kChunk, file.generation, i));
      ASSERT_TRUE(found.ok()) << file.path << " chunk " << i << ": " << found.status().ToString();
      ASSERT_EQ(found->substr(kPageHeaderBytes), page.payload);
      payloads.emplace_back(page.payload);
    }
    ASSERT_GT(payloads.size(), 0u) << file.path;
    const auto read = Read(**store, PageKind::kChunk, file.generation, Numbers(payloads.size()));
    for (const auto& [n, payload] : read) ASSERT_EQ(payload, payloads[n]);
    total += payloads.size();
  }
  const Stats stats = StatsOf(**store);
  EXPECT_GT(total, 0u);
  EXPECT_EQ(stats.chunks_by_address, total) << stats.read_path_note;
  EXPECT_EQ(stats.chunks_by_multiget, 0u);
  EXPECT_EQ(stats.read_path_note, "");
}

TEST(BlockMap, CompressedChunksLieWhereTheirSizesSay) {
  for (const bool direct : {false, true}) {
    const test::TempDir dir;
    RocksdbRowStoreOptions options;
    options.create = true;
    options.direct_reads = direct;
    auto store = OpenRocksdbRowStore(dir.path(), options);
    ASSERT_TRUE(store.ok());
    constexpr uint64_t kMany = 2500;  // sizes on three pages
    WritePackedGeneration(store->get(), 1, kMany, HalfRandom);
    const auto found = Read(**store, PageKind::kChunk, 1, Numbers(kMany));
    for (const auto& [n, payload] : found) ASSERT_EQ(payload, HalfRandom(n + 1)) << n;
    const Stats stats = StatsOf(**store);
    EXPECT_EQ(stats.chunks_by_address, kMany);
    EXPECT_EQ(stats.read_path_note, "");
    // Literally: the blocks stand one behind the other from byte 0.
    for (const StoreFile& file : (*store)->Files()) {
      if (!file.has_pages || file.kind != PageKind::kChunk) continue;
      const std::string bytes = test::ReadFile(file.path);
      uint64_t at = 0;
      for (uint64_t n = 0; n < kMany; ++n) {
        const auto page =
            PageInBlock(std::string_view(bytes).substr(at), PageId(PageKind::kChunk, 1, n));
        ASSERT_TRUE(page.ok()) << n << ": " << page.status().ToString();
        at += BareBlockBytes(page->size());
      }
    }
    const auto cursor = (*store)->ScanPages(PageKind::kChunk, 1, 0, kMany);
    for (uint64_t n = 0; n < kMany; ++n) {
      uint64_t number = 0;
      PageView page;
      ASSERT_TRUE(*cursor->Next(&number, &page));
      ASSERT_EQ(page.payload, HalfRandom(n + 1));
    }
  }
}

TEST(BlockMap, SizesThatAreWrongLeaveTheFileToRocksdb) {
  struct Case {
    const char* name;
    std::function<uint32_t(uint64_t, uint32_t)> size;
    const char* note;
  };
  const Case cases[] = {
      {"one off", [](uint64_t n, uint32_t b) { return n == 17 ? b + 1 : b; }, "chunk 149"},
      {"zero", [](uint64_t, uint32_t) { return 0u; }, "takes"},
      {"huge", [](uint64_t n, uint32_t b) { return n == 9 ? UINT32_MAX : b; }, "does not fit"},
      {"beyond", [](uint64_t, uint32_t) { return 500000u; }, "does not fit"},
      // The samples are right: such chunks do not prove at their address, one by one.
      {"swapped", [](uint64_t n, uint32_t b) { return n == 17   ? b + 8
                                                      : n == 18 ? b - 8
                                                                : b; },
       "could not be read at its address"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const test::TempDir dir;
    RocksdbRowStoreOptions options;
    options.create = true;
    auto store = OpenRocksdbRowStore(dir.path(), options);
    ASSERT_TRUE(store.ok());
    WritePackedGeneration(store->get(), 1, 300, HalfRandom, c.size);
    const auto found = Read(**store, PageKind::kChunk, 1, Numbers(300));
    ASSERT_EQ(found.size(), 300u);
    for (const auto& [n, payload] : found) ASSERT_EQ(payload, HalfRandom(n + 1)) << n;
    EXPECT_NE(StatsOf(**store).read_path_note.find(c.note), std::string::npos)
        << StatsOf(**store).read_path_note;
  }
}

// Writes a generation of such pages and reads it; how many chunks were read by address.
uint64_t ByAddress(uint64_t pages, const std::function<std::string(uint64_t)>& payload,
                   std::string* note) {
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  auto store = OpenRocksdbRowStore(dir.path(), options);
  EXPECT_TRUE(store.ok());
  WriteGeneration(store->get(), 1, pages, payload);
  const auto found = Read(**store, PageKind::kChunk, 1, Numbers(pages));
  EXPECT_EQ(found.size(), pages);
  for (const auto& [n, text] : found) EXPECT_EQ(text, payload(n + 1)) << n;
  const Stats stats = StatsOf(**store);
  EXPECT_EQ(stats.chunks_by_address + stats.chunks_by_multiget, pages);
  *note = stats.read_path_note;
  return stats.chunks_by_address;
}

TEST(BlockMap, FilesThatDoNotFitAreReadThroughRocksdb) {
  std::string note;
  const auto of_size = [](size_t bytes) {
    return [bytes](uint64_t n) { return Payload(n).substr(0, 8) + std::string(bytes, 'z'); };
  };
  EXPECT_EQ(ByAddress(300, of_size(9000), &note), 300u) << note;
  EXPECT_EQ(ByAddress(40, of_size(200'000), &note), 40u) << note;
  EXPECT_EQ(ByAddress(1, of_size(10), &note), 1u) << note;
  EXPECT_EQ(note, "");
  // Several in a block.
  EXPECT_EQ(ByAddress(300, of_size(100), &note), 0u);
  EXPECT_NE(note.find("read through RocksDB"), std::string::npos) << note;
  // Too large for a reader's memory.
  EXPECT_EQ(ByAddress(5, of_size(2'000'000), &note), 0u);
  EXPECT_NE(note.find("read through RocksDB"), std::string::npos) << note;
  // Of many sizes.
  std::mt19937_64 random(test::Seed(2));
  for (int round = 0; round < 10; ++round) {
    const uint64_t salt = random();
    const auto mixed = [&](uint64_t n) {
      return std::to_string(n) + std::string((n * 2654435761u ^ salt) % 14000, 'm');
    };
    ByAddress(200, mixed, &note);
  }
  // The three that are compared fit and others do not: found out when they are read.
  const auto bump = [](uint64_t n) {
    const uint64_t number = n - 1;  // 0 .. 199
    return Payload(n) + std::string(number == 30 ? 4096 : 0, 'b');
  };
  EXPECT_EQ(ByAddress(200, bump, &note), 0u) << "the middle one lies one block later";
}

// Opens the database of a store with options for chunks of the caller's own.
std::unique_ptr<rocksdb::DB> OpenRaw(const std::string& directory,
                                     const rocksdb::ColumnFamilyOptions& chunks,
                                     std::vector<rocksdb::ColumnFamilyHandle*>* handles) {
  RocksdbTuning tuning;
  tuning.env = rocksdb::Env::Default();
  rocksdb::DB* db = nullptr;
  const auto s = rocksdb::DB::Open(DatabaseOptions(tuning), directory,
                                   {{rocksdb::kDefaultColumnFamilyName, CatalogFamilyOptions()},
                                    {kChunksFamily, chunks},
                                    {kKeysFamily, KeysFamilyOptions(0)}},
                                   handles, &db);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return std::unique_ptr<rocksdb::DB>(db);
}

TEST(BlockMap, ARewrittenFileIsReadRightWhateverBecameOfItsLayout) {
  for (const bool aligned : {true, false}) {
    const test::TempDir dir;
    RocksdbRowStoreOptions options;
    options.create = true;
    {
      auto store = OpenRocksdbRowStore(dir.path(), options);
      ASSERT_TRUE(store.ok());
      WriteGeneration(store->get(), 1, 300);
    }
    {
      std::vector<rocksdb::ColumnFamilyHandle*> handles;
      const auto db =
          OpenRaw(dir.path(), aligned ? ChunksFamilyOptions() : KeysFamilyOptions(0), &handles);
      rocksdb::CompactRangeOptions compact;
      compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
      ASSERT_TRUE(db->CompactRange(compact, handles[1], nullptr, nullptr).ok());
      for (auto* handle : handles) ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    }
    options.create = false;
    auto store = OpenRocksdbRowStore(dir.path(), options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    const auto found = Read(**store, PageKind::kChunk, 1, Numbers(300));
    for (const auto& [n, payload] : found) ASSERT_EQ(payload, Payload(n + 1));
    const Stats stats = StatsOf(**store);
    EXPECT_EQ(stats.chunks_by_address, aligned ? 300u : 0u) << stats.read_path_note;
    EXPECT_EQ(stats.chunks_by_multiget, aligned ? 0u : 300u) << stats.read_path_note;
  }
}

TEST(BlockMap, ChunksThatWereWrittenAgainInAnotherFileAreRocksdbsToFind) {
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  auto store = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(store.ok());
  WriteGeneration(store->get(), 1, 100);
  EXPECT_EQ(Read(**store, PageKind::kChunk, 1, {50})[50], Payload(51));
  EXPECT_EQ(StatsOf(**store).chunks_by_address, 1u);
  const auto newer = [](uint64_t n) { return Payload(n + 1000); };
  WriteGeneration(store->get(), 1, 60, newer);
  const auto found = Read(**store, PageKind::kChunk, 1, Numbers(100));
  for (const auto& [n, payload] : found) {
    ASSERT_EQ(payload, n < 60 ? newer(n + 1) : Payload(n + 1)) << n;
  }
  const Stats stats = StatsOf(**store);
  EXPECT_EQ(stats.chunks_by_address, 1u);
  EXPECT_NE(stats.read_path_note.find("another file has the same chunks"), std::string::npos);
}

TEST(BlockMap, FilesThatRocksdbHoldsNeedNoDescriptorOfTheirOwn) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan looks at objects through a pipe, for which it needs two descriptors";
#endif
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  {
    auto store = OpenRocksdbRowStore(dir.path(), options);
    ASSERT_TRUE(store.ok());
    WriteGeneration(store->get(), 1, 50);
  }
  options.create = false;
  options.read_only = true;  // RocksDB holds the file from the start, and shares it
  auto store = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(store.ok());
  struct rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  struct rlimit none = limit;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto found = Read(**store, PageKind::kChunk, 1, Numbers(50));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  for (const auto& [n, payload] : found) ASSERT_EQ(payload, Payload(n + 1));
  EXPECT_EQ(StatsOf(**store).chunks_by_address, 50u);
}

TEST(BlockMap, AReaderBesideAWriterReadsFilesThatAreGoneByAddressToo) {
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  auto writer = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(writer.ok());
  WriteGeneration(writer->get(), 1, 50);
  options.create = false;
  options.read_only = true;
  auto reader = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(reader.ok());
  EDO_ASSERT_OK((*writer)->DropGeneration(1));
  const auto found = Read(**reader, PageKind::kChunk, 1, Numbers(50));
  for (const auto& [n, payload] : found) ASSERT_EQ(payload, Payload(n + 1));
  EXPECT_EQ(StatsOf(**reader).chunks_by_address, 50u) << StatsOf(**reader).read_path_note;
}

}  // namespace
}  // namespace edo::storage

#endif
