// Tables of codecs that learn, choosing a codec, and recoding: against the codec itself, value by
// value, for every kind of keys, with readers at work, errors and damage. One seed decides the
// rows; EDO_TEST_SEED=N replays it.
#include "edo/recode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "edo/codec_choice.h"
#include "edo/quality.h"
#include "edo/transfer.h"
#include "engine/row_quality.h"
#include "engine/table_impl.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kDim = 24;
constexpr uint64_t kRows = 3000;

std::vector<float> GaussianRows(uint64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> gauss(0, 1);
  std::vector<float> values(rows * kDim);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = gauss(random) + (i % kDim < 3 ? 4.0f : 0.0f);
  }
  return values;
}

struct Input {
  KeyKind kind = KeyKind::kDense;
  std::vector<float> values;
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  uint64_t rows() const { return values.size() / kDim; }
};

Input MakeInput(KeyKind kind, uint64_t rows, uint64_t seed) {
  Input input{kind, GaussianRows(rows, seed), {}, {}};
  for (uint64_t r = 0; r < rows; ++r) {
    input.texts.push_back("w" + std::to_string(r * 7919 % 1000003));
    input.ints.push_back(static_cast<int64_t>(r * 0x9e3779b97f4a7c15u));
  }
  return input;
}

Result<TableInfo> Put(Store* store, const std::string& name, const Input& input,
                      TableOptions options) {
  options.key_kind = input.kind;
  options.dim = kDim;
  options.threads = 2;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable(name, options));
  const std::vector<std::string_view> views(input.texts.begin(), input.texts.end());
  for (uint64_t at = 0; at < input.rows(); at += 700) {  // in batches
    const uint64_t n = std::min<uint64_t>(700, input.rows() - at);
    TableWriter::Rows rows;
    rows.values = std::span(input.values).subspan(at * kDim, n * kDim);
    if (input.kind == KeyKind::kText) rows.text_keys = std::span(views).subspan(at, n);
    if (input.kind == KeyKind::kInt64) rows.int_keys = std::span(input.ints).subspan(at, n);
    EDO_RETURN_IF_ERROR(writer->Append(rows));
  }
  return writer->Commit();
}

TableOptions With(const std::string& codec) {
  TableOptions options;
  options.codec = *CodecSpec::Parse(codec);
  return options;
}

// All rows by key, in the order of the input.
std::vector<float> ReadAll(const Table& table, const Input& input) {
  std::vector<float> out(input.values.size());
  Status s;
  if (input.kind == KeyKind::kText) {
    const std::vector<std::string_view> views(input.texts.begin(), input.texts.end());
    s = table.Lookup(views, {}, out.data(), nullptr);
  } else {
    std::vector<int64_t> ids = input.ints;
    if (input.kind == KeyKind::kDense) {
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
    }
    s = table.Lookup(std::span<const int64_t>(ids), {}, out.data(), nullptr);
  }
  EDO_EXPECT_OK(s);
  return out;
}

QualityReport QualityOf(const std::vector<float>& original, const std::vector<float>& decoded) {
  engine::RowQuality quality(kDim, {});
  quality.Add(original.data(), decoded.data(), original.size() / kDim, 0);
  return quality.Report();
}

std::vector<std::byte> CodesOf(const Table& table) {
  std::vector<std::byte> codes;
  const auto& impl = dynamic_cast<const engine::TableImpl&>(table);
  EDO_EXPECT_OK(
      impl.ScanCodes([&](const engine::Tier&, uint64_t, uint64_t, std::string_view bytes) {
        const auto* const at = reinterpret_cast<const std::byte*>(bytes.data());
        codes.insert(codes.end(), at, at + bytes.size());
        return Status::Ok();
      }));
  return codes;
}

class RecodeTest : public ::testing::TestWithParam<test::StoreBody> {
 protected:
  void SetUp() override { store_ = test::NewStore(GetParam(), dir_.File("store")); }
  std::unique_ptr<Table> Open(const std::string& name) {
    auto table = store_->OpenTable(name);
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return std::move(*table);
  }

