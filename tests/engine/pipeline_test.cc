// Pipelines and bulk lookups: the right rows in the right order, whatever the batches, the windows
// and the failures; each chunk read once a window.
#include "edo/pipeline.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/engine/lookup_fixture.h"
#include "tests/support/gated_row_store.h"

namespace edo::test {
namespace {

constexpr uint32_t kDim = 100;

class LoopTest : public ::testing::Test {
 protected:
  void Open(StoreOptions options = {}, KeyKind kind = KeyKind::kDense, uint64_t rows = 3000) {
    auto base = std::make_unique<GatedRowStore>(storage::MakeMemoryRowStore());
    disk_ = base.get();
    store_ = engine::StoreImpl::MakeNew(std::move(base), "", options).value();
    TableOptions table;
    table.dim = kDim;
    table.compression = Compression::kNone;  // tests know which rows a chunk has
    table.key_kind = kind;
    ASSERT_TRUE(WriteTable(store_.get(), "t", table, rows).ok());
    table_ = OpenTable(store_.get(), "t");
    disk_->TakeReads();
  }
  // Keys of `kind` for rows; rows beyond the table become keys that it does not hold.
  KeyBatch KeysOf(const std::vector<uint64_t>& rows, bool as_rows) const {
    KeyBatch keys;
    for (const uint64_t row : rows) {
      if (as_rows) {
        keys.rows.push_back(row);
      } else if (table_->info().key_kind == KeyKind::kText) {
        keys.tokens.push_back("k" + std::to_string(row));
      } else if (table_->info().key_kind == KeyKind::kInt64) {
        keys.ids.push_back(static_cast<int64_t>(row) * 7 - 1000);
      } else {
        keys.ids.push_back(static_cast<int64_t>(row));
      }
    }
    return keys;
  }
  KeySource SourceOf(const std::vector<std::vector<uint64_t>>& batches, bool as_rows) const {
    return [this, &batches, as_rows, next = size_t{0}](KeyBatch* batch) mutable -> Result<bool> {
      if (next == batches.size()) return false;
      *batch = KeysOf(batches[next++], as_rows);
      return true;
    };
  }
  std::vector<std::vector<uint64_t>> SomeBatches(size_t count, std::mt19937_64& random) const {
    std::vector<std::vector<uint64_t>> batches(count);
    for (auto& batch : batches) batch = SomeRows(table_->info().rows, random() % 90, 9, random);
    return batches;
  }

