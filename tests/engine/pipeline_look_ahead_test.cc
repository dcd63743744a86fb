// A pipeline with a look-ahead: its rows are right, its table's cache serves more of a loop over
// twice what it holds than without, and the look-ahead ends with the pipeline.
#include <gtest/gtest.h>

#include <iostream>
#include <vector>

#include "edo/pipeline.h"
#include "tests/engine/lookup_fixture.h"

namespace edo::test {
namespace {

constexpr uint32_t kDim = 64;
constexpr uint64_t kTableRows = 4000;

enum class Keys { kRows, kDense, kInt64, kText };

class PipelineLookAhead : public ::testing::TestWithParam<Keys> {
 protected:
  void Open(uint64_t cache_rows) {
    StoreOptions options;
    options.cache_bytes = cache_rows * (kDim * 4 + 11);  // F32: tag, entry and pins are 11 bytes
    store_ = MemoryStore(options);
    ASSERT_NE(store_, nullptr);
    TableOptions table;
    table.dim = kDim;
    if (GetParam() == Keys::kInt64) table.key_kind = KeyKind::kInt64;
    if (GetParam() == Keys::kText) table.key_kind = KeyKind::kText;
    ASSERT_TRUE(WriteTable(store_.get(), "t", table, kTableRows).ok());
    table_ = OpenTable(store_.get(), "t");
    ASSERT_NE(table_, nullptr);
  }

  // Batch `number` of a loop over `period` rows, as keys of the table's kind; every 16th key is no
  // row's.
  static KeyBatch BatchOf(uint64_t number, uint64_t rows_a_batch, uint64_t period) {
    KeyBatch batch;
    for (uint64_t i = 0; i < rows_a_batch; ++i) {
      const uint64_t at = number * rows_a_batch + i;
      const uint64_t row = at % 16 == 3 ? kTableRows + at : at % period;
      switch (GetParam()) {
        case Keys::kRows:
          batch.rows.push_back(row);
          break;
        case Keys::kDense:
          batch.ids.push_back(static_cast<int64_t>(row));
          break;
        case Keys::kInt64:
          batch.ids.push_back(static_cast<int64_t>(row) * 7 - 1000);
          break;
        case Keys::kText:
          batch.tokens.push_back("k" + std::to_string(row));
          break;
      }
    }
    return batch;
  }

  // Runs a loop and checks every value. Returns the cache's hits.
  uint64_t Run(uint64_t batches, uint64_t rows_a_batch, uint64_t period, uint32_t look_ahead) {
    const uint64_t before = store_->stats().cache_hits;
    uint64_t asked = 0;
    auto made = table_->MakePipeline(
        [&](KeyBatch* batch) -> Result<bool> {
          if (asked == batches) return false;
          *batch = BatchOf(asked++, rows_a_batch, period);
          return true;
        },
        {.look_ahead = look_ahead});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    PipelineBatch batch;
    uint64_t seen = 0;
    while (true) {
      const Result<bool> more = (*made)->Next(&batch);
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) break;
      EXPECT_EQ(batch.number, seen);
      EDO_EXPECT_OK(batch.status);
      EXPECT_GE(asked, std::min(batches, seen + 1 + look_ahead));
      for (uint64_t i = 0; i < rows_a_batch && !HasFailure(); ++i) {
        const uint64_t at = seen * rows_a_batch + i;
        const bool there = at % 16 != 3;
        for (const uint32_t column : {0u, kDim - 1}) {
          EXPECT_EQ(batch.values[i * kDim + column], there ? ValueOf(at % period, column) : 0.0f)
              << "batch " << seen << " key " << i;
        }
      }
      ++seen;
    }
    EXPECT_EQ(seen, batches);
    return store_->stats().cache_hits - before;
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
};

TEST_P(PipelineLookAhead, HitsMoreOfALoopThatDoesNotFit) {
  constexpr uint64_t kBatches = 250;
  constexpr uint64_t kBatch = 64;
  constexpr uint64_t kCacheRows = 32 * 32;
  Open(kCacheRows);
  const uint64_t without = Run(kBatches, kBatch, 2 * kCacheRows, 0);
  // A new handle's rows are the same generation's: begin again with an empty cache.
  table_.reset();
  store_.reset();
  Open(kCacheRows);
  const uint64_t with = Run(kBatches, kBatch, 2 * kCacheRows, 40);
  std::cout << "hits of " << kBatches * kBatch << " keys: " << without << " without, " << with
            << " with a look-ahead\n";
  EXPECT_GT(with, without);
  EXPECT_GT(with, kBatches * kBatch * 3 / 10);
}

TEST_P(PipelineLookAhead, OneOfTwoLoopsIsForeseenAndTheNextOneAgain) {
  Open(512);
  auto other = table_->MakePipeline(
      [](KeyBatch* batch) -> Result<bool> {
        *batch = BatchOf(0, 8, 100);
        return true;
      },
      {.look_ahead = 10});
  ASSERT_TRUE(other.ok());
  PipelineBatch batch;
  ASSERT_TRUE((*other)->Next(&batch).ok());
  Run(20, 32, 300, 12);  // goes on without
  other->reset();        // in the midst of its loop
  Run(20, 32, 300, 12);
}

TEST_P(PipelineLookAhead, WithoutACacheItReadsAll) {
  Open(0);
  EXPECT_EQ(Run(10, 32, 300, 12), 0u);
}

std::string NameOf(const ::testing::TestParamInfo<Keys>& info) {
  constexpr const char* kNames[] = {"Rows", "Dense", "Int64", "Text"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(, PipelineLookAhead,
                         ::testing::Values(Keys::kRows, Keys::kDense, Keys::kInt64, Keys::kText),
                         NameOf);

}  // namespace
}  // namespace edo::test
