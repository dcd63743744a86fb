// Prefetches: tickets, the reads they share with each other and with lookups, their memory, their
// ends. Stages are held apart by a row store with a gate; whole histories are drawn by seed over an
// io_context that the test runs by hand, against a model.
#include "edo/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "edo/asio.h"
#include "tests/engine/lookup_fixture.h"
#include "tests/support/gated_row_store.h"

namespace edo::test {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kDim = 100;  // F32: ten rows a chunk

class PrefetchTest : public ::testing::Test {
 protected:
  void Open(StoreOptions options = {}, uint64_t rows = 2000) {
    auto base = std::make_unique<GatedRowStore>(storage::MakeMemoryRowStore());
    disk_ = base.get();
    auto store = engine::StoreImpl::MakeNew(std::move(base), "", options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
    TableOptions table;
    table.dim = kDim;
    table.compression = Compression::kNone;  // tests know which rows a chunk has
    ASSERT_TRUE(WriteTable(store_.get(), "t", table, rows).ok());
    table_ = OpenTable(store_.get(), "t");
    chunk_rows_ = table_->info().chunk_rows;
    disk_->TakeReads();
  }
  // Tests end with the gate open, or the store could not close.
  void TearDown() override {
    if (disk_ != nullptr) disk_->OpenGate();
    table_.reset();
    store_.reset();
  }
  std::unique_ptr<PrefetchTicket> Ask(const std::vector<uint64_t>& rows,
                                      const PrefetchOptions& options = {}) {
    auto ticket = table_->PrefetchRows(rows, options);
    EXPECT_TRUE(ticket.ok()) << ticket.status().ToString();
    return ticket.ok() ? std::move(*ticket) : nullptr;
  }
  Status Look(const std::vector<uint64_t>& rows, LookupReport* report = nullptr,
              const LookupOptions& options = {}) {
    std::vector<float> out(rows.size() * kDim, -1.0f);
    const Status s = table_->LookupRows(rows, options, out.data(), report);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (report != nullptr && report->states[i] == RowState::kUnread) continue;
      if (!s.ok() && report == nullptr) continue;
      const float expected = rows[i] < table_->info().rows ? ValueOf(rows[i], 3) : 0.0f;
      EXPECT_EQ(out[i * kDim + 3], expected) << "row " << rows[i];
    }
    return s;
  }

  GatedRowStore* disk_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
  uint64_t chunk_rows_ = 0;
};

StoreOptions NoCache() {
  StoreOptions options;
  options.cache_bytes = 0;
  return options;
}

TEST_F(PrefetchTest, RowsLieReadyForAnyLookup) {
  Open();
  const auto ticket = Ask({5, 1999, 5, 700, 701, 5000});
  EDO_ASSERT_OK(ticket->Wait());
  EXPECT_TRUE(ticket->IsReady());
  const PrefetchReport report = ticket->report();
  EXPECT_EQ(report.keys, 6u);
  EXPECT_EQ(report.missing, 1u);
  EXPECT_EQ(report.staged, 4u);
  EXPECT_EQ(report.resident, 0u);
  EXPECT_EQ(report.chunks, 3u);
  EXPECT_EQ(disk_->TakeReads().size(), 3u);
  EDO_EXPECT_OK(Look({1999, 5, 700, 701, 5, 5000}));
  EXPECT_TRUE(disk_->TakeReads().empty()) << "everything was at hand";
  EXPECT_EQ(store_->stats().chunks_read, 3u);
  // Another row of a staged chunk was not kept.
  EDO_EXPECT_OK(Look({6}));
}

TEST_F(PrefetchTest, RowsOfTheCacheArePinnedNotRead) {
  Open();
  EDO_ASSERT_OK(Look({1, 2, 3}));
  EDO_ASSERT_OK(Look({1, 2, 3}));
  disk_->TakeReads();
  const auto ticket = Ask({1, 2, 3, 4});
  EDO_ASSERT_OK(ticket->Wait());
  EXPECT_EQ(ticket->report().resident, 3u);
  EXPECT_EQ(ticket->report().staged, 1u);
  EXPECT_EQ(disk_->TakeReads().size(), 1u);
}

TEST_F(PrefetchTest, PinnedRowsStayWhateverComes) {
  StoreOptions options;
  options.cache_bytes = 32 * 4 * kDim + 4096;  // one block of 32 rows
  Open(options);
  EDO_ASSERT_OK(Look({1, 2, 3}));
  const auto ticket = Ask({1, 2, 3});
  EDO_ASSERT_OK(ticket->Wait());
  ASSERT_EQ(ticket->report().resident, 3u);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t row = 100; row < 1000; row += 20) EDO_ASSERT_OK(Look({row, row + 1, row}));
  }
  disk_->TakeReads();
  EDO_EXPECT_OK(Look({1, 2, 3}));
  EXPECT_TRUE(disk_->TakeReads().empty());
}

