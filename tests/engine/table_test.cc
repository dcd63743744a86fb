// Tables over both row stores: what is written comes back, by row number, id and token, for every
// codec and for row sizes on both sides of a chunk's limits; missing, padding, duplicates, replace.
// F32 is compared to the bit; the bounds of the other codecs are tests/storage/codec_test.cc's.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "edo/store.h"
#include "tests/engine/lookup_fixture.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

using test::NewStore;
using test::RowsOf;
using test::StoreBody;
using test::ValueOf;

class TableTest : public ::testing::TestWithParam<StoreBody> {
 protected:
  void SetUp() override { store_ = NewStore(GetParam(), dir_.File("store")); }

  Result<TableInfo> Write(const std::string& name, const TableOptions& options, uint64_t rows,
                          uint64_t version = 0) {
    return test::WriteTable(store_.get(), name, options, rows, version);
  }

  std::unique_ptr<Table> Open(const std::string& name) {
    auto table = store_->OpenTable(name);
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return table.ok() ? std::move(*table) : nullptr;
  }

  test::TempDir dir_;
  std::unique_ptr<Store> store_;
};
INSTANTIATE_TEST_SUITE_P(Bodies, TableTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

TEST_P(TableTest, RowsComeBackBitForBitForEveryRowSizeAndKeyKind) {
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    for (const uint32_t dim : {1u, 3u, 31u, 64u, 128u, 300u, 1030u, 5000u}) {
      const uint64_t rows = dim > 1000 ? 40 : 2500;
      SCOPED_TRACE(std::string(KeyKindName(kind)) + " dim " + std::to_string(dim));
      TableOptions options;
      options.key_kind = kind;
      options.dim = dim;
      options.replace = true;
      const auto info = Write("t", options, rows);
      ASSERT_TRUE(info.ok()) << info.status().ToString();
      EXPECT_EQ(info->rows, rows);
      const auto table = Open("t");
      ASSERT_NE(table, nullptr);
      std::vector<uint64_t> numbers;
      std::mt19937_64 random(dim);
      for (int i = 0; i < 700; ++i) numbers.push_back(random() % rows);
      std::vector<float> out(numbers.size() * dim);
      EDO_ASSERT_OK(table->LookupRows(numbers, {}, out.data()));
      std::vector<float> by_key(out.size());
      LookupReport report;
      if (kind == KeyKind::kText) {
        std::vector<std::string> texts;
        for (const uint64_t n : numbers) texts.push_back("k" + std::to_string(n));
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        EDO_ASSERT_OK(
            table->Lookup(std::span<const std::string_view>(views), {}, by_key.data(), &report));
      } else {
        std::vector<int64_t> ids;
        for (const uint64_t n : numbers) {
          ids.push_back(kind == KeyKind::kDense ? static_cast<int64_t>(n)
                                                : static_cast<int64_t>(n) * 7 - 1000);
        }
        EDO_ASSERT_OK(table->Lookup(std::span<const int64_t>(ids), {}, by_key.data(), &report));
      }
      EXPECT_EQ(report.found, numbers.size());
      for (size_t i = 0; i < numbers.size(); ++i) {
        for (uint32_t c = 0; c < dim; ++c) {
          ASSERT_EQ(out[i * dim + c], ValueOf(numbers[i], c)) << "row " << numbers[i];
          ASSERT_EQ(by_key[i * dim + c], ValueOf(numbers[i], c)) << "row " << numbers[i];
        }
      }
    }
  }
}

TEST_P(TableTest, ScanGivesRowsAndKeysInOrderFromAnyRow) {
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    TableOptions options;
    options.key_kind = kind;
    options.dim = 50;
    options.replace = true;
    ASSERT_TRUE(Write("t", options, 9001).ok());
    const auto table = Open("t");
    for (const auto& [first, count] : {std::pair<uint64_t, uint64_t>{0, UINT64_MAX},
                                       {4999, 1},
                                       {127, 4200},
                                       {9000, 5},
                                       {9001, 5},
                                       {20000, 1}}) {
      ScanOptions scan_options;
      scan_options.first_row = first;
      scan_options.row_count = count;
      auto scan = table->Scan(scan_options);
      ASSERT_TRUE(scan.ok());
      uint64_t row = first;
      const uint64_t end = std::min<uint64_t>(9001, count > 9001 ? 9001 : first + count);
      for (;;) {
        ScanBatch batch;
        const auto more = (*scan)->Next(&batch);
        ASSERT_TRUE(more.ok()) << more.status().ToString();
        if (!*more) break;
        ASSERT_EQ(batch.first_row, row);
        for (uint64_t i = 0; i < batch.row_count; ++i, ++row) {
          ASSERT_EQ(batch.values[i * 50 + 49], ValueOf(row, 49));
          if (kind == KeyKind::kText) {
            ASSERT_EQ(batch.text_keys[i], "k" + std::to_string(row));
          } else if (kind == KeyKind::kInt64) {
            ASSERT_EQ(batch.int_keys[i], static_cast<int64_t>(row) * 7 - 1000);
          }
        }
      }
      EXPECT_EQ(row, std::max(first, end));
    }
  }
}