  test::TempDir dir_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Bodies, RecodeTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

// What a table returns is what its codec makes of the rows, by every way to read it.
TEST_P(RecodeTest, TablesOfCodecsThatLearn) {
  const uint64_t seed = test::Seed(41);
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    const Input input = MakeInput(kind, kRows, seed);
    const std::vector<std::string> some{"P,L4", "PQ5x4"};
    const std::vector<std::string> all{"F8",     "L4",    "L4+4",  "P,INT8",     "P,L4",
                                       "P,L4+4", "PQ8x8", "PQ5x4", "OPQ6,PQ6x8", "RQ3x8"};
    for (const std::string& word : kind == KeyKind::kDense ? all : some) {
      SCOPED_TRACE(word);
      const auto info = Put(store_.get(), word, input, With(word));
      ASSERT_TRUE(info.ok()) << info.status().ToString();
      EXPECT_EQ(info->row_bytes, CodecSpec::Parse(word)->RowBytes(kDim));
      const auto table = Open(word);
      ASSERT_EQ(table->Learned().size(), CodecSpec::Parse(word)->LearnedBytes(kDim));
      const auto codec = storage::Codec::Make(info->codec, kDim, table->Learned());
      ASSERT_TRUE(codec.ok());
      std::vector<std::byte> codes(kRows * info->row_bytes);
      EDO_ASSERT_OK((*codec)->Encode(input.values.data(), kRows, codes.data()));
      EXPECT_EQ(CodesOf(*table), codes);
      std::vector<float> expected(input.values.size());
      (*codec)->Decode(codes.data(), kRows, {expected.data(), FloatType::kF32, 0, 0});
      EXPECT_EQ(ReadAll(*table, input), expected);  // from disk
      EXPECT_EQ(ReadAll(*table, input), expected);  // from the cache
      // Leading values, and bags.
      std::vector<float> some(10 * 3);
      const std::vector<uint64_t> rows{0, 5, 2999, 17, 17, 8, 100, 2000, 1, 64};
      LookupOptions leading;
      leading.dims = 3;
      EDO_ASSERT_OK(table->LookupRows(rows, leading, some.data(), nullptr));
      for (size_t i = 0; i < rows.size(); ++i) {
        for (uint32_t j = 0; j < 3; ++j) {
          ASSERT_EQ(some[3 * i + j], expected[rows[i] * kDim + j]);
        }
      }
      std::vector<float> sum(kDim), by_hand(kDim, 0.0f);
      const std::vector<uint64_t> offsets{0};
      Bags bags;
      bags.offsets = offsets;
      EDO_ASSERT_OK(table->LookupBagRows(rows, bags, {}, sum.data(), nullptr));
      for (const uint64_t r : rows) {
        for (uint32_t j = 0; j < kDim; ++j) by_hand[j] = by_hand[j] + expected[r * kDim + j];
      }
      EXPECT_EQ(sum, by_hand);
      EDO_ASSERT_OK(store_->DropTable(word));
    }
  }
}

TEST_P(RecodeTest, DroppingARefinementKeepsTheBaseToTheBit) {
  const Input input = MakeInput(KeyKind::kText, kRows, test::Seed(42));
  for (const auto& [both, base] : {std::pair("L4+4", "L4"), std::pair("P,L4+4", "P,L4")}) {
    ASSERT_TRUE(Put(store_.get(), "t", input, With(both)).ok());
    const auto old = Open("t");
    const auto& format =
        dynamic_cast<const engine::TableImpl&>(*old).tiers().front().codec->row_format();
    const std::vector<std::byte> codes = CodesOf(*old);
    const std::vector<std::byte> learned(old->Learned().begin(), old->Learned().end());
    RecodeOptions options;
    options.table = "t";
    options.codec = *CodecSpec::Parse(base);
    const auto report = Recode(store_.get(), options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->dropped_refinement);
    const auto table = Open("t");
    EXPECT_TRUE(std::equal(learned.begin(), learned.end(), table->Learned().begin()));
    const std::vector<std::byte> left = CodesOf(*table);
    const uint64_t row_bytes = report->after.row_bytes;
    for (uint64_t r = 0; r < kRows; ++r) {
      const std::byte* const from = &codes[r * format.row_bytes()];
      ASSERT_EQ(std::memcmp(&left[r * row_bytes], from, format.nibble_bytes()), 0);
      // The scale has no sign any more: it said where the outermost range of L4+4 ends.
      std::vector<std::byte> side(from + format.code_bytes, from + format.row_bytes());
      side[1] &= std::byte{0x7f};
      ASSERT_EQ(std::memcmp(&left[r * row_bytes + format.nibble_bytes()], side.data(), side.size()),
                0);
    }
    // The handle from before reads the old rows.
    EXPECT_EQ(CodesOf(*old), codes);
    EDO_ASSERT_OK(store_->DropTable("t"));
  }
}

