// Streams of pages against a model that knows what every page holds: random orders, runs,
// mixtures of kinds and generations, pages that are not there, several threads; and the same with a
// ring that fails in every way it can. Whatever the ring does, every page arrives once and is
// right, because what does not prove at its address is read through RocksDB.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "storage/rocksdb_page_reader.h"
#include "storage/rocksdb_row_store.h"
#include "tests/storage/faulty_ring.h"
#include "tests/storage/row_store_pages.h"

#if !defined(__SANITIZE_THREAD__)

namespace edo::storage {
namespace {

constexpr uint64_t kPages = 500;

// Chunks of two blocks in generation 2, of one in 1, compressed ones of any size in 3.
std::string PayloadOf(uint64_t generation, uint64_t number) {
  if (generation == 3) return HalfRandom(number);
  std::string payload = Payload(number + generation);
  if (generation == 2) payload += std::string(3000, 'x');
  return payload;
}

// Gives requests at random, some of them only after others are done, and checks what becomes of
// them.
class RandomStream : public PageStream {
 public:
  RandomStream(uint64_t seed, size_t count) : random_(seed), left_(count) {}
  ~RandomStream() override { EXPECT_EQ(open_, 0u) << "every page arrives"; }

  bool Next(PageRequest* request) override {
    if (left_ == 0 || (open_ > 0 && random_() % 50 == 0)) return false;  // none at this moment
    --left_;
    ++open_;
    ++now_.number;
    if (run_ == 0) {
      now_.kind = random_() % 6 == 0 ? static_cast<PageKind>(random_() % 3) : PageKind::kChunk;
      now_.generation = 1 + random_() % 3;
      now_.number = random_() % (kPages + 5);  // the last five are not there
      run_ = random_() % 3 == 0 ? 1 + random_() % 80 : 1;
    }
    --run_;
    now_.tag = tags_.size();
    now_.deadline.reset();
    if (random_() % 100 == 0) {
      const auto hour = std::chrono::hours(random_() % 2 == 0 ? 1 : -1);
      now_.deadline = std::chrono::steady_clock::now() + hour;
    }
    tags_.push_back(false);
    *request = now_;
    return true;
  }
  void Done(const PageRequest& request, const Status& status, const PageView& page) override {
    ASSERT_LT(request.tag, tags_.size());
    ASSERT_FALSE(tags_[request.tag]) << "a page arrives once";
    tags_[request.tag] = true;
    --open_;
    if (request.deadline && *request.deadline < std::chrono::steady_clock::now()) {
      ASSERT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    } else if (request.number >= kPages) {
      ASSERT_EQ(status.code(), StatusCode::kNotFound);
    } else {
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(page.payload, PayloadOf(request.generation, request.number));
    }
  }

