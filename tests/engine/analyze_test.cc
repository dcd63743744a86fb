// Analyze on small tables: text keys, int64 keys, dense tables in another order, rows that only one
// side has, keys that repeat. What a figure must be is computed from the rows that went in; the
// tally itself is checked in row_quality_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>

#include "edo/quality.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kDim = 4;

std::string Line(const std::string& key, const std::vector<float>& values) {
  std::string line = key;
  for (const float value : values) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    line += " " + std::string(text, end);
  }
  return line + "\n";
}

class AnalyzeTest : public ::testing::TestWithParam<test::StoreBody> {
 protected:
  void SetUp() override { store_ = test::NewStore(GetParam(), dir_.File("store")); }

  std::string File(const std::string& name, const std::string& bytes) const {
    test::WriteFile(dir_.File(name), bytes);
    return dir_.File(name);
  }
  std::string Words(const std::string& name, uint64_t first, uint64_t count) const {
    std::string text;
    for (uint64_t r = first; r < first + count; ++r) {
      text += Line("w" + std::to_string(r), test::RowsOf(r, 1, kDim));
    }
    return File(name, text);
  }
  std::unique_ptr<Table> Import(const std::string& path, ImportOptions options = {}) {
    options.source.path = path;
    options.table = "t";
    const auto report = edo::Import(store_.get(), options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    auto table = store_->OpenTable("t");
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return std::move(table).value();
  }
  static ImportOptions As(const char* codec) {
    ImportOptions options;
    options.codec = *CodecSpec::Parse(codec);
    return options;
  }

  test::TempDir dir_;
  std::unique_ptr<Store> store_;
};

TEST_P(AnalyzeTest, ExactCodecKeepsEveryRow) {
  const std::string path = Words("a.txt", 0, 9000);
  const auto table = Import(path);
  for (const uint32_t threads : {1u, 2u}) {
    AnalyzeOptions options;
    options.against.path = path;
    options.threads = threads;
    const auto report = Analyze(*table, options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->quality.rows, 9000u);
    EXPECT_EQ(report->quality.rows_exact, 9000u);
    EXPECT_EQ(report->quality.overlap, 1.0);
    EXPECT_EQ(report->overlap_rows, 9000u);
    EXPECT_EQ(report->rows_missing + report->rows_extra + report->rows_repeated, 0u);
    EXPECT_EQ(report->format, "glove");
  }
}

TEST_P(AnalyzeTest, FiguresAreThoseOfTheDecodedRows) {
  const std::string path = Words("a.txt", 0, 500);
  const auto table = Import(path, As("INT8"));
  const auto report = Analyze(*table, {.against = {.path = path}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  std::vector<uint64_t> rows(500);
  for (uint64_t r = 0; r < 500; ++r) rows[r] = r;
  std::vector<float> decoded(500 * kDim);
  EDO_ASSERT_OK(table->LookupRows(rows, {}, decoded.data()));
  const std::vector<float> original = test::RowsOf(0, 500, kDim);
  double mean = 0, worst = 0;
  uint64_t worst_row = 0;
  for (uint64_t r = 0; r < 500; ++r) {
    double error = 0, energy = 0;
    for (uint32_t c = 0; c < kDim; ++c) {
      const double x = original[r * kDim + c];
      error += std::pow(x - double{decoded[r * kDim + c]}, 2);
      energy += x * x;
    }
    mean += error / energy / 500;
    if (error / energy > worst) worst = error / energy, worst_row = r;
  }
  EXPECT_NEAR(report->quality.rel_error_mean, mean, 1e-12);
  EXPECT_NEAR(report->quality.rel_error_worst, worst, 1e-12);
  ASSERT_EQ(report->quality.worst.size(), 20u);
  EXPECT_EQ(report->quality.worst[0].row, worst_row);
  EXPECT_EQ(report->quality.worst[0].key, "w" + std::to_string(worst_row));
  EXPECT_GT(report->quality.overlap.value_or(0), 0.8);
}

TEST_P(AnalyzeTest, RowsThatOnlyOneSideHasAreCountedAndNamed) {
  const auto table = Import(Words("table.txt", 0, 100));
  const auto report = Analyze(*table, {.against = {.path = Words("other.txt", 30, 100)}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->quality.rows, 70u);
  EXPECT_EQ(report->rows_read, 100u);
  EXPECT_EQ(report->rows_missing, 30u);
  EXPECT_EQ(report->rows_extra, 30u);
  ASSERT_EQ(report->missing.size(), 20u);
  EXPECT_EQ(report->missing[0].key, "w100");
  EXPECT_EQ(report->missing[0].position, 71u);  // the line
  ASSERT_EQ(report->extra.size(), 20u);
  EXPECT_EQ(report->extra[19].key, "w19");
}

TEST_P(AnalyzeTest, RowsAreMatchedByKeyNotByPlace) {
  std::string shuffled;
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t r = i * 7 % 300;
    shuffled += Line("w" + std::to_string(r), test::RowsOf(r, 1, kDim));
  }
  const auto table = Import(Words("a.txt", 0, 300));
  const auto report = Analyze(*table, {.against = {.path = File("b.txt", shuffled)}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->quality.rows_exact, 300u);
}

TEST_P(AnalyzeTest, IntegerKeysAreThoseOfTheTable) {
  std::string text;
  for (int64_t r = 0; r < 50; ++r) {
    text += Line(std::to_string(r * r - 100), test::RowsOf(static_cast<uint64_t>(r), 1, kDim));
  }
  ImportOptions options;
  options.source.key_kind = KeyKind::kInt64;
  const std::string path = File("a.txt", text);
  const auto table = Import(path, options);
  const auto report = Analyze(*table, {.against = {.path = path}});  // no word about keys
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->quality.rows_exact, 50u);
}

TEST_P(AnalyzeTest, ADenseTableInAnotherOrderIsMatchedByThePlacesOfItsSource) {
  const uint64_t rows = 3000;
  const std::vector<float> values = test::RowsOf(0, rows, kDim);
  const std::string path =
      File("a.f32", std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  std::string counts;
  for (uint64_t r = 0; r < rows; ++r) {
    counts += std::to_string(r) + "\t" + std::to_string(r * 37 % 101 + 1) + "\n";
  }
  ImportOptions options;
  options.source.format = "raw";
  options.source.dim = kDim;
  options.source.dtype = "f32";
  options.order = {OrderKind::kCounts, File("counts.tsv", counts)};
  const auto table = Import(path, options);
  ASSERT_EQ(table->info().order, "counts");
  SourceOptions source = options.source;
  source.path = path;
  const auto report = Analyze(*table, {.against = source});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->quality.rows_exact, rows);

  source.limit = rows - 1;  // the last place is extra: its key is the place, not the row number
  const auto less = Analyze(*table, {.against = source});
  ASSERT_TRUE(less.ok()) << less.status().ToString();
  ASSERT_EQ(less->extra.size(), 1u);
  EXPECT_EQ(less->extra[0].key, std::to_string(rows - 1));
}

TEST_P(AnalyzeTest, AKeyThatRepeatsNeedsAWordOnWhichRowCounts) {
  const std::string path = File("a.txt", "a 1 0\nb 0 1\na 3 4\nc 1 1\n");
  for (const OnDuplicate which : {OnDuplicate::kFirst, OnDuplicate::kLast}) {
    ImportOptions import;
    import.on_duplicate = which;
    import.replace = true;
    const auto table = Import(path, import);
    const auto strict = Analyze(*table, {.against = {.path = path}});
    EXPECT_EQ(strict.status().code(), StatusCode::kBadInput);
    EXPECT_THAT(std::string(strict.status().message()), HasSubstr(path + " line 3: key 'a' came"));
    for (const OnDuplicate asked : {OnDuplicate::kFirst, OnDuplicate::kLast}) {
      AnalyzeOptions options;
      options.against.path = path;
      options.on_duplicate = asked;
      const auto report = Analyze(*table, options);
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      EXPECT_EQ(report->rows_repeated, 1u);
      EXPECT_EQ(report->quality.rows, 3u);
      EXPECT_EQ(report->quality.rows_exact, asked == which ? 3u : 2u);
      EXPECT_EQ(report->rows_extra, 0u);
    }
  }
}

TEST_P(AnalyzeTest, AnArchiveOfCodesIsAnOriginal) {
  const auto table = Import(Words("a.txt", 0, 200), As("F16"));
  ExportOptions archive;
  archive.path = dir_.File("a.edo");
  ASSERT_TRUE(Export(*table, archive).ok());
  const auto report = Analyze(*table, {.against = {.path = archive.path}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->quality.rows_exact, 200u);
  EXPECT_EQ(report->format, "edo");
}

TEST_P(AnalyzeTest, AnotherShapeOrKindIsAnErrorThatNamesBoth) {
  const auto table = Import(Words("a.txt", 0, 20));
  const auto code = [&](const std::string& path, const char* words) {
    const auto report = Analyze(*table, {.against = {.path = path}});
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(words));
    return report.status().code();
  };
  EXPECT_EQ(code(File("dim.txt", "w1 1 2 3\n"), "found rows of 3 values, expected 4"),
            StatusCode::kBadInput);
  SourceOptions dense{.path = dir_.File("a.txt"), .keys = "dense"};
  const auto report = Analyze(*table, {.against = dense});
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("found dense keys, expected text"));
  EXPECT_EQ(code(dir_.File("none"), "none"), StatusCode::kNotFound);
  EXPECT_EQ(code(File("bad.txt", "w1 1 2 3 4\nw2 1 x 3 4\n"), "line 2"), StatusCode::kBadInput);
}

TEST_P(AnalyzeTest, ProgressCancelsAndOverlapIsLeftOutWhenNotWanted) {
  const std::string path = Words("a.txt", 0, 20);
  const auto table = Import(path);
  AnalyzeOptions options;
  options.against.path = path;
  options.overlap_rows = 0;
  const auto report = Analyze(*table, options);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->quality.overlap.has_value());
  options.progress = [](const Progress&) { return false; };
  EXPECT_EQ(Analyze(*table, options).status().code(), StatusCode::kCancelled);
}

TEST_P(AnalyzeTest, TheSampleOfOverlapIsBounded) {
  const std::string path = Words("a.txt", 0, 5000);
  const auto table = Import(path, As("INT8"));
  AnalyzeOptions options;
  options.against.path = path;
  options.overlap_rows = 1000;
  const auto report = Analyze(*table, options);
  ASSERT_TRUE(report.ok());
  EXPECT_GT(report->overlap_rows, 800u);
  EXPECT_LT(report->overlap_rows, 1200u);
  EXPECT_TRUE(report->quality.overlap.has_value());
}

INSTANTIATE_TEST_SUITE_P(Bodies, AnalyzeTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

}  // namespace
}  // namespace edo