TEST_P(RecodeTest, KeysOrderAndMetadataStay) {
  const uint64_t seed = test::Seed(43);
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    for (const OrderKind order : {OrderKind::kFile, OrderKind::kTiered}) {
      const Input input = MakeInput(kind, kRows, seed);
      TableOptions options = With("F32");
      options.order.kind = order;
      options.metadata["licence"] = "CC0-1.0";
      ASSERT_TRUE(Put(store_.get(), "t", input, options).ok());
      for (const char* word : {"P,L4+4", "PQ6x8", "F16"}) {
        RecodeOptions recode;
        recode.table = "t";
        recode.codec = *CodecSpec::Parse(word);
        const std::vector<float> before = ReadAll(*Open("t"), input);
        const auto report = Recode(store_.get(), recode);
        ASSERT_TRUE(report.ok()) << report.status().ToString();
        EXPECT_EQ(report->after.codec.ToString(), word);
        const auto table = Open("t");
        EXPECT_EQ(table->info().metadata.at("licence"), "CC0-1.0");
        EXPECT_EQ(table->info().order, OrderKindName(order));
        const auto codec =
            storage::Codec::Make(report->after.codec, kDim, table->Learned()).value()->row_bytes();
        EXPECT_EQ(codec, report->after.row_bytes);
        // Each row is the codec's of the row that was there.
        const auto made = storage::Codec::Make(report->after.codec, kDim, table->Learned());
        std::vector<std::byte> codes(kRows * (*made)->row_bytes());
        EDO_ASSERT_OK((*made)->Encode(before.data(), kRows, codes.data()));
        std::vector<float> expected(before.size());
        (*made)->Decode(codes.data(), kRows, {expected.data(), FloatType::kF32, 0, 0});
        EXPECT_EQ(ReadAll(*table, input), expected) << word;
      }
      const auto verified = store_->Verify({});
      ASSERT_TRUE(verified.ok());
      EXPECT_TRUE(verified->damages.empty());
      EDO_ASSERT_OK(store_->DropTable("t"));
    }
  }
}

TEST_P(RecodeTest, TheSameCodecWritesNothing) {
  const Input input = MakeInput(KeyKind::kDense, 500, test::Seed(44));
  const auto info = Put(store_.get(), "t", input, With("P,L4"));
  ASSERT_TRUE(info.ok());
  RecodeOptions options;
  options.table = "t";
  options.codec = info->codec;
  const auto report = Recode(store_.get(), options);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->unchanged);
  EXPECT_EQ(store_->Tables()[0].generation, info->generation);
}

TEST_P(RecodeTest, ErrorsLeaveTheTableAsItWas) {
  Input input = MakeInput(KeyKind::kText, 500, test::Seed(45));
  input.values[321 * kDim + 5] = std::nanf("");
  const auto info = Put(store_.get(), "t", input, With("F32"));
  ASSERT_TRUE(info.ok());
  RecodeOptions options;
  options.table = "t";
  options.codec = *CodecSpec::Parse("L4");
  const auto refused = Recode(store_.get(), options);
  EXPECT_EQ(refused.status().code(), StatusCode::kBadInput);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("row 321 (key '" + input.texts[321] + "'): value 6 of 24, nan"));
  options.codec = *CodecSpec::Parse("PQ100x8");
  EXPECT_EQ(Recode(store_.get(), options).status().code(), StatusCode::kInvalidArgument);
  options.table = "u";
  EXPECT_EQ(Recode(store_.get(), options).status().code(), StatusCode::kNotFound);
  options.table = "t";
  options.codec = *CodecSpec::Parse("F16");
  options.progress = [](const Progress&) { return false; };
  EXPECT_EQ(Recode(store_.get(), options).status().code(), StatusCode::kCancelled);
  // Replaced while it is recoded: the new rows stay.
  Input other = MakeInput(KeyKind::kText, 20, test::Seed(46));
  bool replaced = false;
  options.progress = [&](const Progress&) {
    if (!std::exchange(replaced, true)) {
      TableOptions replace = With("F32");
      replace.replace = true;
      EXPECT_TRUE(Put(store_.get(), "t", other, replace).ok());
    }
    return true;
  };
  EXPECT_EQ(Recode(store_.get(), options).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadAll(*Open("t"), other), other.values);
}

