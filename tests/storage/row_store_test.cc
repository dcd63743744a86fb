// Both row stores against one model: pages written, ingested, read in any order, scanned, dropped;
// missing pages, deadlines; the catalog. RocksDB also: direct reads, no io_uring, read-only beside
// a writer, the lock, orphans left by a writer that died, read errors from a faulty file system.
#include "storage/row_store.h"

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include <filesystem>
#include <random>

#include "storage/memory_row_store.h"
#include "storage/rocksdb_row_store.h"
#include "tests/storage/row_store_pages.h"
#include "tests/support/stores.h"

namespace edo::storage {
namespace {

struct Case {
  test::StoreBody body;
  bool direct;
  bool uring;
  bool by_address = true;
};

class RowStoreTest : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<RowStore> Make() {
    if (GetParam().body == test::StoreBody::kMemory) return MakeMemoryRowStore();
    RocksdbRowStoreOptions options;
    options.create = true;
    options.direct_reads = GetParam().direct;
    options.io_uring = GetParam().uring;
    options.by_address = GetParam().by_address;
    auto store = OpenRocksdbRowStore(dir_.path(), options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
  test::TempDir dir_;
};

std::vector<Case> Cases() {
  std::vector<Case> cases{{test::StoreBody::kMemory, false, false}};
#if !defined(__SANITIZE_THREAD__)
  for (const bool direct : {false, true}) {
    for (const bool uring : {false, true}) {
      for (const bool by_address : {false, true}) {
        cases.push_back({test::StoreBody::kRocksdb, direct, uring, by_address});
      }
    }
  }
#endif
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, RowStoreTest, ::testing::ValuesIn(Cases()));

TEST_P(RowStoreTest, PagesComeBackScanAndDrop) {
  const auto store = Make();
  WriteGeneration(store.get(), 1, 700);
  WriteGeneration(store.get(), 2, 5);
  std::mt19937_64 random(test::Seed(3));
  for (int round = 0; round < 20; ++round) {
    std::vector<uint64_t> numbers;
    for (uint64_t n = 0; n < 700; ++n) {
      if (random() % 3 == 0) numbers.push_back(n);
    }
    const PageKind kind = static_cast<PageKind>(random() % 3);
    const auto found = Read(*store, kind, 1, numbers);
    ASSERT_EQ(found.size(), numbers.size());
    for (const uint64_t n : numbers) ASSERT_EQ(found.at(n), Payload(n + 1));
  }
  EXPECT_EQ(Read(*store, PageKind::kChunk, 1, {699, 700})[700], "not found");
  EXPECT_EQ(Read(*store, PageKind::kChunk, 2, {4})[4], Payload(6));
  const auto late = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(Read(*store, PageKind::kChunk, 1, {1}, late)[1], "deadline exceeded");

  const auto cursor = store->ScanPages(PageKind::kIndex, 1, 100, 300);
  uint64_t expected = 100;
  for (;;) {
    uint64_t number = 0;
    PageView page;
    const auto more = cursor->Next(&number, &page);
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    if (!*more) break;
    ASSERT_EQ(number, expected++);
    ASSERT_EQ(page.payload, Payload(number + 1));
  }
  EXPECT_EQ(expected, 300u);

  EDO_ASSERT_OK(store->DropGeneration(1));
  EXPECT_EQ(Read(*store, PageKind::kChunk, 1, {5})[5], "not found");
  EXPECT_EQ(Read(*store, PageKind::kKeys, 1, {5})[5], "not found");
  EXPECT_EQ(Read(*store, PageKind::kChunk, 2, {4})[4], Payload(6));
  for (const StoreFile& file : store->Files()) {
    EXPECT_TRUE(!file.has_pages || file.generation == 2) << file.path;
  }
}

TEST_P(RowStoreTest, CatalogIsAllOrNothingAndKept) {
  const auto store = Make();
  const std::vector<CatalogEntry> puts{{"a", "1"}, {"b", std::string("\0\n", 2)}};
  EDO_ASSERT_OK(store->WriteCatalog(puts, {}));
  const std::vector<std::string> deletes{"a"};
  EDO_ASSERT_OK(store->WriteCatalog({}, deletes));
  const auto entries = store->ReadCatalog();
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].record, std::string("\0\n", 2));
}

TEST_P(RowStoreTest, WriterReadsBackAndLeavesNoTraceWithoutIngest) {
  const auto store = Make();
  std::string directory;
  {
    auto writer = store->NewBulkWriter(9);
    ASSERT_TRUE(writer.ok());
    directory = (*writer)->temp_directory();
    for (uint64_t n = 0; n < 50; ++n) {
      EDO_ASSERT_OK((*writer)->Put(PageKind::kKeys, n, MakePage(n, Payload(n))));
    }
    for (const uint64_t n : {0, 49, 7}) {
      const auto page = (*writer)->ReadBack(PageKind::kKeys, n);
      ASSERT_TRUE(page.ok()) << page.status().ToString();
      EXPECT_EQ(OpenPage(*page, n)->payload, Payload(n));
    }
    EXPECT_FALSE((*writer)->ReadBack(PageKind::kKeys, 50).ok());
    EDO_ASSERT_OK((*writer)->Put(PageKind::kKeys, 50, MakePage(50, "more")));  // and go on
    EXPECT_EQ(OpenPage(*(*writer)->ReadBack(PageKind::kKeys, 50), 50)->payload, "more");
  }
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_EQ(Read(*store, PageKind::kKeys, 9, {0})[0], "not found");
}

#if !defined(__SANITIZE_THREAD__)

TEST(RocksdbRowStore, ReadersBesideAWriterKeepTheirFiles) {
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  auto writer = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(writer.ok());
  WriteGeneration(writer->get(), 1, 100);
  options.create = false;
  options.read_only = true;
  auto reader = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  EDO_ASSERT_OK((*writer)->DropGeneration(1));
  WriteGeneration(writer->get(), 2, 10);
  EXPECT_EQ(Read(**reader, PageKind::kChunk, 1, {99})[99], Payload(100));
  options.read_only = false;
  const Status busy = OpenRocksdbRowStore(dir.path(), options).status();
  EXPECT_EQ(busy.code(), StatusCode::kBusy) << busy.ToString();
  EXPECT_NE(busy.message().find("LOCK"), std::string_view::npos);
  // The refused second open must not have dropped the first one's lock.
  EXPECT_EQ(OpenRocksdbRowStore(dir.path(), options).status().code(), StatusCode::kBusy);
}

TEST(RocksdbRowStore, LeftoverDirectoriesOfDeadWritersAreRemoved) {
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  { ASSERT_TRUE(OpenRocksdbRowStore(dir.path(), options).ok()); }
  std::filesystem::create_directories(dir.File("import.tmp.7"));
  test::WriteFile(dir.File("import.tmp.7/0.sst"), "half");
  options.create = false;
  options.read_only = true;
  { ASSERT_TRUE(OpenRocksdbRowStore(dir.path(), options).ok()); }
  EXPECT_TRUE(std::filesystem::exists(dir.File("import.tmp.7"))) << "a reader cleans nothing up";
  options.read_only = false;
  { ASSERT_TRUE(OpenRocksdbRowStore(dir.path(), options).ok()); }
  EXPECT_FALSE(std::filesystem::exists(dir.File("import.tmp.7")));
}

// Writes to SST files fail with "no space" after a number of bytes.
class FullDisk : public rocksdb::FileSystemWrapper {
 public:
  explicit FullDisk(uint64_t room)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), room_(room) {}
  const char* Name() const override { return "FullDisk"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    auto s = target()->NewWritableFile(name, options, file, debug);
    if (s.ok() && name.ends_with(".sst")) *file = std::make_unique<File>(std::move(*file), this);
    return s;
  }

