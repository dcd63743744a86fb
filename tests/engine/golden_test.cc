// Format version 1 for ever: the store in tests/data/v1/store was written once and must stay
// readable, value by value and page by page. What is written today must give the same page bytes.
// (Rows of INT8 and L4+4 got further forms once, before the first release; stores from before are
// in tests/data/v1/early.) EDO_WRITE_GOLDEN=DIR writes such a store (only to add tables to a new
// version's folder).
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "edo/store.h"
#include "engine/table_impl.h"
#include "storage/learned_pages.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

constexpr uint64_t kRows = 700;

struct GoldenTable {
  const char* name;
  KeyKind kind;
  const char* codec;
  uint32_t dim;
};
constexpr GoldenTable kTables[] = {
    {"dense-f32", KeyKind::kDense, "F32", 5},     {"int64-f16", KeyKind::kInt64, "F16", 16},
    {"text-int8", KeyKind::kText, "INT8", 100},   {"text-bf16", KeyKind::kText, "BF16", 3},
    {"dense-int8", KeyKind::kDense, "INT8", 300},
};

std::string TextKey(uint64_t row) {
  if (row == 0) return "";
  if (row == 1) return std::string("\0\n\xff ", 4);
  return "word" + std::to_string(row);
}
int64_t IntKey(uint64_t row) { return static_cast<int64_t>(row * 0x9e3779b97f4a7c15u); }