TEST_P(RecodeTest, ReadersSeeOldOrNewRows) {
  const Input input = MakeInput(KeyKind::kInt64, kRows, test::Seed(47));
  ASSERT_TRUE(Put(store_.get(), "t", input, With("F32")).ok());
  std::mutex mutex;
  std::map<uint64_t, std::vector<float>> rows_of;  // by generation
  const auto take_down = [&] {
    const auto table = Open("t");
    std::vector<float> rows = ReadAll(*table, input);
    const std::lock_guard lock(mutex);
    rows_of[table->info().generation] = std::move(rows);
  };
  take_down();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> reads{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      while (!stop) {
        const auto table = store_->OpenTable("t");
        ASSERT_TRUE(table.ok()) << table.status().ToString();
        const std::vector<float>* expected = nullptr;
        {
          const std::lock_guard lock(mutex);
          const auto found = rows_of.find((*table)->info().generation);
          if (found != rows_of.end()) expected = &found->second;
        }
        if (expected == nullptr) continue;  // just made
        for (int i = 0; i < 20; ++i) {
          const uint64_t row = random() % kRows;
          std::vector<float> out(kDim);
          EDO_ASSERT_OK((*table)->LookupRows(std::span(&row, 1), {}, out.data(), nullptr));
          ASSERT_TRUE(std::equal(out.begin(), out.end(),
                                 expected->begin() + static_cast<ptrdiff_t>(row * kDim)));
          ++reads;
        }
      }
    });
  }
  for (const char* word : {"P,L4", "PQ6x8", "L4+4", "L4", "RQ2x4", "F16"}) {
    RecodeOptions options;
    options.table = "t";
    options.codec = *CodecSpec::Parse(word);
    const auto report = Recode(store_.get(), options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    take_down();
  }
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_GT(reads, 0u);
}

TEST_P(RecodeTest, AChosenCodecKeepsItsGoalOverAllRows) {
  constexpr uint64_t kChosen = 1500;
  const Input input = MakeInput(KeyKind::kText, kChosen, test::Seed(48));
  uint64_t last = 0;
  for (const double cosine : {0.9, 0.99, 1.0}) {
    SCOPED_TRACE(cosine);
    TableOptions options;
    options.choose_codec = CodecGoal{};
    options.choose_codec->quality.min_cosine = cosine;
    options.replace = true;
    const auto info = Put(store_.get(), "t", input, options);
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    const QualityReport quality = QualityOf(input.values, ReadAll(*Open("t"), input));
    EXPECT_GE(quality.cosine_p1, cosine) << info->codec.ToString();
    EXPECT_THAT(info->metadata.at("edo.codec.choice"), HasSubstr(info->codec.ToString()));
    // More is asked for: more bytes are needed.
    EXPECT_GE(info->row_bytes, last);
    last = info->row_bytes;
    // No smaller rung of the ladder keeps it.
    for (const char* word : {"L4", "P,L4", "INT8", "L4+4", "PQ12x8", "PQ6x8"}) {
      const CodecSpec spec = *CodecSpec::Parse(word);
      if (spec.RowBytes(kDim) * kChosen + spec.LearnedBytes(kDim) >=
          info->row_bytes * kChosen + info->codec.LearnedBytes(kDim)) {
        continue;
      }
      const auto learned = storage::Codec::Learn(spec, kDim, input.values, {});
      const auto codec = storage::Codec::Make(spec, kDim, *learned);
      std::vector<std::byte> codes(kChosen * (*codec)->row_bytes());
      EDO_ASSERT_OK((*codec)->Encode(input.values.data(), kChosen, codes.data()));
      std::vector<float> decoded(input.values.size());
      (*codec)->Decode(codes.data(), kChosen, {decoded.data(), FloatType::kF32, 0, 0});
      EXPECT_LT(QualityOf(input.values, decoded).cosine_p1, cosine) << word;
    }
  }
  EXPECT_EQ(store_->Tables()[0].codec.kind, CodecKind::kF32);  // nothing else keeps 1.0
  // The same through Recode, and a goal that nothing keeps.
  RecodeOptions recode;
  recode.table = "t";
  recode.choose_codec = CodecGoal{};
  recode.choose_codec->max_bytes = kChosen * 30;
  const auto report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_LE(report->after.row_bytes * kChosen + report->after.codec.LearnedBytes(kDim),
            kChosen * 30);
  recode.choose_codec->max_bytes = 10;
  EXPECT_EQ(Recode(store_.get(), recode).status().code(), StatusCode::kGoalMissed);
}