 private:
  std::mt19937_64 random_;
  size_t left_;
  size_t open_ = 0;
  size_t run_ = 0;
  PageRequest now_;
  std::vector<bool> tags_;
};

class PageReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RocksdbRowStoreOptions options;
    options.create = true;
    const auto store = OpenRocksdbRowStore(dir_.path(), options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    for (const uint64_t generation : {1, 2}) {
      WriteGeneration(store->get(), generation, kPages,
                      [&](uint64_t n) { return PayloadOf(generation, n - generation); });
    }
    WritePackedGeneration(store->get(), 3, kPages, [](uint64_t n) { return PayloadOf(3, n - 3); });
  }
  std::unique_ptr<RowStore> Open(RocksdbRowStoreOptions options = {}) {
    options.read_only = true;
    auto store = OpenRocksdbRowStore(dir_.path(), options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
  std::unique_ptr<RowStore> OpenFaulty(const RingFaults& faults, uint64_t seed) {
    RocksdbRowStoreOptions options;
    options.direct_reads = seed % 2 == 0;
    auto next = std::make_shared<std::atomic<uint64_t>>(seed);
    options.rings = [faults, next]() -> std::unique_ptr<BlockRing> {
      int error = 0;
      std::unique_ptr<BlockRing> ring = *next % 3 == 0 ? MakePreadRing() : MakeUringRing(&error);
      if (!ring) ring = MakePreadRing();
      return std::make_unique<FaultyRing>(std::move(ring), faults, ++*next);
    };
    return Open(options);
  }
  test::TempDir dir_;
};

TEST_F(PageReaderTest, RandomStreamsGiveWhatTheModelSays) {
  const uint64_t seed = test::Seed(5);
  for (int mode = 0; mode < 8; ++mode) {
    RocksdbRowStoreOptions options;
    options.direct_reads = (mode & 1) != 0;
    options.io_uring = (mode & 2) == 0;
    options.by_address = (mode & 4) == 0;
    SCOPED_TRACE("mode " + std::to_string(mode));
    const auto store = Open(options);
    for (uint64_t round = 0; round < 5; ++round) {
      RandomStream stream(seed + 100 * round, 3000);
      store->ReadStream(&stream);
    }
    const Stats stats = StatsOf(*store);
    if (options.by_address) {
      EXPECT_GT(stats.chunks_by_address, 5 * stats.chunks_by_multiget) << stats.read_path_note;
      EXPECT_GT(stats.read_depth_samples, 0u);
      EXPECT_GE(stats.read_depth_sum, stats.read_depth_samples);
      EXPECT_TRUE(stats.read_path.starts_with("SST by arithmetic")) << stats.read_path;
    } else {
      EXPECT_EQ(stats.chunks_by_address, 0u);
    }
    EXPECT_EQ(stats.read_path_note, options.io_uring ? "" : "io_uring switched off by option");
  }
}

TEST_F(PageReaderTest, SeveralThreadsReadAtOnce) {
  const uint64_t seed = test::Seed(6);
  const auto store = Open();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; round < 4; ++round) {
        RandomStream stream(seed + 1000 * t + round, 2000);
        store->ReadStream(&stream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PageReaderTest, OneReadPagesIsSplitAmongThreads) {
  for (const uint32_t threads : {1, 2, 7}) {
    RocksdbRowStoreOptions options;
    options.read_threads = threads;
    const auto store = Open(options);
    for (const PageKind kind : {PageKind::kChunk, PageKind::kKeys}) {
      const auto found = Read(*store, kind, 1, Numbers(kPages));
      ASSERT_EQ(found.size(), kPages);
      for (const auto& [n, payload] : found) ASSERT_EQ(payload, PayloadOf(1, n));
    }
  }
}

TEST_F(PageReaderTest, NeighboursAreReadTogether) {
  const auto store = Open();
  Read(*store, PageKind::kChunk, 1, {7});  // makes the map
  const Stats before = StatsOf(*store);
  Read(*store, PageKind::kChunk, 1, Numbers(320));
  const Stats after = StatsOf(*store);
  EXPECT_EQ(after.chunks_by_address - before.chunks_by_address, 320u);
  EXPECT_EQ(after.device_bytes - before.device_bytes, 320u * 4096);
  EXPECT_EQ(after.device_reads - before.device_reads, 10u) << "32 chunks of 4096 bytes a read";
}

TEST_F(PageReaderTest, CompressedNeighboursAreReadTogether) {
  const auto store = Open();
  Read(*store, PageKind::kChunk, 3, {7});  // makes the map
  const Stats before = StatsOf(*store);
  const auto found = Read(*store, PageKind::kChunk, 3, Numbers(kPages));
  for (const auto& [n, payload] : found) ASSERT_EQ(payload, PayloadOf(3, n));
  const Stats after = StatsOf(*store);
  EXPECT_EQ(after.chunks_by_address - before.chunks_by_address, kPages) << after.read_path_note;
  uint64_t file_bytes = 0;
  for (const StoreFile& file : store->Files()) {
    if (file.generation == 3 && file.kind == PageKind::kChunk) file_bytes = file.bytes;
  }
  // Reads of 128 KiB, a sector in common between two of them, and some that a full queue cut short.
  const uint64_t reads = after.device_reads - before.device_reads;
  EXPECT_LE(after.device_bytes - before.device_bytes, file_bytes + reads * 8192);
  EXPECT_LE(reads, file_bytes / (64 << 10) + 2);
}

TEST_F(PageReaderTest, AStreamOfManyGenerationsHoldsFewMaps) {
  constexpr uint64_t kGenerations = 40;
  RocksdbRowStoreOptions options;
  auto store = OpenRocksdbRowStore(dir_.path(), options);
  ASSERT_TRUE(store.ok());
  for (uint64_t g = 10; g < 10 + kGenerations; ++g) WriteGeneration(store->get(), g, 3);
  class Stream : public PageStream {
   public:
    bool Next(PageRequest* request) override {
      if (at_ == 3 * kGenerations * 2) return false;
      *request = {PageKind::kChunk, 10 + at_ % kGenerations, at_ / kGenerations % 3, {}, at_};
      ++at_;
      return true;
    }
    void Done(const PageRequest& request, const Status& status, const PageView& page) override {
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(page.payload, Payload(request.number + request.generation));
      ++done_;
    }
    uint64_t at_ = 0, done_ = 0;
  } stream;
  (*store)->ReadStream(&stream);
  EXPECT_EQ(stream.done_, stream.at_);
}

struct FaultCase {
  const char* name;
  RingFaults faults;
  const char* note;  // part of what Stats says; or null
};
class PageReaderFaultTest : public PageReaderTest,
                            public ::testing::WithParamInterface<FaultCase> {};

TEST_P(PageReaderFaultTest, EveryPageArrivesOnceAndIsRight) {
  const uint64_t seed = test::Seed(8);
  std::string notes;
  for (uint64_t round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto store = OpenFaulty(GetParam().faults, seed + round);
    for (uint64_t i = 0; i < 3; ++i) {
      RandomStream stream(seed + 10 * round + i, 2000);
      store->ReadStream(&stream);
    }
    for (const uint64_t g : {2, 3}) {
      const auto found = Read(*store, PageKind::kChunk, g, Numbers(kPages));
      for (const auto& [n, payload] : found) ASSERT_EQ(payload, PayloadOf(g, n));
    }
    EXPECT_GT(StatsOf(*store).chunks_by_address, 0u);
    notes += StatsOf(*store).read_path_note;
  }
  if (GetParam().note) {
    EXPECT_NE(notes.find(GetParam().note), std::string::npos) << notes;
  } else {
    EXPECT_EQ(notes, "");
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, PageReaderFaultTest,
    ::testing::Values(
        FaultCase{"Reordered", {.reorder = true}, nullptr},
        FaultCase{"QueueFull", {.queue_full = 300}, nullptr},
        FaultCase{"QueueAlwaysFull", {.queue_full = 1000}, "io_uring takes no reads"},
        FaultCase{"Again", {.again = 300, .reorder = true}, nullptr},
        FaultCase{"OftenAgain", {.again = 900}, nullptr},
        FaultCase{"ShortReads", {.short_read = 300, .reorder = true}, nullptr},
        FaultCase{"ReadErrors", {.read_error = 5}, "RocksDB read it"},
        FaultCase{"ManyReadErrors", {.read_error = 500}, "RocksDB read it"},
        FaultCase{"FlippedBytes", {.flipped_byte = 10, .reorder = true}, "RocksDB read it"},
        FaultCase{"Breaks", {.broken = 20, .reorder = true}, "io_uring failed: Input/output error"},
        FaultCase{"BreaksAtOnce", {.broken = 1000}, "io_uring failed: Input/output error"},
        FaultCase{"Everything",
                  {.read_error = 10,
                   .short_read = 50,
                   .flipped_byte = 10,
                   .queue_full = 50,
                   .again = 50,
                   .broken = 3,
                   .reorder = true},
                  "RocksDB read it"}),
    [](const auto& info) { return info.param.name; });

// Damage that is on the disk: the outcome is what RocksDB says, whichever way the page was read.
TEST_F(PageReaderTest, DamageOnDiskIsReportedAsRocksdbReportsIt) {
  std::string victim;
  {
    const auto store = Open();
    victim = store->FileOf(PageKind::kChunk, 1, 77);
  }
  const std::string good = test::ReadFile(victim);
  std::mt19937_64 random(test::Seed(9));
  for (int round = 0; round < 60; ++round) {
    std::string bytes = good;
    const size_t at = 77 * 4096 + random() % 4096;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    test::WriteFile(victim, bytes);
    SCOPED_TRACE("byte " + std::to_string(at % 4096) + " of the block");
    std::vector<std::string> said;
    for (const bool by_address : {false, true}) {
      RocksdbRowStoreOptions options;
      options.by_address = by_address;
      const auto store = Open(options);
      std::string outcome;
      store->ReadPages(PageKind::kChunk, 1, std::vector<uint64_t>{76, 77, 78}, std::nullopt,
                       [&](size_t i, const Status& s, const PageView& page) {
                         EXPECT_TRUE(i == 1 || s.ok()) << s.ToString();
                         if (i != 1) return;
                         outcome = s.ToString();
                         if (s.ok()) {
                           EXPECT_EQ(page.payload, PayloadOf(1, 77));
                         } else {
                           EXPECT_NE(outcome.find(victim), std::string::npos) << outcome;
                         }
                       });
      said.push_back(outcome);
      EXPECT_EQ(StatsOf(*store).chunks_by_address >= 2, by_address);
    }
    // RocksDB's own checksum covers itself; there the page proves itself all the same.
    const size_t page_bytes = kPageHeaderBytes + PayloadOf(1, 77).size();
    if (at % 4096 < 20 + page_bytes + 9) {  // key, page, end
      EXPECT_NE(said[0], "ok");
      EXPECT_EQ(said[0], said[1]);
    } else if (said[0] != "ok") {
      EXPECT_EQ(said[0], said[1]);
    }
  }
  // The end of the file is gone: index and all, so the database notices when it is opened; while it
  // is open, reads behind the end are damage.
  test::WriteFile(victim, good);
  const auto store = Open();
  ASSERT_EQ(Read(*store, PageKind::kChunk, 1, {3})[3], PayloadOf(1, 3));
  std::filesystem::resize_file(victim, 100 * 4096 + 50);
  EXPECT_EQ(Read(*store, PageKind::kChunk, 1, {3, 99, 100, 200})[99], PayloadOf(1, 99));
  EXPECT_EQ(Read(*store, PageKind::kChunk, 1, {3, 99, 100, 200})[100], "corruption");
  EXPECT_EQ(Read(*store, PageKind::kChunk, 1, {200})[200], "corruption");
}

TEST_F(PageReaderTest, AGenerationIsDroppedWhileItIsRead) {
  auto store = OpenRocksdbRowStore(dir_.path(), {});
  ASSERT_TRUE(store.ok());
  class Dropping : public PageStream {
   public:
    explicit Dropping(RowStore* store) : store_(store) {}
    bool Next(PageRequest* request) override {
      if (at_ == kPages) return false;
      *request = {PageKind::kChunk, 1, at_++, {}, 0};
      return true;
    }
    void Done(const PageRequest& request, const Status& status, const PageView& page) override {
      if (done_++ == 100) EDO_EXPECT_OK(store_->DropGeneration(1));
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(page.payload, PayloadOf(1, request.number));
    }
    RowStore* const store_;
    uint64_t at_ = 0, done_ = 0;
  } stream(store->get());
  (*store)->ReadStream(&stream);
  EXPECT_EQ(stream.done_, kPages) << "a reader keeps its files";
  EXPECT_EQ(Read(**store, PageKind::kChunk, 1, {5})[5], "not found") << "and those after it do not";
  EXPECT_EQ(Read(**store, PageKind::kChunk, 2, {5})[5], PayloadOf(2, 5));
}

}  // namespace
}  // namespace edo::storage

#endif