  GatedRowStore* disk_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
};

TEST_F(LoopTest, APipelineGivesEveryBatchInItsTurn) {
  const uint64_t seed = Seed(5);
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    for (const uint64_t cache_bytes : {uint64_t{0}, uint64_t{256} << 10}) {
      StoreOptions options;
      options.cache_bytes = cache_bytes;
      Open(options, kind);
      std::mt19937_64 random(seed);
      const auto batches = SomeBatches(40, random);
      for (const uint32_t depth : {1u, 2u, 7u}) {
        const bool as_rows = kind == KeyKind::kDense && depth == 2;
        auto pipeline = table_->MakePipeline(SourceOf(batches, as_rows), {.depth = depth}).value();
        size_t next = 0;
        for (const PipelineBatch& batch : *pipeline) {
          ASSERT_EQ(batch.number, next);
          EDO_ASSERT_OK(batch.status);
          ASSERT_EQ(batch.keys->size(), batches[next].size());
          ASSERT_EQ(batch.values.size(), batches[next].size() * kDim);
          for (size_t i = 0; i < batches[next].size(); ++i) {
            const uint64_t row = batches[next][i];
            ASSERT_EQ(batch.values[i * kDim + 9], row < 3000 ? ValueOf(row, 9) : 0.0f);
          }
          ++next;
        }
        EDO_EXPECT_OK(pipeline->status());
        EXPECT_EQ(next, batches.size());
        EXPECT_EQ(pipeline->stats().batches, batches.size());
      }
    }
  }
}

TEST_F(LoopTest, BatchesAreReadAhead) {
  StoreOptions options;
  options.cache_bytes = 0;
  Open(options);
  std::vector<std::vector<uint64_t>> batches;
  for (uint64_t b = 0; b < 10; ++b) batches.push_back({b * 200, b * 200 + 100});
  auto pipeline = table_->MakePipeline(KeysFrom(batches), {.depth = 3}).value();
  PipelineBatch batch;
  ASSERT_TRUE(*pipeline->Next(&batch));
  // The batch itself and three more have been asked for.
  std::set<uint64_t> begun;
  for (int i = 0; i < 2000 && begun.size() < 8; ++i) {
    for (const auto& [chunk, count] : disk_->TakeReads()) begun.insert(chunk);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(begun.size(), 8u);
  while (*pipeline->Next(&batch)) EDO_ASSERT_OK(batch.status);
  EXPECT_EQ(pipeline->stats().rows_staged, 20u);
  EXPECT_FALSE(*pipeline->Next(&batch)) << "it stays at its end";
}

TEST_F(LoopTest, ABatchTooLargeToBeReadAheadIsReadInItsTurn) {
  StoreOptions options;
  options.cache_bytes = 0;
  options.prefetch_bytes = 10 * (4 * kDim + 16);
  Open(options);
  std::vector<std::vector<uint64_t>> batches{{1, 2, 3}, {}, std::vector<uint64_t>(500, 7), {4}};
  auto pipeline = table_->MakePipeline(KeysFrom(batches), {.depth = 2}).value();
  size_t next = 0;
  for (const PipelineBatch& batch : *pipeline) {
    EDO_ASSERT_OK(batch.status);
    for (size_t i = 0; i < batches[next].size(); ++i) {
      ASSERT_EQ(batch.values[i * kDim], ValueOf(batches[next][i], 0));
    }
    ++next;
  }
  EXPECT_EQ(next, 4u);
}

// Loops that hold each other's room in one thread, and a ticket that holds all of it.
TEST_F(LoopTest, LoopsThatShareTooLittleRoomDoNotWaitForEachOther) {
  StoreOptions options;
  options.cache_bytes = 0;
  options.prefetch_bytes = 130 * (4 * kDim + 16);
  Open(options);
  std::mt19937_64 random(Seed(8));
  std::vector<std::vector<uint64_t>> batches(12);
  for (auto& batch : batches) batch = SomeRows(3000, 50, 0, random);
  for (const bool held : {false, true}) {
    std::unique_ptr<PrefetchTicket> ticket;
    if (held) ticket = table_->PrefetchRows(std::vector<uint64_t>(120, 5)).value();
    auto first = table_->MakePipeline(KeysFrom(batches), {.depth = 4}).value();
    auto second = table_->MakePipeline(KeysFrom(batches), {.depth = 4}).value();
    PipelineBatch a, b;
    for (const auto& rows : batches) {
      ASSERT_TRUE(*first->Next(&a));
      ASSERT_TRUE(*second->Next(&b));
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(a.values[i * kDim], ValueOf(rows[i], 0));
        ASSERT_EQ(b.values[i * kDim], ValueOf(rows[i], 0));
      }
    }
    EXPECT_FALSE(*first->Next(&a));
    EXPECT_FALSE(*second->Next(&b));
  }
}

TEST_F(LoopTest, ABadBatchDoesNotEndTheLoopAnErrorOfTheSourceDoes) {
  Open();
  disk_->Fail(10, Status::IoError("injected"));
  std::vector<std::vector<uint64_t>> batches{{1}, {105, 2}, {3}};
  const KeySource good = KeysFrom(batches);
  const KeySource source = [&](KeyBatch* batch) -> Result<bool> {
    EDO_ASSIGN_OR_RETURN(const bool more, good(batch));
    if (!more) return Status::BadInput("line 4 is no key");
    return true;
  };
  auto pipeline = table_->MakePipeline(source, {.depth = 1}).value();
  std::vector<StatusCode> codes;
  for (const PipelineBatch& batch : *pipeline) {
    codes.push_back(batch.status.code());
    if (batch.number == 1) {
      EXPECT_EQ(batch.report.states[0], RowState::kUnread);
      EXPECT_EQ(batch.values[kDim], ValueOf(2, 0));
    }
  }
  EXPECT_EQ(pipeline->status().code(), StatusCode::kBadInput);
  EXPECT_EQ(codes,
            (std::vector<StatusCode>{StatusCode::kOk, StatusCode::kIoError, StatusCode::kOk}))
      << "what the source gave before its error is handed out";
  PipelineBatch batch;
  EXPECT_EQ(pipeline->Next(&batch).status().code(), StatusCode::kBadInput) << "and stays so";
}

TEST_F(LoopTest, BadArgumentsAreRefused) {
  Open();
  const std::vector<std::vector<uint64_t>> none;
  EXPECT_FALSE(table_->MakePipeline(nullptr, {}).ok());
  EXPECT_FALSE(table_->MakePipeline(KeysFrom(none), {.depth = 0}).ok());
  EXPECT_FALSE(table_->MakePipeline(KeysFrom(none), {.depth = 65}).ok());
  LookupOptions wide;
  wide.dims = kDim + 1;
  EXPECT_FALSE(table_->MakePipeline(KeysFrom(none), {.lookup = wide}).ok());
  const KeySource mixed = [](KeyBatch* batch) -> Result<bool> {
    batch->rows = {1};
    batch->ids = {1};
    return true;
  };
  PipelineBatch batch;
  EXPECT_EQ(table_->MakePipeline(mixed).value()->Next(&batch).status().code(),
            StatusCode::kInvalidArgument);
  const KeySource tokens = [](KeyBatch* batch) -> Result<bool> {
    batch->tokens = {"a"};
    return true;
  };
  EXPECT_FALSE(table_->MakePipeline(tokens).value()->Next(&batch).ok());
  EXPECT_FALSE(table_->BulkLookup(tokens, {}, [](const BulkRows&) { return Status::Ok(); }).ok());
  EXPECT_FALSE(table_->BulkLookup(KeysFrom(none), {}, nullptr).ok());
}

TEST_F(LoopTest, ABulkLookupGivesTheStreamInItsOrderAndReadsAChunkOnceAWindow) {
  const uint64_t seed = Seed(6);
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    StoreOptions options;
    options.cache_bytes = 0;
    Open(options, kind);
    std::mt19937_64 random(seed);
    for (const uint64_t window_bytes : {uint64_t{1}, uint64_t{100000}, uint64_t{256} << 20}) {
      auto batches = SomeBatches(30, random);
      batches.push_back(SomeRows(3000, 9000, 9, random));  // longer than a window, than a piece
      std::vector<uint64_t> stream;
      for (const auto& batch : batches) stream.insert(stream.end(), batch.begin(), batch.end());
      if (window_bytes == 1) stream.resize(std::min<size_t>(stream.size(), 500));
      if (window_bytes == 1) batches.assign(1, stream);
      uint64_t seen = 0;
      disk_->TakeReads();
      BulkReport report;
      const Status s = table_->BulkLookup(
          SourceOf(batches, kind == KeyKind::kDense && window_bytes > 100000),
          {.window_bytes = window_bytes},
          [&](const BulkRows& rows) -> Status {
            EXPECT_EQ(rows.first, seen);
            EXPECT_EQ(rows.values_a_row, kDim);
            for (uint64_t i = 0; i < rows.count; ++i, ++seen) {
              const bool held = stream[seen] < 3000;
              EXPECT_EQ(rows.states[i], held ? RowState::kFound : RowState::kMissing);
              EXPECT_EQ(rows.values[i * kDim + 50], held ? ValueOf(stream[seen], 50) : 0.0f);
            }
            return Status::Ok();
          },
          &report);
      EDO_ASSERT_OK(s);
      EXPECT_EQ(seen, stream.size());
      EXPECT_EQ(report.keys, stream.size());
      EXPECT_EQ(report.found + report.missing, stream.size());
      for (const auto& [chunk, count] : disk_->TakeReads()) {
        ASSERT_LE(count, report.windows) << "chunk " << chunk;
      }
      if (window_bytes > 100000) {
        EXPECT_EQ(report.windows, 1u);
      }
    }
  }
}