TEST_P(RecodeTest, BadValuesOfWaitingRowsAreNamedWhenTheyCome) {
  TableOptions options = With("PQ8x8");
  options.dim = kDim;
  options.key_kind = KeyKind::kText;
  auto writer = store_->CreateTable("t", options);
  ASSERT_TRUE(writer.ok());
  std::vector<float> values = GaussianRows(3, 1);
  values[kDim + 2] = HUGE_VALF;
  const std::vector<std::string_view> keys{"a", "b", "c"};
  TableWriter::Rows rows;
  rows.values = values;
  rows.text_keys = keys;
  const Status s = (*writer)->Append(rows);
  EXPECT_EQ(s.code(), StatusCode::kBadInput);
  EXPECT_THAT(std::string(s.message()), HasSubstr("row 1 (key 'b'): value 3 of 24, inf"));
}

TEST_P(RecodeTest, DuplicatesAndEmptyTables) {
  Input input = MakeInput(KeyKind::kText, 800, test::Seed(49));
  input.texts[700] = input.texts[3];
  TableOptions options = With("PQ6x8");
  EXPECT_EQ(Put(store_.get(), "t", input, options).status().code(), StatusCode::kBadInput);
  options.on_duplicate = OnDuplicate::kFirst;
  const auto info = Put(store_.get(), "t", input, options);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->rows, 799u);
  for (const char* word : {"P,L4", "PQ6x8", "OPQ6,PQ6x8", "RQ2x8"}) {
    Input none;
    none.kind = KeyKind::kInt64;
    const auto empty = Put(store_.get(), word, none, With(word));
    ASSERT_TRUE(empty.ok()) << empty.status().ToString();
    EXPECT_EQ(Open(word)->info().rows, 0u);
  }
}

TEST(RecodeDamage, OfALearnedPageIsNamed) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "RocksDB is not instrumented";
#endif
  const test::TempDir dir;
  const Input input = MakeInput(KeyKind::kDense, 300, 1);
  {
    auto store = test::NewStore(test::StoreBody::kRocksdb, dir.File("store"));
    ASSERT_TRUE(Put(store.get(), "t", input, With("PQ6x8")).ok());
  }
  // The learned pages are the only pages of key files here; flip a byte in the middle of each.
  for (const auto& entry : std::filesystem::directory_iterator(dir.File("store"))) {
    if (entry.path().extension() != ".sst" || entry.file_size() < 13000) continue;
    std::string bytes = test::ReadFile(entry.path());
    if (entry.file_size() > 20000)
      continue;  // chunks are padded; 12,288 bytes of centroids are not
    bytes[bytes.size() / 3] ^= 1;
    test::WriteFile(entry.path(), bytes);
  }
  auto store = Store::Open(dir.File("store"));
  if (!store.ok()) return;  // named at once
  const auto table = (*store)->OpenTable("t");
  EXPECT_EQ(table.status().code(), StatusCode::kCorruption);
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("learned page 0"));
  const auto verified = (*store)->Verify({});
  ASSERT_TRUE(verified.ok());
  EXPECT_FALSE(verified->damages.empty());
}

TEST(CodecArchive, CarriesWhatWasLearned) {
  const test::TempDir dir;
  auto store = test::NewStore(test::StoreBodies().front(), dir.File("store"));
  const Input input = MakeInput(KeyKind::kText, 900, 2);
  for (const char* word : {"P,L4", "PQ6x8", "OPQ6,PQ6x4", "RQ2x8", "L4+4"}) {
    SCOPED_TRACE(word);
    ASSERT_TRUE(Put(store.get(), word, input, With(word)).ok());
    const auto table = store->OpenTable(word);
    ExportOptions to;
    to.path = dir.File("t.edo");
    to.force = true;
    ASSERT_TRUE(Export(**table, to).ok());
    ImportOptions from;
    from.source.path = to.path;
    from.table = "copy";
    from.replace = true;
    const auto copied = Import(store.get(), from);
    ASSERT_TRUE(copied.ok()) << copied.status().ToString();
    const auto copy = store->OpenTable("copy");
    EXPECT_EQ(CodesOf(**copy), CodesOf(**table));
    EXPECT_EQ(ReadAll(**copy, input), ReadAll(**table, input));
  }
}