void WriteTable(Store* store, const GoldenTable& t, const RowOrder& order,
                Compression compression = Compression::kAuto, std::vector<float> values = {},
                std::vector<std::byte> learned = {}, std::vector<HotTier> hot = {}) {
  TableOptions options;
  options.hot = std::move(hot);
  options.order = order;
  options.dim = t.dim;
  options.compression = compression;
  options.learned = std::move(learned);
  options.key_kind = t.kind;
  options.codec = *CodecSpec::Parse(t.codec);
  options.reproducible = true;
  options.metadata = {{"licence", "CC0-1.0"}};
  auto writer = store->CreateTable(t.name, options);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  if (values.empty()) values = test::RowsOf(0, kRows, t.dim);
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  for (uint64_t r = 0; r < kRows; ++r) {
    texts.push_back(TextKey(r));
    ints.push_back(IntKey(r));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  TableWriter::Rows rows;
  rows.values = values;
  if (t.kind == KeyKind::kText) rows.text_keys = views;
  if (t.kind == KeyKind::kInt64) rows.int_keys = ints;
  EDO_ASSERT_OK((*writer)->Append(rows));
  ASSERT_TRUE((*writer)->Commit().ok());
}

void WriteTables(Store* store) {
  for (const GoldenTable& t : kTables) WriteTable(store, t, {});
}

// Tables in another order than that of their rows (tests/data/v1/store_ordered).
constexpr GoldenTable kOrderedTables[] = {
    {"dense-tiered", KeyKind::kDense, "INT8", 20},
    {"text-counts", KeyKind::kText, "F16", 7},
    {"int64-trace", KeyKind::kInt64, "F32", 5},
};

void WriteOrderedTables(Store* store, const test::TempDir& dir) {
  std::string counts, trace;
  for (uint64_t r = 2; r < kRows; ++r) {
    counts += TextKey(r) + "\t" + std::to_string(r * 37 % 101) + "\n";
    trace += std::to_string(IntKey(r * r % kRows)) + (r % 5 == 0 ? "\n" : " ");
  }
  test::WriteFile(dir.File("counts"), counts);
  test::WriteFile(dir.File("trace"), trace);
  const RowOrder orders[] = {{OrderKind::kTiered, ""},
                             {OrderKind::kCounts, dir.File("counts")},
                             {OrderKind::kTrace, dir.File("trace")}};
  for (size_t i = 0; i < std::size(kOrderedTables); ++i) {
    WriteTable(store, kOrderedTables[i], orders[i]);
  }
}

// Tables whose chunks are compressed (tests/data/v1/store_packed): smooth rows, so that they
// shrink.
constexpr GoldenTable kPackedTables[] = {
    {"dense-f32", KeyKind::kDense, "F32", 24},    {"int64-f16", KeyKind::kInt64, "F16", 16},
    {"text-int8", KeyKind::kText, "INT8", 100},   {"text-bf16-tiered", KeyKind::kText, "BF16", 12},
    {"dense-noise", KeyKind::kDense, "INT8", 20},
};

std::vector<float> PackedRows(const GoldenTable& t) {
  if (t.name == std::string_view("dense-noise")) return test::RowsOf(0, kRows, t.dim);
  std::vector<float> values(kRows * t.dim);
  for (uint64_t r = 0; r < kRows; ++r) {
    for (uint32_t c = 0; c < t.dim; ++c) {
      values[r * t.dim + c] = static_cast<float>(c + 1) + static_cast<float>(r / 16) / 64.0f;
    }
  }
  return values;
}

void WritePackedTables(Store* store) {
  for (const GoldenTable& t : kPackedTables) {
    RowOrder order;
    if (std::string_view(t.name).ends_with("tiered")) order.kind = OrderKind::kTiered;
    WriteTable(store, t, order, Compression::kZstd, PackedRows(t));
  }
}

// Tables of every codec below INT8 (tests/data/v1/store_codecs). What codecs learn is given, from
// numbers that every machine has: the golden bytes are those of encoding.
constexpr GoldenTable kCodecTables[] = {
    {"f8", KeyKind::kDense, "F8", 20},          {"l4", KeyKind::kText, "L4", 101},
    {"l4+4", KeyKind::kDense, "L4+4", 33},      {"p-int8", KeyKind::kDense, "P,INT8", 20},
    {"p-l4", KeyKind::kInt64, "P,L4", 21},      {"p-l4+4", KeyKind::kDense, "P,L4+4", 9},
    {"pq", KeyKind::kText, "PQ5x8", 18},        {"pq4", KeyKind::kDense, "PQ7x4", 20},
    {"opq", KeyKind::kDense, "OPQ3,PQ3x4", 12}, {"rq", KeyKind::kInt64, "RQ3x4", 10},
};

std::vector<std::byte> GivenLearned(const GoldenTable& t) {
  const CodecSpec spec = *CodecSpec::Parse(t.codec);
  std::vector<std::byte> learned(spec.LearnedBytes(t.dim));
  const auto value = [](size_t i) { return static_cast<float>(i * 37 % 101) / 64.0f - 0.75f; };
  size_t at = 0;
  const auto put = [&](float v) {
    std::memcpy(&learned[at], &v, 4);
    at += 4;
  };
  if (spec.profile) {
    for (uint32_t j = 0; j < t.dim; ++j) put(value(j) / 4);
    for (uint32_t j = 0; j < t.dim; ++j) put(0.5f + static_cast<float>(j % 5) / 8);
    return learned;
  }
  for (uint32_t i = 0; spec.rotated && i < t.dim; ++i) {  // columns turned by one place
    for (uint32_t j = 0; j < t.dim; ++j) put(j == (i + 1) % t.dim ? 1.0f : 0.0f);
  }
  for (size_t i = 0; at < learned.size(); ++i, at += 2) {
    const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value(i)) >> 16);
    std::memcpy(&learned[at], &bits, 2);
  }
  return learned;
}

void WriteCodecTables(Store* store) {
  for (const GoldenTable& t : kCodecTables) {
    WriteTable(store, t, {}, Compression::kNone, {}, GivenLearned(t));
  }
}

// Tables of mixed precision (tests/data/v1/store_tiers), the second in another order.
constexpr GoldenTable kTieredTables[] = {
    {"dense-tiers", KeyKind::kDense, "L4", 20},
    {"text-tiers", KeyKind::kText, "INT8", 33},
};

void WriteTieredTables(Store* store, const test::TempDir& dir) {
  std::string counts;
  for (uint64_t r = 2; r < kRows; ++r) {
    counts += TextKey(r) + "\t" + std::to_string(r * 37 % 101) + "\n";
  }
  test::WriteFile(dir.File("counts"), counts);
  WriteTable(store, kTieredTables[0], {}, Compression::kAuto, {}, {},
             {{.rows = 10, .codec = *CodecSpec::Parse("F32")},
              {.percent = 30, .codec = *CodecSpec::Parse("INT8")}});
  WriteTable(store, kTieredTables[1], {OrderKind::kCounts, dir.File("counts")}, Compression::kAuto,
             {}, {}, {{.rows = 40, .codec = *CodecSpec::Parse("F16")}});
}