TEST_P(TableTest, MissingKeysFollowTheContract) {
  TableOptions options;
  options.key_kind = KeyKind::kText;
  options.dim = 4;
  ASSERT_TRUE(Write("t", options, 10).ok());
  const auto table = Open("t");
  const std::array<std::string_view, 4> keys{"k1", "nobody", "k9", ""};
  std::vector<float> out(16, 5.0f);
  LookupReport report;
  LookupOptions lookup;
  EDO_ASSERT_OK(
      table->Lookup(std::span<const std::string_view>(keys), lookup, out.data(), &report));
  EXPECT_EQ(report.missing, 2u);
  EXPECT_EQ(report.states[1], RowState::kMissing);
  EXPECT_EQ(out[4], 0.0f);
  EXPECT_EQ(out[8], ValueOf(9, 0));

  lookup.on_missing = OnMissing::kMark;
  std::fill(out.begin(), out.end(), 5.0f);
  EDO_ASSERT_OK(
      table->Lookup(std::span<const std::string_view>(keys), lookup, out.data(), &report));
  EXPECT_EQ(out[4], 5.0f);
  EXPECT_EQ(report.states[3], RowState::kMissing);

  lookup.on_missing = OnMissing::kError;
  std::fill(out.begin(), out.end(), 5.0f);
  const Status s =
      table->Lookup(std::span<const std::string_view>(keys), lookup, out.data(), &report);
  EXPECT_EQ(s.code(), StatusCode::kNotFound);
  EXPECT_EQ(out[8], ValueOf(9, 0));
}

TEST_P(TableTest, PaddingStrideInt32AndHalfOutput) {
  TableOptions options;
  options.dim = 3;
  ASSERT_TRUE(Write("t", options, 100).ok());
  const auto table = Open("t");
  const std::array<int32_t, 4> ids{5, -1, 99, 100};
  LookupOptions lookup;
  lookup.padding_id = -1;
  lookup.out_stride = 5;
  std::vector<float> out(20, 9.0f);
  LookupReport report;
  EDO_ASSERT_OK(table->Lookup(std::span<const int32_t>(ids), lookup, out.data(), &report));
  EXPECT_EQ(report.states[1], RowState::kPadding);
  EXPECT_EQ(report.states[3], RowState::kMissing);
  EXPECT_EQ(report.missing, 1u);
  EXPECT_EQ(out[0], ValueOf(5, 0));
  EXPECT_EQ(out[3], 9.0f) << "between rows nothing is written";
  EXPECT_EQ(out[5], 0.0f);
  EXPECT_EQ(out[10], ValueOf(99, 0));
  lookup.out_stride = 2;
  EXPECT_EQ(table->Lookup(std::span<const int32_t>(ids), lookup, out.data()).code(),
            StatusCode::kInvalidArgument);
  lookup.out_stride = 0;
  lookup.out_type = FloatType::kF16;
  std::vector<uint16_t> half(12);
  EDO_ASSERT_OK(table->Lookup(std::span<const int32_t>(ids), lookup, half.data()));
  EXPECT_NE(half[0], 0);
  EXPECT_EQ(half[3], 0);
}

TEST_P(TableTest, EmptyBatchesEmptyTablesAndWrongKeyTypes) {
  TableOptions options;
  options.dim = 7;
  options.key_kind = KeyKind::kText;
  ASSERT_TRUE(Write("empty", options, 0).ok());
  const auto table = Open("empty");
  EXPECT_EQ(table->info().rows, 0u);
  const std::array<std::string_view, 1> key{"x"};
  float out[7];
  EDO_ASSERT_OK(table->Lookup(std::span<const std::string_view>(key), {}, out));
  EXPECT_EQ(out[0], 0.0f);
  EDO_ASSERT_OK(table->Lookup(std::span<const std::string_view>(), {}, out));
  const std::array<int64_t, 1> id{1};
  EXPECT_EQ(table->Lookup(std::span<const int64_t>(id), {}, out).code(),
            StatusCode::kInvalidArgument);
  const auto contains = table->Contains(std::string_view("x"));
  ASSERT_TRUE(contains.ok());
  EXPECT_FALSE(*contains);
}