// Of few rows the centroids of 8-bit codes are most of the bytes; and a small dim has few widths.
TEST(CodecAdvice, SmallTablesAreOfferedCodesOf4BitsAndNoCodecTwice) {
  auto store = test::NewStore(test::StoreBody::kMemory, "");
  const Input input = MakeInput(KeyKind::kDense, 600, 8);
  ASSERT_TRUE(Put(store.get(), "t", input, With("F32")).ok());
  const auto table = store->OpenTable("t");
  AdviseCodecOptions options;
  const uint64_t bytes = 600 * 8;
  options.goal.max_bytes = bytes;
  options.overlap_rows = 0;
  const auto advice = AdviseCodec(**table, options);
  ASSERT_TRUE(advice.ok()) << advice.status().ToString();
  ASSERT_TRUE(advice->best);
  EXPECT_EQ(advice->best->bits, 4u) << advice->best->ToString();
  EXPECT_LE(advice->best->RowBytes(kDim) * 600 + advice->best->LearnedBytes(kDim), bytes);
  std::set<std::string> words;
  for (const CodecTrial& trial : advice->trials) {
    EXPECT_TRUE(words.insert(trial.codec.ToString()).second) << trial.codec.ToString();
  }
}

TEST(CodecAdvice, OfATableAndOfAFileAgree) {
  const test::TempDir dir;
  auto store = test::NewStore(test::StoreBodies().front(), dir.File("store"));
  const Input input = MakeInput(KeyKind::kDense, 2500, 3);
  ASSERT_TRUE(Put(store.get(), "t", input, With("F32")).ok());
  const auto table = store->OpenTable("t");
  ExportOptions to;
  to.path = dir.File("t.npy");
  ASSERT_TRUE(Export(**table, to).ok());
  AdviseCodecOptions options;
  options.goal.quality.max_rel_error = 0.02;
  options.goal.quality.at = QualityBudget::At::kMean;
  options.codecs = {*CodecSpec::Parse("L4"), *CodecSpec::Parse("P,L4"), *CodecSpec::Parse("F16"),
                    *CodecSpec::Parse("PQ6x8"), *CodecSpec::Parse("PQ100x8")};
  const auto of_table = AdviseCodec(**table, options);
  ASSERT_TRUE(of_table.ok()) << of_table.status().ToString();
  SourceOptions source;
  source.path = to.path;
  const auto of_file = AdviseCodec(source, options);
  ASSERT_TRUE(of_file.ok()) << of_file.status().ToString();
  for (const auto* advice : {&*of_table, &*of_file}) {
    EXPECT_EQ(advice->rows, 2500u);
    EXPECT_EQ(advice->dim, kDim);
    EXPECT_FALSE(advice->held_out);
    ASSERT_EQ(advice->trials.size(), 5u);
    ASSERT_TRUE(advice->best);
    EXPECT_EQ(advice->best->ToString(), "L4");
    EXPECT_TRUE(std::is_sorted(advice->trials.begin(), advice->trials.end(),
                               [](const auto& a, const auto& b) { return a.bytes > b.bytes; }));
    for (const CodecTrial& trial : advice->trials) {
      if (trial.codec.ToString() == "PQ100x8") {
        EXPECT_THAT(trial.missed.at(0), HasSubstr("more codes than values"));
      } else {
        EXPECT_TRUE(trial.quality.overlap.has_value());
      }
    }
  }
  // Every row was tested: the same figures, whatever their order.
  EXPECT_NEAR(of_table->trials[0].quality.rel_error_mean, of_file->trials[0].quality.rel_error_mean,
              1e-9);
  options.goal.quality.max_rel_error = 1e-12;
  options.codecs.resize(2);
  EXPECT_FALSE(AdviseCodec(**table, options)->best);
}

}  // namespace
}  // namespace edo