// All pages of a table, in order, one after the other.
std::string PagesOf(const Store& store, const std::string& name) {
  auto table = store.OpenTable(name);
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  const auto& impl = dynamic_cast<const engine::TableImpl&>(**table);
  std::string bytes;
  uint64_t generation = impl.info().generation;
  const auto add = [&](storage::PageKind kind, uint64_t count) {
    const auto cursor = impl.context().rows->ScanPages(kind, generation, 0, count);
    for (;;) {
      uint64_t number = 0;
      storage::PageView page;
      const auto more = cursor->Next(&number, &page);
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) return;
      bytes.append(page.payload.data() - storage::kPageHeaderBytes,
                   page.payload.size() + storage::kPageHeaderBytes);
    }
  };
  for (const engine::Tier& tier : impl.tiers()) {
    generation = tier.record->info.generation;
    add(storage::PageKind::kChunk, tier.record->info.chunk_count);
  }
  if (impl.info().key_kind != KeyKind::kDense) {
    add(storage::PageKind::kKeys, impl.record().key_pages);
    add(storage::PageKind::kIndex, impl.record().index_buckets);
  }
  add(storage::PageKind::kOrder, impl.record().order_pages);
  add(storage::PageKind::kLearned, storage::LearnedPages(impl.record().learned_bytes));
  return bytes;
}

#if !defined(__SANITIZE_THREAD__)
TEST(Golden, WriteWhenAsked) {
  const char* directory = std::getenv("EDO_WRITE_GOLDEN");
  if (directory == nullptr) GTEST_SKIP() << "EDO_WRITE_GOLDEN is not set; nothing to write";
  auto store = Store::Create(directory);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  WriteTables(store->get());
  auto ordered = Store::Create(std::string(directory) + "_ordered");
  ASSERT_TRUE(ordered.ok()) << ordered.status().ToString();
  WriteOrderedTables(ordered->get(), test::TempDir());
  auto packed = Store::Create(std::string(directory) + "_packed");
  ASSERT_TRUE(packed.ok()) << packed.status().ToString();
  WritePackedTables(packed->get());
  auto codecs = Store::Create(std::string(directory) + "_codecs");
  ASSERT_TRUE(codecs.ok()) << codecs.status().ToString();
  WriteCodecTables(codecs->get());
  auto tiers = Store::Create(std::string(directory) + "_tiers");
  ASSERT_TRUE(tiers.ok()) << tiers.status().ToString();
  WriteTieredTables(tiers->get(), test::TempDir());
}

// A golden store, whole. A copy: the source tree may be read-only, or not ours to lock.
Result<std::unique_ptr<Store>> OpenGolden(const std::string& name, const test::TempDir& dir) {
  std::filesystem::copy(test::DataFile("v1/" + name), dir.File("store"));
  EDO_ASSIGN_OR_RETURN(auto store, Store::Open(dir.File("store"), {.read_only = true}));
  EDO_ASSIGN_OR_RETURN(const VerifyReport report, store->Verify({}));
  EXPECT_TRUE(report.damages.empty());
  return store;
}

// FNV-1a of a table's decoded rows.
uint64_t HashOfRows(const Store& store, const std::string& name) {
  const auto table = store.OpenTable(name);
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  std::vector<uint64_t> rows(kRows);
  for (uint64_t r = 0; r < kRows; ++r) rows[r] = r;
  std::vector<float> values(kRows * (*table)->info().dim);
  EDO_EXPECT_OK((*table)->LookupRows(rows, {}, values.data()));
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int b = 0; b < 4; ++b) hash = (hash ^ (bits >> 8 * b & 0xff)) * 0x100000001b3u;
  }
  return hash;
}

TEST(Golden, CodecStoreReadsAndItsPagesAreWhatIsWrittenToday) {
  constexpr uint64_t kHashes[] = {
      1093191613668913338u, 7985560692311142026u,  3956495308663158414u, 13795274952994358297u,
      8183016439387681214u, 16708529580131498277u, 4725916747687030499u, 2297223282691158669u,
      5519133313759227386u, 12485471298979912321u};
  const test::TempDir dir;
  auto golden = OpenGolden("store_codecs", dir);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  auto today = test::NewStore(test::StoreBody::kMemory, "");
  WriteCodecTables(today.get());
  ASSERT_EQ((*golden)->Tables().size(), std::size(kCodecTables));
  for (size_t i = 0; i < std::size(kCodecTables); ++i) {
    const GoldenTable& t = kCodecTables[i];
    SCOPED_TRACE(t.name);
    EXPECT_EQ(PagesOf(**golden, t.name), PagesOf(*today, t.name));
    EXPECT_EQ(HashOfRows(**golden, t.name), kHashes[i]);
  }
}