TEST_F(PrefetchTest, EmptyAndAllMissingBatchesAreDone) {
  Open();
  EDO_EXPECT_OK(Ask({})->Wait());
  const auto ticket = Ask({2000, UINT64_MAX});
  EDO_EXPECT_OK(ticket->Wait());
  EXPECT_EQ(ticket->report().missing, 2u);
  EXPECT_TRUE(disk_->TakeReads().empty());
}

TEST_F(PrefetchTest, TwoTicketsReadAChunkOnce) {
  Open(NoCache());
  disk_->CloseGate();
  const auto first = Ask({1, 2, 500});
  disk_->AwaitHeld(2);
  const auto second = Ask({2, 3, 600});
  while (store_->stats().lookups == 0 && second->report().keys == 0 && !second->IsReady()) {
    std::this_thread::sleep_for(1ms);
    if (disk_->TakeReads().empty()) break;
  }
  disk_->OpenGate();
  EDO_EXPECT_OK(first->Wait());
  EDO_EXPECT_OK(second->Wait());
  const auto reads = disk_->TakeReads();
  uint64_t total = 0;
  for (const auto& [chunk, count] : reads) total += count;
  EXPECT_LE(total, 4u);
  EDO_EXPECT_OK(Look({1, 2, 3, 500, 600}));
  EXPECT_TRUE(disk_->TakeReads().empty());
}

TEST_F(PrefetchTest, ATicketTakesFromAnotherWhatThatHolds) {
  Open(NoCache());
  auto first = Ask({1, 2, 500});
  EDO_ASSERT_OK(first->Wait());
  const auto second = Ask({2, 500});
  EDO_ASSERT_OK(second->Wait());
  EXPECT_EQ(second->report().chunks_joined, 2u);
  EXPECT_EQ(disk_->TakeReads().size(), 2u);
  first.reset();
  EDO_EXPECT_OK(Look({2, 500}));
  EXPECT_TRUE(disk_->TakeReads().empty()) << "the second holds its own";
  EDO_EXPECT_OK(Look({1}));
  EXPECT_EQ(disk_->TakeReads().size(), 1u) << "what only the first held is gone";
}

TEST_F(PrefetchTest, ALookupJoinsTheReadUnderWay) {
  Open(NoCache());
  disk_->CloseGate();
  const auto ticket = Ask({1, 2});
  disk_->AwaitHeld(1);
  auto look = std::async(std::launch::async, [&] { return Look({2, 3, 1}); });
  EXPECT_EQ(look.wait_for(50ms), std::future_status::timeout);
  disk_->OpenGate();
  EDO_EXPECT_OK(look.get());
  EDO_EXPECT_OK(ticket->Wait());
  const auto reads = disk_->TakeReads();
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads.begin()->second, 1u);
}

TEST_F(PrefetchTest, AJoinedLookupKeepsItsOwnDeadline) {
  Open(NoCache());
  disk_->CloseGate();
  const auto ticket = Ask({1});
  disk_->AwaitHeld(1);
  LookupOptions options;
  options.deadline = std::chrono::steady_clock::now() + 30ms;
  LookupReport report;
  EXPECT_EQ(Look({1}, &report, options).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(report.states[0], RowState::kUnread);
  disk_->OpenGate();
  EDO_EXPECT_OK(ticket->Wait());
}

TEST_F(PrefetchTest, AFailureComesToEveryoneWhoAskedAndToNobodyElse) {
  Open(NoCache());
  disk_->Fail(0, Status::IoError("injected"));
  const auto ticket = Ask({1, 500});
  const Status s = ticket->Wait();
  EXPECT_EQ(s.code(), StatusCode::kIoError) << s.ToString();
  EXPECT_NE(s.message().find("chunk 0"), std::string_view::npos) << s.ToString();
  const PrefetchReport report = ticket->report();
  EXPECT_EQ(report.unread, 1u);
  EXPECT_EQ(report.staged, 1u);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].row_count, chunk_rows_);
  EDO_EXPECT_OK(Ask({500})->Wait());
  LookupReport look;
  EXPECT_EQ(Look({1, 500}, &look).code(), StatusCode::kIoError);
  EXPECT_EQ(look.states[0], RowState::kUnread);
  EXPECT_EQ(look.states[1], RowState::kFound);
  disk_->Fail(0, Status::Ok());
  EDO_EXPECT_OK(Look({1, 500}));
}

