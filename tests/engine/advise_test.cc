// AdviseOrder against a plain replay written out here: chunk reads of the orders whose positions
// are known, with no cache and behind caches of several sizes, over tables of each kind of keys.
#include "edo/advise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <numeric>
#include <random>
#include <set>

#include "edo/store.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

class AdviseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Table> MakeTable(KeyKind kind, uint64_t rows, uint32_t dim,
                                   const RowOrder& order = {}) {
    TableOptions options;
    options.key_kind = kind;
    options.dim = dim;
    options.order = order;
    options.replace = true;
    auto writer = store_->CreateTable("t", options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    const std::vector<float> values = test::RowsOf(0, rows, dim);
    std::vector<std::string> texts;
    std::vector<int64_t> ints;
    for (uint64_t r = 0; r < rows; ++r) {
      texts.push_back("w" + std::to_string(r));
      ints.push_back(static_cast<int64_t>(r) * 3);
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    TableWriter::Rows all;
    all.values = values;
    if (kind == KeyKind::kText) all.text_keys = views;
    if (kind == KeyKind::kInt64) all.int_keys = ints;
    EXPECT_TRUE((*writer)->Append(all).ok());
    EXPECT_TRUE((*writer)->Commit().ok());
    auto table = store_->OpenTable("t");
    EXPECT_TRUE(table.ok());
    return std::move(*table);
  }

  // Lines of places, written as keys of the kind, one unknown key a line.
  void WriteTrace(KeyKind kind, const std::vector<std::vector<uint64_t>>& lines) {
    std::string text;
    for (const auto& line : lines) {
      for (const uint64_t p : line) {
        text += kind == KeyKind::kText ? "w" + std::to_string(p)
                                       : std::to_string(kind == KeyKind::kInt64 ? p * 3 : p);
        text += " ";
      }
      text += "-1\n";
    }
    test::WriteFile(dir_.File("trace"), text);
  }

  test::TempDir dir_;
  std::unique_ptr<Store> store_ = test::NewStore(test::StoreBody::kMemory, "");
};

const OrderCost& CostOf(const OrderAdvice& advice, const std::string& order) {
  for (const OrderCost& cost : advice.orders) {
    if (cost.order == order) return cost;
  }
  ADD_FAILURE() << order;
  return advice.orders[0];
}

TEST_F(AdviseTest, ReadsAreThoseOfAPlainReplay) {
  std::mt19937_64 random(test::Seed(17));
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    for (const double percent : {0.0, 5.0, 30.0, 100.0}) {
      const uint64_t rows = 200 + random() % 800;
      const auto table = MakeTable(kind, rows, 16);
      std::vector<std::vector<uint64_t>> lines(31 + random() % 100);
      for (auto& line : lines) {
        for (int i = 0; i < 12; ++i) line.push_back(random() % (1 + random() % rows));
      }
      WriteTrace(kind, lines);
      AdviseOptions options;
      options.trace = dir_.File("trace");
      options.batch_lines = 1 + random() % 9;
      options.cache_percent = percent;
      const auto advice = AdviseOrder(*table, options);
      ASSERT_TRUE(advice.ok()) << advice.status().ToString();
      EXPECT_EQ(advice->lines, lines.size());
      EXPECT_EQ(advice->keys, lines.size() * 13);
      EXPECT_EQ(advice->keys_unknown, lines.size());

      // The table stands in the order of its source, so positions are places; `counts` by hand.
      std::vector<uint64_t> uses(rows), by_count(rows), position(rows);
      for (size_t i = 0; i < lines.size() / 2; ++i) {
        for (const uint64_t p : std::set<uint64_t>(lines[i].begin(), lines[i].end())) ++uses[p];
      }
      std::iota(by_count.begin(), by_count.end(), uint64_t{0});
      std::stable_sort(by_count.begin(), by_count.end(),
                       [&](uint64_t a, uint64_t b) { return uses[a] > uses[b]; });
      for (uint64_t i = 0; i < rows; ++i) position[by_count[i]] = i;
      std::list<uint64_t> recent;
      const auto use = [&](uint64_t row) {
        const auto at = std::find(recent.begin(), recent.end(), row);
        const bool hit = at != recent.end();
        if (hit) recent.erase(at);
        recent.push_front(row);
        if (recent.size() > advice->cache_rows) recent.pop_back();
        return hit;
      };
      const uint64_t chunk_rows = table->info().chunk_rows;
      uint64_t batches = 0, reads = 0, cached_reads = 0, count_reads = 0, asked = 0;
      for (const bool held_out : {false, true}) {
        const size_t half = lines.size() / 2;
        for (size_t i = held_out ? half : 0; i < (held_out ? lines.size() : half);
             i += options.batch_lines) {
          std::set<uint64_t> distinct, chunks, cached_chunks, count_chunks;
          const size_t end =
              std::min<size_t>(i + options.batch_lines, held_out ? lines.size() : half);
          for (size_t j = i; j < end; ++j) distinct.insert(lines[j].begin(), lines[j].end());
          for (const uint64_t row : distinct) {
            chunks.insert(row / chunk_rows);
            count_chunks.insert(position[row] / chunk_rows);
            if (!use(row)) cached_chunks.insert(row / chunk_rows);
          }
          if (!held_out) continue;
          ++batches;
          asked += distinct.size();
          reads += chunks.size();
          count_reads += count_chunks.size();
          cached_reads += cached_chunks.size();
        }
      }
      const auto a_batch = [&](uint64_t n) {
        return static_cast<double>(n) / static_cast<double>(batches);
      };
      EXPECT_EQ(advice->batches, batches);
      EXPECT_DOUBLE_EQ(advice->rows_a_batch, a_batch(asked));
      EXPECT_DOUBLE_EQ(CostOf(*advice, "stored").chunk_reads, a_batch(reads));
      EXPECT_DOUBLE_EQ(CostOf(*advice, "stored").cached_reads, a_batch(cached_reads));
      EXPECT_DOUBLE_EQ(CostOf(*advice, "counts").chunk_reads, a_batch(count_reads));
    }
  }
}