// Written before rows of INT8 had offsets and the outermost range of L4+4 a nearer end
// (tests/data/v1/early): their rows mean what they meant.
TEST(Golden, EarlyRowsReadAsEver) {
  const test::TempDir dir, codecs_dir;
  auto golden = OpenGolden("early/store", dir);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  EXPECT_EQ(HashOfRows(**golden, "text-int8"), 12814574734511511367u);
  EXPECT_EQ(HashOfRows(**golden, "dense-int8"), 15551631985773805457u);
  auto codecs = OpenGolden("early/store_codecs", codecs_dir);
  ASSERT_TRUE(codecs.ok()) << codecs.status().ToString();
  EXPECT_EQ(HashOfRows(**codecs, "l4+4"), 9327236407040039763u);
  EXPECT_EQ(HashOfRows(**codecs, "p-int8"), 5806063629821036036u);
  EXPECT_EQ(HashOfRows(**codecs, "p-l4+4"), 16148383864762006629u);
}

TEST(Golden, TieredStoreReadsAndItsPagesAreWhatIsWrittenToday) {
  const test::TempDir dir;
  auto golden = OpenGolden("store_tiers", dir);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  auto today = test::NewStore(test::StoreBody::kMemory, "");
  WriteTieredTables(today.get(), dir);
  ASSERT_EQ((*golden)->Tables().size(), std::size(kTieredTables));
  for (const GoldenTable& t : kTieredTables) {
    SCOPED_TRACE(t.name);
    EXPECT_EQ(PagesOf(**golden, t.name), PagesOf(*today, t.name));
    const auto then = (*golden)->OpenTable(t.name);
    const auto now = today->OpenTable(t.name);
    ASSERT_TRUE(then.ok() && now.ok());
    ASSERT_EQ((*then)->info().tiers.size(), (*now)->info().tiers.size());
    for (size_t i = 0; i < (*then)->info().tiers.size(); ++i) {
      EXPECT_EQ((*then)->info().tiers[i].first_row, (*now)->info().tiers[i].first_row);
      EXPECT_EQ((*then)->info().tiers[i].rows, (*now)->info().tiers[i].rows);
      EXPECT_EQ((*then)->info().tiers[i].codec, (*now)->info().tiers[i].codec);
    }
    EXPECT_EQ(HashOfRows(**golden, t.name), HashOfRows(*today, t.name));
  }
  const auto text = (*golden)->OpenTable("text-tiers");
  const std::vector<std::string_view> word{"word7"};
  std::vector<float> row(33), by_number(33);
  EDO_ASSERT_OK((*text)->Lookup(std::span<const std::string_view>(word), {}, row.data()));
  const auto numbers = (*text)->FindRows(std::span<const std::string_view>(word));
  EDO_ASSERT_OK((*text)->LookupRows(*numbers, {}, by_number.data()));
  EXPECT_EQ(row, by_number);
}

// The bytes of compressed pages are the zstd library's affair; what they hold is not.
TEST(Golden, CompressedStoreReadsAndHoldsWhatIsWrittenToday) {
  const test::TempDir dir;
  auto golden = OpenGolden("store_packed", dir);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  auto today = test::NewStore(test::StoreBody::kMemory, "");
  WritePackedTables(today.get());
  ASSERT_EQ((*golden)->Tables().size(), std::size(kPackedTables));
  for (const GoldenTable& t : kPackedTables) {
    SCOPED_TRACE(t.name);
    auto old_table = (*golden)->OpenTable(t.name);
    auto new_table = today->OpenTable(t.name);
    ASSERT_TRUE(old_table.ok() && new_table.ok());
    EXPECT_EQ((*old_table)->info().compression, Compression::kZstd);
    EXPECT_EQ((*old_table)->info().chunk_rows, (*new_table)->info().chunk_rows);
    EXPECT_EQ((*old_table)->info().plain_chunk_bytes, (*new_table)->info().plain_chunk_bytes);
    std::vector<uint64_t> rows(kRows);
    for (uint64_t r = 0; r < kRows; ++r) rows[r] = r;
    std::vector<float> then(kRows * t.dim), now(kRows * t.dim);
    EDO_ASSERT_OK((*old_table)->LookupRows(rows, {}, then.data()));
    EDO_ASSERT_OK((*new_table)->LookupRows(rows, {}, now.data()));
    EXPECT_EQ(then, now);
    if (t.codec == std::string_view("F32")) {
      EXPECT_EQ(then, PackedRows(t));
    }
  }
  const Stats stats = (*golden)->stats();
  EXPECT_EQ(stats.chunks_by_multiget, 0u) << stats.read_path_note;
  EXPECT_GT(stats.chunks_by_address, 0u);
}