TEST_F(LoopTest, ABulkLookupSaysWhatItCouldNotRead) {
  Open();
  disk_->Fail(10, Status::Corruption("injected"));
  std::vector<std::vector<uint64_t>> batches{{1, 105, 2}, {106, 3000}};
  std::vector<RowState> states;
  BulkReport report;
  const Status s = table_->BulkLookup(
      KeysFrom(batches), {},
      [&](const BulkRows& rows) {
        states.insert(states.end(), rows.states.begin(), rows.states.end());
        return Status::Ok();
      },
      &report);
  EXPECT_EQ(s.code(), StatusCode::kCorruption) << s.ToString();
  EXPECT_NE(s.message().find("chunk 10"), std::string_view::npos);
  EXPECT_EQ(states, (std::vector<RowState>{RowState::kFound, RowState::kUnread, RowState::kFound,
                                           RowState::kUnread, RowState::kMissing}));
  EXPECT_EQ(report.unread, 2u);
  EXPECT_EQ(report.failures.size(), 1u);
}

TEST_F(LoopTest, ABulkLookupEndsWithTheFirstErrorOfItsParts) {
  Open();
  std::vector<std::vector<uint64_t>> batches{{1}, {5000}};
  const auto keep = [](const BulkRows&) { return Status::Ok(); };
  BulkOptions strict;
  strict.lookup.on_missing = OnMissing::kError;
  const Status missing = table_->BulkLookup(KeysFrom(batches), strict, keep);
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("key number 1"), std::string_view::npos) << missing.ToString();
  EXPECT_EQ(table_
                ->BulkLookup(KeysFrom(batches), {},
                             [](const BulkRows&) { return Status::NoSpace("the sink is full"); })
                .code(),
            StatusCode::kNoSpace);
  BulkOptions cancelled;
  cancelled.progress = [](const Progress&) { return false; };
  EXPECT_EQ(table_->BulkLookup(KeysFrom(batches), cancelled, keep).code(), StatusCode::kCancelled);
  const KeySource broken = [](KeyBatch*) -> Result<bool> { return Status::IoError("pipe"); };
  EXPECT_EQ(table_->BulkLookup(broken, {}, keep).code(), StatusCode::kIoError);
  const std::vector<std::vector<uint64_t>> none;
  EDO_EXPECT_OK(table_->BulkLookup(KeysFrom(none), {}, keep));
  // What the source gave before its error comes out first.
  const KeySource good = KeysFrom(batches);
  const KeySource ends_badly = [&](KeyBatch* batch) -> Result<bool> {
    EDO_ASSIGN_OR_RETURN(const bool more, good(batch));
    if (!more) return Status::BadInput("line 3");
    return true;
  };
  BulkReport report;
  EXPECT_EQ(table_->BulkLookup(ends_badly, {}, keep, &report).code(), StatusCode::kBadInput);
  EXPECT_EQ(report.keys, 2u);
  EXPECT_FALSE(report.complete);
}

}  // namespace
}  // namespace edo::test