 private:
  class File : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, FullDisk* disk)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      if (data.size() > disk_->room_) return rocksdb::IOStatus::NoSpace("injected");
      disk_->room_ -= data.size();
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }

   private:
    FullDisk* const disk_;
  };
  uint64_t room_;
};

TEST(RocksdbRowStore, AFullDiskInABulkLoadIsOneErrorAndLeavesTheRest) {
  const test::TempDir dir;
  RocksdbRowStoreOptions options;
  options.create = true;
  options.base_file_system = std::make_shared<FullDisk>(3'000'000);
  auto store = OpenRocksdbRowStore(dir.path(), options);
  ASSERT_TRUE(store.ok());
  WriteGeneration(store->get(), 1, 100);  // 1.2 MB
  auto writer = (*store)->NewBulkWriter(2);
  ASSERT_TRUE(writer.ok());
  Status s;
  for (uint64_t n = 0; n < 1000 && s.ok(); ++n) {
    s = (*writer)->Put(PageKind::kChunk, n, MakePage(n, Payload(n)));
  }
  if (s.ok()) s = (*writer)->Finish();
  EXPECT_EQ(s.code(), StatusCode::kNoSpace) << s.ToString();
  writer->reset();
  EXPECT_FALSE(std::filesystem::exists(dir.File("import.tmp.2")));
  EXPECT_EQ(Read(**store, PageKind::kChunk, 1, {99})[99], Payload(100));
}

#endif

}  // namespace
}  // namespace edo::storage
