// Compressed tables: what is compressed and what is not, that the choice is made again when all
// rows are known, and that everything that reads or copies rows - lookups, scans, reading ahead,
// loops, bulk lookups, exports, archives, dropped duplicates, another order, verify - gives the
// same values as without. Damage is named and never becomes other rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>
#include <set>

#include "edo/transfer.h"
#include "engine/compression_sample.h"
#include "engine/table_impl.h"
#include "storage/little_endian.h"
#include "storage/page_key.h"
#include "storage/rocksdb_block.h"
#include "storage/rocksdb_row_store.h"
#include "storage/size_page.h"
#include "tests/engine/lookup_fixture.h"

namespace edo {
namespace {

constexpr uint32_t kDim = 64;

enum class Kind { kOrdinary, kNear, kSmooth };

// Value (row, column): noise; 256 rows near each other; or a slow walk. The last bits of binary32
// are noise in all of them.
float Value(Kind kind, uint64_t row, uint32_t c) {
  const float noise = test::ValueOf(row, c) / 2048;  // -1 .. 1
  switch (kind) {
    case Kind::kOrdinary:
      return noise;
    case Kind::kNear:
      return test::ValueOf(row / 256, c, 7) / 2048 + noise * 0.002f;
    case Kind::kSmooth:
      return std::sin(static_cast<float>(row) * 0.001f + static_cast<float>(c)) + noise * 0.001f;
  }
  return 0;
}

std::vector<float> Values(Kind kind, uint64_t first, uint64_t count) {
  std::vector<float> values(count * kDim);
  for (uint64_t r = 0; r < count; ++r) {
    for (uint32_t c = 0; c < kDim; ++c) values[r * kDim + c] = Value(kind, first + r, c);
  }
  return values;
}

std::string KeyOf(uint64_t row) { return "k" + std::to_string(row); }

// Appends `values` in uneven batches with keys from row `first` on.
void Append(TableWriter* writer, KeyKind keys, const std::vector<float>& values, uint64_t first,
            uint64_t batch = 3333) {
  const uint64_t count = values.size() / kDim;
  for (uint64_t at = 0; at < count; at += batch) {
    const uint64_t n = std::min(batch, count - at);
    std::vector<std::string> texts;
    for (uint64_t i = 0; i < n; ++i) texts.push_back(KeyOf(first + at + i));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    TableWriter::Rows rows;
    rows.values = std::span(values).subspan(at * kDim, n * kDim);
    if (keys == KeyKind::kText) rows.text_keys = views;
    EDO_ASSERT_OK(writer->Append(rows));
  }
}

TableOptions Options(const char* codec, Compression compression = Compression::kAuto,
                     KeyKind keys = KeyKind::kDense) {
  TableOptions options;
  options.dim = kDim;
  options.codec = *CodecSpec::Parse(codec);
  options.key_kind = keys;
  options.compression = compression;
  options.reproducible = true;
  return options;
}

std::unique_ptr<Table> Make(Store* store, const std::string& name, const TableOptions& options,
                            const std::vector<float>& values, uint64_t batch = 3333) {
  auto writer = store->CreateTable(name, options);
  EXPECT_TRUE(writer.ok()) << writer.status().ToString();
  Append(writer->get(), options.key_kind, values, 0, batch);
  const auto info = (*writer)->Commit();
  EXPECT_TRUE(info.ok()) << info.status().ToString();
  return test::OpenTable(store, name);
}

std::vector<float> AllRows(const Table& table) {
  std::vector<uint64_t> rows(table.info().rows);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> out(rows.size() * kDim, -7.0f);
  EDO_EXPECT_OK(table.LookupRows(rows, {}, out.data()));
  return out;
}

void ExpectWhole(const Store& store) {
  const auto report = store.Verify({});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const Damage& d : report->damages) {
    ADD_FAILURE() << d.file << " " << d.part << " " << d.number << ": " << d.what;
  }
}

class CompressionTest : public ::testing::TestWithParam<test::StoreBody> {
 protected:
  void SetUp() override { store_ = test::NewStore(GetParam(), dir_.File("s")); }
  test::TempDir dir_;
  std::unique_ptr<Store> store_;
};
INSTANTIATE_TEST_SUITE_P(All, CompressionTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

TEST_P(CompressionTest, AutoCompressesWhatShrinksAndNothingElse) {
  struct Case {
    Kind kind;
    const char* codec;
    double most;  // part of the plain chunks; above 0.9: is not compressed
  };
  for (const Case& c : {Case{Kind::kOrdinary, "INT8", 1},
                        {Kind::kOrdinary, "F16", 1},
                        {Kind::kOrdinary, "F32", 1},
                        {Kind::kNear, "INT8", 0.4},
                        {Kind::kNear, "F16", 0.75},
                        {Kind::kSmooth, "INT8", 0.4},
                        {Kind::kSmooth, "F32", 0.85}}) {
    SCOPED_TRACE(std::string(c.codec) + " kind " + std::to_string(static_cast<int>(c.kind)));
    const std::vector<float> values = Values(c.kind, 0, 40000);
    const auto plain = Make(store_.get(), "plain", Options(c.codec, Compression::kNone), values);
    const auto chosen = Make(store_.get(), "auto", Options(c.codec), values);
    const TableInfo& info = chosen->info();
    EXPECT_EQ(plain->info().compression, Compression::kNone);
    if (c.most < 0.9) {
      EXPECT_EQ(info.compression, Compression::kZstd);
      EXPECT_LT(static_cast<double>(info.chunk_file_bytes + info.key_file_bytes),
                c.most * static_cast<double>(info.plain_chunk_bytes));
      if (GetParam() == test::StoreBody::kMemory) {
        EXPECT_EQ(AllRows(*chosen), AllRows(*plain));
        EDO_ASSERT_OK(store_->DropTable("plain"));
        EDO_ASSERT_OK(store_->DropTable("auto"));
        continue;
      }
      // What it says it would be without is what it is without; but for the files' ends.
      EXPECT_NEAR(static_cast<double>(info.plain_chunk_bytes),
                  static_cast<double>(plain->info().chunk_file_bytes),
                  0.05 * static_cast<double>(plain->info().chunk_file_bytes));
    } else {
      EXPECT_EQ(info.compression, Compression::kNone);
      EXPECT_EQ(info.chunk_rows, plain->info().chunk_rows);
      EXPECT_EQ(info.plain_chunk_bytes, 0u);
    }
    EXPECT_EQ(AllRows(*chosen), AllRows(*plain));
    EDO_ASSERT_OK(store_->DropTable("plain"));
    EDO_ASSERT_OK(store_->DropTable("auto"));
  }
}

TEST_P(CompressionTest, ASmallTableIsLeftAsItIsUnlessAskedFor) {
  const std::vector<float> values = Values(Kind::kNear, 0, 1000);
  EXPECT_EQ(Make(store_.get(), "a", Options("INT8"), values)->info().compression,
            Compression::kNone);
  const auto table = Make(store_.get(), "z", Options("INT8", Compression::kZstd), values);
  EXPECT_EQ(table->info().compression, Compression::kZstd);
  const auto empty = Make(store_.get(), "e", Options("INT8", Compression::kZstd), {});
  EXPECT_EQ(empty->info().compression, Compression::kZstd);
  EXPECT_EQ(empty->info().rows, 0u);
  const auto one =
      Make(store_.get(), "1", Options("F32", Compression::kZstd), Values(Kind::kOrdinary, 0, 1));
  EXPECT_EQ(AllRows(*one), Values(Kind::kOrdinary, 0, 1));
  ExpectWhole(*store_);
}

// The first 4 MiB of rows speak for one choice, the whole table for the other: the table ends as if
// all had been known from the start, and nothing of the first try is left.
TEST_P(CompressionTest, TheWholeTableHasTheLastWord) {
  for (const bool near_first : {false, true}) {
    for (const KeyKind keys : {KeyKind::kDense, KeyKind::kText}) {
      constexpr uint64_t kFirst = 17000, kRows = 117000;
      std::vector<float> values = Values(near_first ? Kind::kNear : Kind::kOrdinary, 0, kFirst);
      const auto rest = Values(near_first ? Kind::kOrdinary : Kind::kNear, kFirst, kRows - kFirst);
      values.insert(values.end(), rest.begin(), rest.end());
      const auto table =
          Make(store_.get(), "t", Options("F32", Compression::kAuto, keys), values, 50000);
      EXPECT_EQ(table->info().compression, near_first ? Compression::kNone : Compression::kZstd);
      EXPECT_EQ(AllRows(*table), values);
      if (keys == KeyKind::kText) {
        const std::string key = KeyOf(70001);
        const std::string_view view = key;
        EXPECT_EQ((*table->FindRows(std::span(&view, 1)))[0], 70001u);
      }
      std::set<uint64_t> generations;
      const auto& impl = dynamic_cast<const engine::TableImpl&>(*table);
      for (const auto& file : impl.context().rows->Files()) {
        if (file.has_pages) generations.insert(file.generation);
      }
      EXPECT_EQ(generations, (std::set<uint64_t>{table->info().generation}));
      EDO_ASSERT_OK(store_->DropTable("t"));
    }
  }
}

TEST_P(CompressionTest, BatchesDoNotChangeWhatIsWritten) {
  const std::vector<float> values = Values(Kind::kSmooth, 0, 90000);
  const auto a = Make(store_.get(), "a", Options("INT8"), values, 1000);
  const auto b = Make(store_.get(), "b", Options("INT8"), values, 90000);
  EXPECT_EQ(a->info().compression, Compression::kZstd);
  EXPECT_EQ(a->info().chunk_rows, b->info().chunk_rows);
  const auto& rows = *dynamic_cast<const engine::TableImpl&>(*a).context().rows;
  const auto sizes = [&](const Table& t) {
    std::vector<uint32_t> found;
    for (uint64_t n = 0; n < t.info().chunk_count; ++n) {
      rows.ReadPages(storage::PageKind::kChunk, t.info().generation, std::span(&n, 1), std::nullopt,
                     [&](size_t, const Status& s, const storage::PageView& page) {
                       EDO_EXPECT_OK(s);
                       found.push_back(page.page_bytes);
                     });
    }
    return found;
  };
  EXPECT_EQ(sizes(*a), sizes(*b));
}

TEST_P(CompressionTest, EverythingThatReadsRowsGivesTheSame) {
  const uint64_t seed = test::Seed(4);
  std::mt19937_64 random(seed);
  constexpr uint64_t kRows = 30000;
  const std::vector<float> values = Values(Kind::kNear, 0, kRows);
  for (const char* codec : {"INT8", "F16", "F32"}) {
    SCOPED_TRACE(codec);
    const auto plain = Make(store_.get(), std::string("p") + codec,
                            Options(codec, Compression::kNone, KeyKind::kText), values);
    const auto packed = Make(store_.get(), std::string("z") + codec,
                             Options(codec, Compression::kZstd, KeyKind::kText), values);
    const std::vector<float> expected = AllRows(*plain);
    EXPECT_EQ(AllRows(*packed), expected);
    EXPECT_EQ(test::PlainRows(*packed, {0, 77, kRows - 1}),
              test::PlainRows(*plain, {0, 77, kRows - 1}));
    ScanOptions part;
    part.first_row = 12345;
    part.row_count = 4321;
    auto scan = packed->Scan(part);
    ASSERT_TRUE(scan.ok());
    ScanBatch batch;
    uint64_t row = part.first_row;
    while (*(*scan)->Next(&batch)) {
      ASSERT_TRUE(std::equal(batch.values.begin(), batch.values.end(),
                             expected.begin() + static_cast<ptrdiff_t>(row * kDim)));
      row += batch.row_count;
    }
    EXPECT_EQ(row, part.first_row + part.row_count);
    // Ahead, in loops, in bulk.
    std::vector<std::vector<uint64_t>> batches(30);
    for (auto& b : batches) b = test::SomeRows(kRows, 1 + random() % 500, 0, random);
    auto ticket = packed->PrefetchRows(batches[0]);
    ASSERT_TRUE(ticket.ok());
    EDO_ASSERT_OK((*ticket)->Wait());
    std::vector<float> out(batches[0].size() * kDim);
    EDO_ASSERT_OK(packed->LookupRows(batches[0], {}, out.data()));
    const auto check = [&](const std::vector<uint64_t>& rows, std::span<const float> got) {
      ASSERT_EQ(got.size(), rows.size() * kDim);
      for (size_t i = 0; i < rows.size(); ++i) {
        for (uint32_t c = 0; c < kDim; ++c) {
          ASSERT_EQ(got[i * kDim + c], expected[rows[i] * kDim + c]) << rows[i];
        }
      }
    };
    check(batches[0], out);
    auto pipeline = packed->MakePipeline(KeysFrom(batches), {.depth = 4}).value();
    size_t next = 0;
    for (const PipelineBatch& b : *pipeline) {
      EDO_ASSERT_OK(b.status);
      check(batches[next++], b.values);
    }
    EXPECT_EQ(next, batches.size());
    std::vector<uint64_t> stream;
    for (const auto& b : batches) stream.insert(stream.end(), b.begin(), b.end());
    uint64_t seen = 0;
    EDO_ASSERT_OK(
        packed->BulkLookup(KeysFrom(batches), {.window_bytes = 300000}, [&](const BulkRows& rows) {
          check({stream.begin() + static_cast<ptrdiff_t>(rows.first),
                 stream.begin() + static_cast<ptrdiff_t>(rows.first + rows.count)},
                rows.values);
          seen += rows.count;
          return Status::Ok();
        }));
    EXPECT_EQ(seen, stream.size());
    // Out as an archive of codes, and in again, compressed or not.
    for (const char* format : {"edo", "npy"}) {
      ExportOptions to;
      to.format = format;
      to.path = dir_.File(std::string("plain.") + format);
      to.force = true;
      ASSERT_TRUE(Export(*plain, to).ok());
      const std::string bytes = test::ReadFile(to.path);
      to.path = dir_.File(std::string("packed.") + format);
      ASSERT_TRUE(Export(*packed, to).ok());
      if (format == std::string_view("npy")) {
        EXPECT_EQ(test::ReadFile(to.path), bytes);
      }
    }
    for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
      ImportOptions from;
      from.source.path = dir_.File("packed.edo");
      from.table = "back";
      from.replace = true;
      from.compression = compression;
      const auto report = Import(store_.get(), from);
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      EXPECT_EQ(report->table.compression, compression);
      EXPECT_EQ(AllRows(*test::OpenTable(store_.get(), "back")), expected);
    }
  }
  ExpectWhole(*store_);
}

TEST_P(CompressionTest, DuplicatesAreDroppedAndRowsPutInOrder) {
  constexpr uint64_t kRows = 30000;
  const std::vector<float> values = Values(Kind::kNear, 0, kRows);
  for (const Compression compression : {Compression::kAuto, Compression::kZstd}) {
    for (const OnDuplicate policy : {OnDuplicate::kFirst, OnDuplicate::kLast}) {
      TableOptions options = Options("INT8", compression, KeyKind::kText);
      options.on_duplicate = policy;
      options.replace = true;
      auto writer = store_->CreateTable("t", options);
      ASSERT_TRUE(writer.ok());
      Append(writer->get(), KeyKind::kText, values, 0);
      Append(writer->get(), KeyKind::kText, Values(Kind::kNear, 100000, 50), 200);  // again
      ASSERT_TRUE((*writer)->Commit().ok());
      EXPECT_EQ((*writer)->dropped().size(), 50u);
      const auto table = test::OpenTable(store_.get(), "t");
      EXPECT_EQ(table->info().rows, kRows);
      EXPECT_EQ(table->info().compression, Compression::kZstd);
      const std::string keys[] = {KeyOf(0), KeyOf(200), KeyOf(29999)};
      const std::string_view views[] = {keys[0], keys[1], keys[2]};
      std::vector<float> out(3 * kDim);
      EDO_ASSERT_OK(table->Lookup(std::span<const std::string_view>(views), {}, out.data()));
      const uint64_t row_of_200 = policy == OnDuplicate::kFirst ? 200 : 100000;
      for (uint32_t c = 0; c < kDim; ++c) {
        EXPECT_NEAR(out[c], Value(Kind::kNear, 0, c), 0.02f);
        EXPECT_NEAR(out[kDim + c], Value(Kind::kNear, row_of_200, c), 0.02f);
        EXPECT_NEAR(out[2 * kDim + c], Value(Kind::kNear, 29999, c), 0.02f);
      }
    }
  }
  // Rows that stand far from their like: another order makes them compressible.
  constexpr uint64_t kGroups = kRows / 10;
  std::vector<float> mixed(kRows * kDim);
  for (uint64_t r = 0; r < kRows; ++r) {
    for (uint32_t c = 0; c < kDim; ++c) {
      mixed[r * kDim + c] =
          Value(Kind::kOrdinary, r % kGroups, c) + Value(Kind::kOrdinary, r, c) / 500;
    }
  }
  const auto plain = Make(store_.get(), "plain", Options("INT8", Compression::kNone), mixed);
  TableOptions tiered = Options("INT8");
  tiered.order.kind = OrderKind::kTiered;
  const auto ordered = Make(store_.get(), "ordered", tiered, mixed);
  EXPECT_EQ(Make(store_.get(), "file", Options("INT8"), mixed)->info().compression,
            Compression::kNone);
  EXPECT_EQ(ordered->info().compression, Compression::kZstd);
  std::vector<int64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> a(kRows * kDim), b(kRows * kDim);
  EDO_ASSERT_OK(plain->Lookup(std::span<const int64_t>(ids), {}, a.data()));
  EDO_ASSERT_OK(ordered->Lookup(std::span<const int64_t>(ids), {}, b.data()));
  EXPECT_EQ(a, b);
  ExpectWhole(*store_);
}

TEST(CompressionSample, TheSmallestChunkThatServesAndTheBestForm) {
  // Rows that repeat after 20 KiB: only chunks of 32 KiB see it.
  std::mt19937_64 random(5);
  std::string period(20 << 10, '\0');
  for (char& c : period) c = static_cast<char>(random());
  std::string codes = period + period;
  engine::CompressionSample far(64, 1);
  codes.resize(far.window_rows() * 64);
  far.Add(codes, 1 << 20);
  const auto found = far.Decide();
  EXPECT_TRUE(found.plan.packed);
  EXPECT_EQ(found.plan.rows, far.window_rows());
  // Rows that change little from one to the next: small chunks do, and differences.
  std::string walk(codes.size(), '\0');
  for (size_t i = 64; i < walk.size(); ++i) {
    walk[i] = static_cast<char>(walk[i - 64] + static_cast<int>(random() % 3) - 1);
  }
  engine::CompressionSample near(64, 1);
  near.Add(walk, 1 << 20);
  EXPECT_EQ(near.Decide().plan, (engine::ChunkPlan{true, 8192 / 64, {1, true}}));
  // Windows weigh by what they stand for, also after half of them had to go.
  std::string noise = codes;
  for (char& c : noise) c = static_cast<char>(random());
  engine::CompressionSample mixed(64, 1);
  for (int i = 0; i < 100; ++i) mixed.Add(i == 40 ? walk : noise, 1);
  EXPECT_FALSE(mixed.Decide().plan.packed);
  for (int i = 0; i < 100; ++i) mixed.Add(walk, 1000);
  EXPECT_TRUE(mixed.Decide().plan.packed);
  engine::CompressionSample none(64, 1);
  for (int i = 0; i < 50; ++i) none.Add(noise, 1);
  EXPECT_FALSE(none.Decide().plan.packed);
  EXPECT_TRUE(none.Decide().best.packed);
}

#if !defined(__SANITIZE_THREAD__)

// The engine over disks of every kind: places by arithmetic, through RocksDB, with and without
// io_uring and O_DIRECT.
TEST(Compression, ByAddressAndThroughRocksdb) {
  const test::TempDir dir;
  const std::vector<float> values = Values(Kind::kNear, 0, 20000);
  {
    auto store = test::NewStore(test::StoreBody::kRocksdb, dir.File("s"));
    Make(store.get(), "t", Options("INT8", Compression::kZstd), values);
  }
  std::vector<float> first;
  for (int mode = 0; mode < 8; ++mode) {
    StoreOptions options;
    options.read_only = true;
    options.direct_reads = (mode & 1) != 0;
    options.io_uring = (mode & 2) == 0;
    options.chunk_files_directly = (mode & 4) == 0;
    options.read_threads = mode % 3;
    auto store = Store::Open(dir.File("s"), options);
    ASSERT_TRUE(store.ok());
    const auto table = test::OpenTable(store->get(), "t");
    const std::vector<float> got = AllRows(*table);
    if (first.empty()) first = got;
    EXPECT_EQ(got, first);
    const Stats stats = (*store)->stats();
    EXPECT_EQ(options.chunk_files_directly ? stats.chunks_by_multiget : stats.chunks_by_address, 0u)
        << stats.read_path_note;
  }
}

// A page whose checksum is right and whose packed bytes are not: kCorruption that names chunk and
// file, by every way of reading, and the rows of other chunks are right.
TEST(Compression, APackedChunkThatDoesNotUnpackIsCorruption) {
  const test::TempDir dir;
  const std::vector<float> values = Values(Kind::kNear, 0, 20000);
  uint64_t generation = 0;
  uint32_t chunk_rows = 0;
  {
    auto store = test::NewStore(test::StoreBody::kRocksdb, dir.File("s"));
    const auto table = Make(store.get(), "t", Options("INT8", Compression::kZstd), values);
    generation = table->info().generation;
    chunk_rows = table->info().chunk_rows;
  }
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(dir.File("s"))) {
    if (entry.path().extension() == ".sst" && entry.file_size() > 100'000) file = entry.path();
  }
  ASSERT_FALSE(file.empty());
  std::string bytes = test::ReadFile(file);
  uint64_t at = 0;
  for (uint64_t n = 0; n < 3; ++n) {
    const auto page =
        storage::PageInBlock(std::string_view(bytes).substr(at),
                             storage::PageId(storage::PageKind::kChunk, generation, n));
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    if (n == 2) {
      std::string bad(*page);
      storage::StoreLE<uint32_t>(0x7fffffff, bad.data() + storage::kPageHeaderBytes);
      const uint32_t count = storage::LoadLE<uint32_t>(bad.data() + 4) & 0x7fffffffu;
      storage::SealPage(n, count, &bad, true);
      bytes.replace(static_cast<size_t>(page->data() - bytes.data()), bad.size(), bad);
      break;
    }
    at += storage::BareBlockBytes(page->size());
  }
  test::WriteFile(file, bytes);
  for (const bool by_address : {true, false}) {
    StoreOptions options;
    options.read_only = true;
    options.chunk_files_directly = by_address;
    auto store = Store::Open(dir.File("s"), options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    const auto table = test::OpenTable(store->get(), "t");
    std::vector<uint64_t> rows{0, 2 * chunk_rows, 3 * chunk_rows};
    std::vector<float> out(rows.size() * kDim, -1.0f);
    LookupReport report;
    const Status s = table->LookupRows(rows, {}, out.data(), &report);
    EXPECT_EQ(s.code(), StatusCode::kCorruption);
    EXPECT_NE(s.message().find("chunk 2"), std::string_view::npos) << s.ToString();
    EXPECT_NE(s.message().find(".sst"), std::string_view::npos) << s.ToString();
    EXPECT_EQ(report.states[1], RowState::kUnread);
    EXPECT_EQ(out[kDim], -1.0f);
    EXPECT_NEAR(out[0], values[0], 0.02f);
    EXPECT_NEAR(out[2 * kDim], values[rows[2] * kDim], 0.02f);
    auto scan = table->Scan({});
    ASSERT_TRUE(scan.ok());
    ScanBatch batch;
    Status ended;
    for (;;) {
      const auto more = (*scan)->Next(&batch);
      ended = more.status();
      if (!more.ok() || !*more) break;
    }
    EXPECT_EQ(ended.code(), StatusCode::kCorruption);
    const auto verified = (*store)->Verify({});
    ASSERT_TRUE(verified.ok());
    const auto names_chunk = [](const Damage& d) { return d.part == "chunk" && d.number == 2; };
    EXPECT_TRUE(std::any_of(verified->damages.begin(), verified->damages.end(), names_chunk));
  }
}

#endif

}  // namespace
}  // namespace edo