TEST(Golden, OrderedStoreReadsAndItsPagesAreWhatIsWrittenToday) {
  const test::TempDir dir;
  auto golden = OpenGolden("store_ordered", dir);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  auto today = test::NewStore(test::StoreBody::kMemory, "");
  WriteOrderedTables(today.get(), dir);
  ASSERT_EQ((*golden)->Tables().size(), std::size(kOrderedTables));
  for (const GoldenTable& t : kOrderedTables) {
    SCOPED_TRACE(t.name);
    EXPECT_EQ(PagesOf(**golden, t.name), PagesOf(*today, t.name));
  }
  auto ints = (*golden)->OpenTable("int64-trace");
  ASSERT_TRUE(ints.ok());
  EXPECT_EQ((*ints)->info().order, "trace");
  std::vector<int64_t> keys;
  for (uint64_t r = 0; r < kRows; ++r) keys.push_back(IntKey(r));
  std::vector<float> out(kRows * 5);
  EDO_ASSERT_OK((*ints)->Lookup(std::span<const int64_t>(keys), {}, out.data()));
  EXPECT_EQ(out, test::RowsOf(0, kRows, 5));
}

TEST(Golden, VersionOneStoreReadsAndItsPagesAreWhatIsWrittenToday) {
  const test::TempDir dir;
  auto golden = OpenGolden("store", dir);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  auto today = test::NewStore(test::StoreBody::kMemory, "");
  WriteTables(today.get());
  ASSERT_EQ((*golden)->Tables().size(), std::size(kTables));
  for (const GoldenTable& t : kTables) {
    SCOPED_TRACE(t.name);
    const std::string old_pages = PagesOf(**golden, t.name);
    EXPECT_FALSE(old_pages.empty());
    EXPECT_EQ(old_pages, PagesOf(*today, t.name));
  }
}

TEST(Golden, VersionOneValuesAndKeys) {
  const test::TempDir dir;
  std::filesystem::copy(test::DataFile("v1/store"), dir.File("store"));
  auto golden = Store::Open(dir.File("store"), {.read_only = true});
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  auto dense = (*golden)->OpenTable("dense-f32");
  ASSERT_TRUE(dense.ok());
  EXPECT_EQ((*dense)->info().metadata, (Metadata{{"licence", "CC0-1.0"}}));
  std::vector<uint64_t> rows{0, 699, 350};
  std::vector<float> out(15);
  EDO_ASSERT_OK((*dense)->LookupRows(rows, {}, out.data()));
  for (size_t i = 0; i < 3; ++i) {
    for (uint32_t c = 0; c < 5; ++c) EXPECT_EQ(out[i * 5 + c], test::ValueOf(rows[i], c));
  }
  auto text = (*golden)->OpenTable("text-int8");
  ASSERT_TRUE(text.ok());
  for (const uint64_t row : {0, 1, 2, 699}) {
    const std::string key = TextKey(row);
    const std::string_view view = key;
    const auto found = (*text)->FindRows(std::span(&view, 1));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ((*found)[0], row);
  }
  auto ints = (*golden)->OpenTable("int64-f16");
  ASSERT_TRUE(ints.ok());
  const int64_t key = IntKey(321);
  EXPECT_EQ((*(*ints)->FindRows(std::span(&key, 1)))[0], 321u);
}
#endif

TEST(Golden, TheSameRowsGiveTheSameBytes) {
  auto a = test::NewStore(test::StoreBody::kMemory, "");
  auto b = test::NewStore(test::StoreBody::kMemory, "");
  WriteTables(a.get());
  WriteTables(b.get());
  for (const GoldenTable& t : kTables) EXPECT_EQ(PagesOf(*a, t.name), PagesOf(*b, t.name));
}

}  // namespace
}  // namespace edo