TEST_P(TableTest, EverySixtyFourBitValueIsAKey) {
  TableOptions options;
  options.dim = 1;
  options.key_kind = KeyKind::kInt64;
  auto writer = store_->CreateTable("t", options);
  ASSERT_TRUE(writer.ok());
  const std::vector<int64_t> keys{-1, -2, INT64_MAX, INT64_MIN, 0, -3, INT64_MAX - 1, 1};
  const std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  TableWriter::Rows rows;
  rows.values = values;
  rows.int_keys = keys;
  EDO_ASSERT_OK((*writer)->Append(rows));
  ASSERT_TRUE((*writer)->Commit().ok());
  const auto table = Open("t");
  std::vector<float> out(8);
  LookupReport report;
  EDO_ASSERT_OK(table->Lookup(std::span<const int64_t>(keys), {}, out.data(), &report));
  EXPECT_EQ(out, values);
  EXPECT_EQ(report.found, 8u);
  EXPECT_FALSE(*table->Contains(int64_t{-5}));
}

TEST_P(TableTest, DuplicateKeysAreRefusedOrDropped) {
  const std::vector<std::string_view> keys{"a", "cat", "b", "cat", "c", "cat", "b"};
  const std::vector<float> values{0, 1, 2, 3, 4, 5, 6};
  std::vector<uint64_t> positions{10, 11, 12, 13, 20, 21, 22};
  const auto write = [&](OnDuplicate policy, std::vector<DroppedRow>* dropped) {
    TableOptions options;
    options.dim = 1;
    options.key_kind = KeyKind::kText;
    options.on_duplicate = policy;
    options.position_unit = "line";
    auto writer = store_->CreateTable("t" + std::to_string(static_cast<int>(policy)), options);
    EXPECT_TRUE(writer.ok());
    TableWriter::Rows rows;
    rows.values = values;
    rows.text_keys = keys;
    rows.positions = positions;
    EDO_EXPECT_OK((*writer)->Append(rows));
    const Status s = (*writer)->Commit().status();
    if (dropped) *dropped = (*writer)->dropped();
    return s;
  };
  const Status refused = write(OnDuplicate::kError, nullptr);
  EXPECT_EQ(refused.code(), StatusCode::kBadInput);
  EXPECT_NE(refused.message().find("line 13"), std::string_view::npos) << refused.ToString();
  EXPECT_NE(refused.message().find("line 11"), std::string_view::npos);
  EXPECT_NE(refused.message().find("'cat'"), std::string_view::npos);
  EXPECT_EQ(store_->OpenTable("t0").status().code(), StatusCode::kNotFound);

  std::vector<DroppedRow> dropped;
  EDO_ASSERT_OK(write(OnDuplicate::kFirst, &dropped));
  ASSERT_EQ(dropped.size(), 3u);
  EXPECT_EQ(dropped[0].position, 13u);
  EXPECT_EQ(dropped[0].kept_position, 11u);
  auto table = Open("t1");
  ASSERT_EQ(table->info().rows, 4u);
  const std::vector<std::string_view> asked{"a", "b", "c", "cat"};
  std::vector<float> out(4);
  EDO_ASSERT_OK(table->Lookup(std::span<const std::string_view>(asked), {}, out.data()));
  EXPECT_EQ(out, (std::vector<float>{0, 2, 4, 1}));

  EDO_ASSERT_OK(write(OnDuplicate::kLast, &dropped));
  EXPECT_EQ(dropped.size(), 3u);
  table = Open("t2");
  ASSERT_EQ(table->info().rows, 4u);
  EDO_ASSERT_OK(table->Lookup(std::span<const std::string_view>(asked), {}, out.data()));
  EXPECT_EQ(out, (std::vector<float>{0, 6, 4, 5}));
  const auto report = store_->Verify({});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damages.empty()) << report->damages[0].what;
}