// What is advised is what an import then gives, and the advice does not depend on how the table is
// stored at present.
TEST_F(AdviseTest, TheAdviceHoldsAfterTheImport) {
  std::mt19937_64 random(test::Seed(18));
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kText}) {
    std::vector<std::vector<uint64_t>> lines(200);
    for (auto& line : lines) {
      for (int i = 0; i < 10; ++i) line.push_back(random() % 40 * 25);  // few rows, far apart
    }
    WriteTrace(kind, lines);
    const auto plain = MakeTable(kind, 1000, 64);
    const auto before = AdviseOrder(*plain, {.trace = dir_.File("trace"), .cache_percent = 1});
    ASSERT_TRUE(before.ok()) << before.status().ToString();
    EXPECT_LT(CostOf(*before, "counts").chunk_reads, CostOf(*before, "stored").chunk_reads / 5);
    EXPECT_TRUE(before->best == "counts" || before->best == "trace") << before->best;
    lines.resize(100);
    WriteTrace(kind, lines);
    const auto ordered = MakeTable(kind, 1000, 64, {OrderKind::kTrace, dir_.File("trace")});
    lines.insert(lines.end(), 100, {1, 2, 3});
    // (the same first half, and any other half after it)
    WriteTrace(kind, lines);
    const auto again = AdviseOrder(*plain, {.trace = dir_.File("trace")});
    const auto after = AdviseOrder(*ordered, {.trace = dir_.File("trace")});
    ASSERT_TRUE(again.ok() && after.ok());
    EXPECT_EQ(CostOf(*after, "stored").chunk_reads, CostOf(*again, "trace").chunk_reads);
    EXPECT_EQ(CostOf(*after, "file").chunk_reads, CostOf(*again, "stored").chunk_reads);
    for (const char* order : {"hash", "counts", "tiered", "trace"}) {
      EXPECT_EQ(CostOf(*after, order).chunk_reads, CostOf(*again, order).chunk_reads) << order;
      EXPECT_EQ(CostOf(*after, order).cached_reads, CostOf(*again, order).cached_reads) << order;
    }
  }
}

TEST_F(AdviseTest, FaultsAreNamed) {
  const auto table = MakeTable(KeyKind::kInt64, 10, 4);
  const auto error = [&](const AdviseOptions& options) {
    return AdviseOrder(*table, options).status();
  };
  EXPECT_EQ(error({}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error({.trace = dir_.File("none")}).code(), StatusCode::kNotFound);
  test::WriteFile(dir_.File("trace"), "1 2\n\n");
  const Status one = error({.trace = dir_.File("trace")});
  EXPECT_EQ(one.code(), StatusCode::kBadInput);
  EXPECT_NE(one.message().find("expected at least 2"), std::string_view::npos) << one.ToString();
  test::WriteFile(dir_.File("trace"), "1 2\n3 x\n");
  EXPECT_EQ(error({.trace = dir_.File("trace")}).message(),
            dir_.File("trace") + " line 2: found 'x', expected an integer key");
  EXPECT_EQ(error({.trace = dir_.File("trace"), .batch_lines = 0}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(error({.trace = dir_.File("trace"), .cache_percent = 101}).code(),
            StatusCode::kInvalidArgument);
  test::WriteFile(dir_.File("trace"), "1 2\n3\n");
  EXPECT_EQ(error({.trace = dir_.File("trace"), .progress = [](const Progress&) { return false; }})
                .code(),
            StatusCode::kCancelled);
}

TEST_F(AdviseTest, AnEmptyTableHasNothingToRead) {
  const auto table = MakeTable(KeyKind::kText, 0, 4);
  test::WriteFile(dir_.File("trace"), "a\nb\n");
  const auto advice = AdviseOrder(*table, {.trace = dir_.File("trace")});
  ASSERT_TRUE(advice.ok()) << advice.status().ToString();
  EXPECT_EQ(CostOf(*advice, "trace").chunk_reads, 0);
  EXPECT_EQ(advice->best, "stored");
}

}  // namespace
}  // namespace edo