TEST_F(PrefetchTest, AJoinedFailureComesToTheLookup) {
  Open(NoCache());
  disk_->Fail(0, Status::Corruption("injected"));
  disk_->CloseGate();
  const auto ticket = Ask({1});
  disk_->AwaitHeld(1);
  auto look = std::async(std::launch::async, [&] {
    LookupReport report;
    return Look({2}, &report);
  });
  EXPECT_EQ(look.wait_for(30ms), std::future_status::timeout);
  disk_->OpenGate();
  EXPECT_EQ(look.get().code(), StatusCode::kCorruption);
  EXPECT_EQ(ticket->Wait().code(), StatusCode::kCorruption);
}

TEST_F(PrefetchTest, CancelAtEveryStage) {
  StoreOptions options = NoCache();
  options.prefetch_bytes = 3 * (4 * kDim + 16);
  Open(options);
  std::atomic<int> calls{0};
  const auto count = [&](const Status& s) {
    EXPECT_EQ(s.code(), StatusCode::kCancelled);
    ++calls;
  };
  disk_->CloseGate();
  auto reading = Ask({1, 2, 3});
  reading->OnDone(count);
  disk_->AwaitHeld(1);
  auto waiting = Ask({4, 5, 6});  // for room
  waiting->OnDone(count);
  waiting->Cancel();
  EXPECT_EQ(waiting->Wait().code(), StatusCode::kCancelled);
  reading->Cancel();  // its read goes on, for nobody
  EXPECT_EQ(reading->Wait().code(), StatusCode::kCancelled);
  EXPECT_EQ(reading->report().unread, 3u);
  reading->Cancel();
  disk_->OpenGate();
  reading.reset();
  auto done = Ask({7});
  EDO_ASSERT_OK(done->Wait());
  done->Cancel();
  EDO_EXPECT_OK(done->Wait());
  done.reset();
  waiting.reset();
  for (int i = 0; i < 2000 && calls < 2; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(calls, 2);
  EDO_EXPECT_OK(Look({1, 2, 3}));
}

TEST_F(PrefetchTest, AQueuedReadNobodyWantsIsNotMade) {
  boost::asio::io_context io;
  StoreOptions options = NoCache();
  options.executor = AsExecutor(io.get_executor());
  Open(options);
  auto ticket = Ask({1, 500});
  EXPECT_EQ(io.poll_one(), 1u);  // keys to chunks; the reading job is queued
  ticket->Cancel();
  io.poll();
  EXPECT_TRUE(disk_->TakeReads().empty());
}

TEST_F(PrefetchTest, ADeadlineEndsATicketWhereverItIs) {
  StoreOptions options = NoCache();
  options.prefetch_bytes = 2 * (4 * kDim + 16);
  Open(options);
  disk_->CloseGate();
  PrefetchOptions soon;
  soon.deadline = std::chrono::steady_clock::now() + 40ms;
  const auto reading = Ask({1, 2}, soon);
  disk_->AwaitHeld(1);
  const auto waiting = Ask({3}, soon);
  std::promise<Status> told;
  waiting->OnDone([&](const Status& s) { told.set_value(s); });
  EXPECT_EQ(reading->Wait().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(told.get_future().get().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(waiting->Wait().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PrefetchTest, MemoryIsBoundedAndTicketsWaitTheirTurn) {
  StoreOptions options = NoCache();
  const uint64_t row = 4 * kDim + 16;
  options.prefetch_bytes = 4 * row;
  Open(options);
  auto first = Ask({1, 2});
  auto second = Ask({3, 4});
  EDO_ASSERT_OK(first->Wait());
  EDO_ASSERT_OK(second->Wait());
  PrefetchOptions refuse;
  refuse.when_full = PrefetchOptions::WhenFull::kRefuse;
  const std::vector<uint64_t> rows{5};
  const Status busy = table_->PrefetchRows(rows, refuse).status();
  EXPECT_EQ(busy.code(), StatusCode::kBusy) << busy.ToString();
  auto third = Ask({5, 6, 7});
  auto fourth = Ask({8});
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(third->IsReady());
  EXPECT_FALSE(fourth->IsReady()) << "no overtaking";
  first.reset();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(third->IsReady()) << "two rows are not three";
  second.reset();
  EDO_EXPECT_OK(third->Wait());
  EDO_EXPECT_OK(fourth->Wait());
  const std::vector<uint64_t> five{1, 2, 3, 4, 5};
  const Status never = table_->PrefetchRows(five).status();
  EXPECT_EQ(never.code(), StatusCode::kInvalidArgument) << never.ToString();
  EXPECT_NE(never.message().find(std::to_string(4 * row)), std::string_view::npos);
}

TEST_F(PrefetchTest, ALookupReadsWhatIsQueuedItself) {
  boost::asio::io_context io;
  StoreOptions options = NoCache();
  options.executor = AsExecutor(io.get_executor());
  Open(options);
  const auto ticket = Ask({1, 500});
  EXPECT_EQ(io.poll_one(), 1u);
  EDO_EXPECT_OK(Look({2}));       // chunk 0 is queued for the ticket
  EDO_EXPECT_OK(ticket->Wait());  // reads chunk 50 in this thread
  const auto reads = disk_->TakeReads();
  ASSERT_EQ(reads.size(), 2u);
  for (const auto& [chunk, count] : reads) EXPECT_EQ(count, 1u) << "chunk " << chunk;
  io.poll();
  EXPECT_TRUE(disk_->TakeReads().empty());
}

TEST_F(PrefetchTest, WaitNeedsNoExecutor) {
  boost::asio::io_context io;
  StoreOptions options;
  options.executor = AsExecutor(io.get_executor());
  Open(options);
  const auto ticket = Ask({1, 500});
  EDO_EXPECT_OK(ticket->Wait());
  EDO_EXPECT_OK(Look({1, 500}));
}

TEST_F(PrefetchTest, TenThousandReadsInFlightAndTheStoreGoes) {
  StoreOptions options = NoCache();
  options.prefetch_threads = 4;
  Open(options, 100000);
  std::vector<uint64_t> rows;
  for (uint64_t row = 0; row < 100000; row += chunk_rows_) rows.push_back(row);
  ASSERT_GE(rows.size(), 10000u);
  std::atomic<int> ended{0};
  std::vector<std::unique_ptr<PrefetchTicket>> tickets;
  disk_->CloseGate();
  for (size_t i = 0; i < rows.size(); i += 500) {
    tickets.push_back(Ask({rows.begin() + static_cast<ptrdiff_t>(i),
                           rows.begin() + static_cast<ptrdiff_t>(std::min(i + 500, rows.size()))}));
    tickets.back()->OnDone([&](const Status& s) {
      EXPECT_EQ(s.code(), StatusCode::kCancelled);
      ++ended;
    });
  }
  disk_->AwaitHeld(64);
  std::thread opener([&] {
    std::this_thread::sleep_for(30ms);
    disk_->OpenGate();
  });
  engine::StoreImpl* const store = static_cast<engine::StoreImpl*>(store_.get());
  store->context()->prefetcher->Close();
  opener.join();
  EXPECT_EQ(ended, static_cast<int>(tickets.size()));
  for (const auto& ticket : tickets) EXPECT_EQ(ticket->Wait().code(), StatusCode::kCancelled);
  const std::vector<uint64_t> one{1};
  EXPECT_EQ(table_->PrefetchRows(one).status().code(), StatusCode::kCancelled);
  EDO_EXPECT_OK(Look({1}));
  tickets.clear();
}

TEST_F(PrefetchTest, AReplacedTableIsReadAsItWas) {
  Open();
  const auto ticket = Ask({1, 500});
  TableOptions options;
  options.dim = kDim;
  EDO_ASSERT_OK(Rewrite(store_.get(), "t", options, 2000, /*version=*/1));
  EDO_EXPECT_OK(ticket->Wait());
  EDO_EXPECT_OK(Look({1, 500}));
  const auto now = OpenTable(store_.get(), "t");
  std::vector<float> out(kDim);
  const std::vector<uint64_t> row{500};
  EDO_ASSERT_OK(now->LookupRows(row, {}, out.data()));
  EXPECT_EQ(out[3], ValueOf(500, 3, 1));
}

TEST_F(PrefetchTest, KeysOfEveryKind) {
  Open();
  for (const KeyKind kind : {KeyKind::kInt64, KeyKind::kText}) {
    TableOptions options;
    options.dim = kDim;
    options.key_kind = kind;
    const std::string name(KeyKindName(kind));
    ASSERT_TRUE(WriteTable(store_.get(), name, options, 500).ok());
    const auto table = OpenTable(store_.get(), name);
    std::unique_ptr<PrefetchTicket> ticket;
    const std::vector<int64_t> ids{-1000, 6, 7};
    const std::vector<std::string_view> tokens{"k0", "k1", "nobody"};
    if (kind == KeyKind::kInt64) {
      ticket = table->Prefetch(std::span<const int64_t>(ids)).value();
      EXPECT_FALSE(table->Prefetch(std::span<const std::string_view>(tokens)).ok());
    } else {
      ticket = table->Prefetch(std::span<const std::string_view>(tokens)).value();
      EXPECT_FALSE(table->Prefetch(std::span<const int64_t>(ids)).ok());
    }
    EDO_ASSERT_OK(ticket->Wait());
    EXPECT_EQ(ticket->report().missing, kind == KeyKind::kInt64 ? 2u : 1u);
    EXPECT_EQ(ticket->report().staged, kind == KeyKind::kInt64 ? 1u : 2u);
  }
}

// One history: tickets, lookups, cancellations, deaths, failures that come and go, steps of the
// executor, in an order that the seed draws. Every lookup gives the right rows or the failure that
// is injected at that moment or was when its ticket read; every ticket ends once.
void OneHistory(uint64_t seed) {
  SCOPED_TRACE("history of seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  boost::asio::io_context io;
  StoreOptions options;
  options.cache_bytes = random() % 2 ? 0 : 64 << 10;
  options.prefetch_bytes = 40 * (4 * kDim + 16);
  options.executor = AsExecutor(io.get_executor());
  auto base = std::make_unique<GatedRowStore>(storage::MakeMemoryRowStore());
  GatedRowStore* const disk = base.get();
  auto store = engine::StoreImpl::MakeNew(std::move(base), "", options).value();
  TableOptions table_options;
  table_options.dim = kDim;
  ASSERT_TRUE(WriteTable(store.get(), "t", table_options, 600).ok());
  auto table = OpenTable(store.get(), "t");
  struct Live {
    std::unique_ptr<PrefetchTicket> ticket;
    std::vector<uint64_t> rows;
  };
  std::vector<Live> live;
  std::set<uint64_t> broken;
  uint64_t made = 0;
  uint64_t ended = 0;
  const auto some_rows = [&] {
    std::vector<uint64_t> rows(1 + random() % 12);
    for (uint64_t& row : rows) row = random() % 620;
    return rows;
  };
  for (int step = 0; step < 300; ++step) {
    switch (random() % 9) {
      case 0:
      case 1: {
        std::vector<uint64_t> rows = some_rows();
        auto ticket = table->PrefetchRows(rows);
        ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
        ++made;
        (*ticket)->OnDone([&](const Status&) { ++ended; });
        live.push_back({std::move(*ticket), std::move(rows)});
        break;
      }
      case 2:
        if (!live.empty()) live[random() % live.size()].ticket->Cancel();
        break;
      case 3:
        if (!live.empty()) {
          std::swap(live[random() % live.size()], live.back());
          live.pop_back();
        }
        break;
      case 4: {  // repaired or broken
        const uint64_t chunk = random() % 62;
        if (broken.erase(chunk)) {
          disk->Fail(chunk, Status::Ok());
        } else if (random() % 3 == 0) {
          broken.insert(chunk);
          disk->Fail(chunk, Status::IoError("injected"));
        }
        break;
      }
      case 5:  // a ticket that has its turn; one that waits for room would wait for ever
        if (!live.empty() && live.front().ticket->IsReady()) (void)live.front().ticket->Wait();
        break;
      case 6:
      case 7:
        io.poll_one();
        io.restart();
        break;
      default: {
        const std::vector<uint64_t> rows =
            live.empty() || random() % 2 ? some_rows() : live[random() % live.size()].rows;
        std::vector<float> out(rows.size() * kDim, -1.0f);
        LookupReport report;
        const Status s = table->LookupRows(rows, {}, out.data(), &report);
        for (size_t i = 0; i < rows.size(); ++i) {
          if (report.states[i] == RowState::kUnread) {
            ASSERT_TRUE(broken.contains(rows[i] / table->info().chunk_rows)) << s.ToString();
            ASSERT_EQ(out[i * kDim], -1.0f);
          } else {
            ASSERT_EQ(out[i * kDim + 1], rows[i] < 600 ? ValueOf(rows[i], 1) : 0.0f);
          }
        }
      }
    }
  }
  live.clear();
  io.poll();
  io.restart();
  EXPECT_EQ(ended, made);
  auto* const impl = static_cast<engine::StoreImpl*>(store.get());
  EXPECT_EQ(impl->context()->prefetcher->bytes_held(), 0u);
  EXPECT_TRUE(impl->context()->prefetcher->reads().idle());
}

TEST(PrefetchHistory, AnyOrderOfEvents) {
  const uint64_t seed = Seed(11);
  for (uint64_t i = 0; i < 60; ++i) {
    OneHistory(seed * 1000 + i);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// The same with threads: several that prefetch, look up, cancel and drop, over one that replaces
// the table. EDO_STRESS_S=600 makes it a soak.
TEST(PrefetchHistory, ManyThreads) {
  const uint64_t seed = Seed(12);
  const char* const text = std::getenv("EDO_STRESS_S");
  const auto end = std::chrono::steady_clock::now() +
                   (text ? std::chrono::seconds(std::atoi(text)) : std::chrono::seconds(2));
  StoreOptions options;
  options.cache_bytes = 64 << 10;
  options.prefetch_bytes = 400 * (4 * kDim + 16);
  options.prefetch_threads = 2;
  auto base = std::make_unique<GatedRowStore>(storage::MakeMemoryRowStore());
  GatedRowStore* const disk = base.get();
  auto store = engine::StoreImpl::MakeNew(std::move(base), "", options).value();
  TableOptions table_options;
  table_options.dim = kDim;
  ASSERT_TRUE(WriteTable(store.get(), "t", table_options, 3000).ok());
  std::atomic<uint64_t> version{0}, looked{0}, failed{0};
  const auto work = [&](uint64_t number) {
    std::mt19937_64 random(seed * 100 + number);
    while (std::chrono::steady_clock::now() < end) {
      const uint64_t before = version;
      auto table = OpenTable(store.get(), "t");
      std::vector<std::pair<std::unique_ptr<PrefetchTicket>, std::vector<uint64_t>>> tickets;
      for (int step = 0; step < 100; ++step) {
        std::vector<uint64_t> rows(1 + random() % 60);
        for (uint64_t& row : rows) row = random() % 3010;
        PrefetchOptions prefetch;
        prefetch.when_full = PrefetchOptions::WhenFull::kRefuse;
        if (random() % 8 == 0) prefetch.deadline = std::chrono::steady_clock::now() + 100us;
        auto ticket = table->PrefetchRows(rows, prefetch);
        if (ticket.ok()) tickets.emplace_back(std::move(*ticket), rows);
        if (random() % 4 == 0 && !tickets.empty()) tickets.front().first->Cancel();
        if (random() % 3 == 0 && !tickets.empty()) {
          (void)tickets.front().first->Wait();
          rows = tickets.front().second;
        }
        std::vector<float> out(rows.size() * kDim, -1.0f);
        LookupReport report;
        const Status s = table->LookupRows(rows, {}, out.data(), &report);
        const uint64_t after = version;
        for (size_t i = 0; i < rows.size(); ++i) {
          if (report.states[i] == RowState::kUnread) {
            ++failed;
            ASSERT_EQ(s.code(), StatusCode::kIoError) << s.ToString();
            continue;
          }
          bool right = rows[i] >= 3000 && out[i * kDim] == 0.0f;
          for (uint64_t v = before; v <= after + 1 && rows[i] < 3000; ++v) {
            right |= out[i * kDim] == ValueOf(rows[i], 0, v) &&
                     out[i * kDim + kDim - 1] == ValueOf(rows[i], kDim - 1, v);
          }
          ASSERT_TRUE(right) << "row " << rows[i];
        }
        looked += rows.size();
        while (tickets.size() > 3) tickets.erase(tickets.begin());
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  std::mt19937_64 random(seed);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(20ms);
    const uint64_t chunk = random() % 300;
    disk->Fail(chunk, Status::IoError("injected"));
    TableOptions next = table_options;
    EDO_EXPECT_OK(Rewrite(store.get(), "t", next, 3000, version + 1));
    ++version;
    disk->Fail(chunk, Status::Ok());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(looked, 0u);
  std::cout << looked << " rows looked up, " << failed << " failures injected, " << version
            << " versions\n";
  auto* const impl = static_cast<engine::StoreImpl*>(store.get());
  EXPECT_EQ(impl->context()->prefetcher->bytes_held(), 0u);
  // A read that nobody waits for any more still ends on its own time.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!impl->context()->prefetcher->reads().idle() &&
         std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(impl->context()->prefetcher->reads().idle());
}

}  // namespace
}  // namespace edo::test