TEST_P(TableTest, ReplaceIsAtomicAndOpenHandlesKeepTheirRows) {
  TableOptions options;
  options.dim = 8;
  options.key_kind = KeyKind::kInt64;
  ASSERT_TRUE(Write("t", options, 500, 1).ok());
  EXPECT_EQ(store_->CreateTable("t", options).status().code(), StatusCode::kAlreadyExists);
  auto old_table = Open("t");
  options.replace = true;
  ASSERT_TRUE(Write("t", options, 300, 2).ok());
  std::vector<float> out(8);
  const std::array<uint64_t, 1> row{400};
  EDO_ASSERT_OK(old_table->LookupRows(row, {}, out.data()));
  EXPECT_EQ(out[0], ValueOf(400, 0, 1));
  const auto table = Open("t");
  EXPECT_EQ(table->info().rows, 300u);
  const std::array<uint64_t, 1> other{299};
  EDO_ASSERT_OK(table->LookupRows(other, {}, out.data()));
  EXPECT_EQ(out[0], ValueOf(299, 0, 2));
  old_table.reset();  // its generation goes now
  const auto report = store_->Verify({});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damages.empty())
      << report->damages[0].part << report->damages[0].table << report->damages[0].what;
}

TEST_P(TableTest, WriterWithoutCommitLeavesNothing) {
  TableOptions options;
  options.dim = 8;
  {
    auto writer = store_->CreateTable("t", options);
    ASSERT_TRUE(writer.ok());
    const std::vector<float> values = RowsOf(0, 100, 8);
    EDO_ASSERT_OK((*writer)->Append({.values = values}));
  }
  EXPECT_TRUE(store_->Tables().empty());
  EXPECT_EQ(store_->OpenTable("t").status().code(), StatusCode::kNotFound);
}

TEST_P(TableTest, DropRenameAndMetadata) {
  TableOptions options;
  options.dim = 2;
  options.metadata = {{"source", "here"}, {"licence", "CC0"}};
  ASSERT_TRUE(Write("a", options, 10).ok());
  ASSERT_TRUE(Write("b", options, 20).ok());
  EXPECT_EQ(store_->RenameTable("a", "b").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->RenameTable("x", "y").code(), StatusCode::kNotFound);
  EDO_ASSERT_OK(store_->RenameTable("a", "c"));
  EDO_ASSERT_OK(store_->SetMetadata("c", {{"licence", ""}, {"note", "n"}}));
  EXPECT_EQ(Open("c")->info().metadata, (Metadata{{"source", "here"}, {"note", "n"}}));
  EDO_ASSERT_OK(store_->DropTable("b"));
  EXPECT_EQ(store_->DropTable("b").code(), StatusCode::kNotFound);
  ASSERT_EQ(store_->Tables().size(), 1u);
  EXPECT_EQ(store_->Tables()[0].name, "c");
  EXPECT_EQ(store_->CreateTable("", options).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->CreateTable("a\nb", options).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(TableTest, ValuesThatDoNotFitTheCodecNamePlaceAndKey) {
  TableOptions options;
  options.dim = 2;
  options.key_kind = KeyKind::kText;
  options.codec = *CodecSpec::Parse("INT8");
  auto writer = store_->CreateTable("t", options);
  ASSERT_TRUE(writer.ok());
  const std::vector<float> values{1, 2, 3, INFINITY};
  const std::vector<std::string_view> keys{"good", "bad"};
  TableWriter::Rows rows;
  rows.values = values;
  rows.text_keys = keys;
  const Status s = (*writer)->Append(rows);
  EXPECT_EQ(s.code(), StatusCode::kBadInput);
  EXPECT_NE(s.message().find("row 1"), std::string_view::npos) << s.ToString();
  EXPECT_NE(s.message().find("'bad'"), std::string_view::npos) << s.ToString();
  EXPECT_EQ((*writer)->Commit().status().code(), StatusCode::kInvalidArgument);
}

TEST_P(TableTest, KeysOfRowsComeBackInTheOrderAsked) {
  TableOptions options;
  options.dim = 1;
  options.key_kind = KeyKind::kText;
  ASSERT_TRUE(Write("t", options, 1000).ok());
  const auto table = Open("t");
  const std::vector<uint64_t> rows{999, 0, 500, 0, 128, 127};
  const auto keys = table->TextKeysOf(rows);
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(*keys, (std::vector<std::string>{"k999", "k0", "k500", "k0", "k128", "k127"}));
  const std::vector<uint64_t> beyond{1000};
  EXPECT_EQ(table->TextKeysOf(beyond).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace edo
