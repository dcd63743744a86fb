// edo/asio.h: completion tokens of every kind, executors, cancellation, deadlines, a store that
// goes.
#include "edo/asio.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#if BOOST_VERSION >= 107700
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#endif
#include <chrono>
#include <thread>

#include "tests/engine/lookup_fixture.h"
#include "tests/support/gated_row_store.h"

namespace edo::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr uint32_t kDim = 100;

class AsioTest : public ::testing::Test {
 protected:
  void Open(StoreOptions options = {}) {
    options.cache_bytes = 0;
    auto base = std::make_unique<GatedRowStore>(storage::MakeMemoryRowStore());
    disk_ = base.get();
    store_ = engine::StoreImpl::MakeNew(std::move(base), "", options).value();
    TableOptions table;
    table.dim = kDim;
    ASSERT_TRUE(WriteTable(store_.get(), "t", table, 2000).ok());
    table_ = OpenTable(store_.get(), "t");
    disk_->TakeReads();
  }
  void TearDown() override {
    if (disk_ != nullptr) disk_->OpenGate();
    table_.reset();
    store_.reset();
  }
  bool Right(const std::vector<int64_t>& ids, const std::vector<float>& out) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (out[i * kDim + 7] != ValueOf(static_cast<uint64_t>(ids[i]), 7)) return false;
    }
    return true;
  }

  GatedRowStore* disk_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
};

TEST_F(AsioTest, ACallbackRunsOnItsExecutorOnceAndNeverInsideTheCall) {
  Open();
  asio::io_context io;
  const std::vector<int64_t> ids{1, 999};
  int calls = 0;
  std::unique_ptr<PrefetchTicket> held;
  AsyncPrefetch(*table_, std::span<const int64_t>(ids), {},
                asio::bind_executor(io, [&](Status s, std::unique_ptr<PrefetchTicket> ticket) {
                  EDO_EXPECT_OK(s);
                  held = std::move(ticket);
                  ++calls;
                }));
  EXPECT_EQ(calls, 0);
  io.run();  // the operation counts as work
  EXPECT_EQ(calls, 1);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->report().staged, 2u);
}

TEST_F(AsioTest, AFuture) {
  Open();
  const std::vector<uint64_t> rows{3, 4, 1500};
  auto future = AsyncPrefetchRows(*table_, std::span<const uint64_t>(rows), {}, asio::use_future);
  auto [status, ticket] = future.get();
  EDO_EXPECT_OK(status);
  EXPECT_EQ(ticket->report().staged, 3u);
  std::vector<float> out(3 * kDim);
  LookupReport report;
  EDO_EXPECT_OK(AsyncLookupRows(*table_, std::span<const uint64_t>(rows), {}, out.data(), &report,
                                asio::use_future)
                    .get());
  EXPECT_TRUE(Right({3, 4, 1500}, out));
  EXPECT_EQ(report.found, 3u);
}

TEST_F(AsioTest, ACoroutine) {
  Open();
  asio::io_context io;
  bool ended = false;
  const auto loop = [&]() -> asio::awaitable<void> {
    for (int64_t round = 0; round < 5; ++round) {
      const std::vector<int64_t> ids{round * 3, round * 100 + 1};
      auto [status, ticket] =
          co_await AsyncPrefetch(*table_, std::span<const int64_t>(ids), {}, asio::use_awaitable);
      EDO_EXPECT_OK(status);
      std::vector<float> out(ids.size() * kDim);
      const Status looked =
          co_await AsyncLookup(*table_, ids, {}, out.data(), nullptr, asio::use_awaitable);
      EDO_EXPECT_OK(looked);
      EXPECT_TRUE(Right(ids, out));
    }
    ended = true;
  };
  asio::co_spawn(io, loop(), asio::detached);
  io.run();
  EXPECT_TRUE(ended);
}

// Everything on one io_context, in one thread: the store's work, the loop and the handlers.
TEST_F(AsioTest, OneThreadRunsItAll) {
  asio::io_context io;
  StoreOptions options;
  options.executor = AsExecutor(io.get_executor());
  Open(options);
  bool ended = false;
  const auto loop = [&]() -> asio::awaitable<void> {
    const std::vector<uint64_t> rows{5, 6, 1999};
    auto ticket = table_->PrefetchRows(rows);
    EXPECT_TRUE(ticket.ok());
    EDO_EXPECT_OK(co_await AsyncWait(**ticket, std::nullopt, asio::use_awaitable));
    EXPECT_EQ((*ticket)->report().staged, 3u);
    ended = true;
  };
  asio::co_spawn(io, loop(), asio::detached);
  io.run();
  EXPECT_TRUE(ended);
}

TEST_F(AsioTest, WhatIsRefusedCompletesWithTheReason) {
  StoreOptions options;
  options.prefetch_bytes = 100;
  Open(options);
  const std::vector<uint64_t> rows{1, 2};
  auto [status, ticket] =
      AsyncPrefetchRows(*table_, std::span<const uint64_t>(rows), {}, asio::use_future).get();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ticket, nullptr);
  const std::vector<std::string_view> tokens{"a"};
  std::vector<float> out(kDim);
  EXPECT_EQ(AsyncLookup(*table_, std::span<const std::string_view>(tokens), {}, out.data(), nullptr,
                        asio::use_future)
                .get()
                .code(),
            StatusCode::kInvalidArgument);
}

TEST_F(AsioTest, FailuresComeToTheHandler) {
  Open();
  disk_->Fail(0, Status::Corruption("injected"));
  const std::vector<uint64_t> rows{1, 1500};
  std::vector<float> out(2 * kDim, -1.0f);
  LookupReport report;
  const Status s = AsyncLookupRows(*table_, std::span<const uint64_t>(rows), {}, out.data(),
                                   &report, asio::use_future)
                       .get();
  EXPECT_EQ(s.code(), StatusCode::kCorruption) << s.ToString();
  EXPECT_EQ(report.states[0], RowState::kUnread);
  EXPECT_EQ(out[0], -1.0f);
  EXPECT_EQ(out[kDim + 7], ValueOf(1500, 7));
}

TEST_F(AsioTest, ADeadlineEndsTheWaiting) {
  Open();
  asio::io_context io;
  disk_->CloseGate();
  const std::vector<uint64_t> rows{1};
  PrefetchOptions options;
  options.deadline = std::chrono::steady_clock::now() + 30ms;
  Status ended;
  AsyncPrefetchRows(*table_, std::span<const uint64_t>(rows), options,
                    asio::bind_executor(io, [&](Status s, std::unique_ptr<PrefetchTicket>) {
                      ended = std::move(s);
                    }));
  io.run();
  EXPECT_EQ(ended.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(AsioTest, AStoreThatGoesCancels) {
  Open();
  asio::io_context io;
  disk_->CloseGate();
  const std::vector<uint64_t> rows{1};
  std::atomic<int> calls{0};
  Status ended;
  AsyncPrefetchRows(*table_, std::span<const uint64_t>(rows), {},
                    asio::bind_executor(io, [&](Status s, std::unique_ptr<PrefetchTicket> ticket) {
                      ended = std::move(s);
                      EXPECT_NE(ticket, nullptr);
                      ++calls;
                    }));
  disk_->AwaitHeld(1);
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    disk_->OpenGate();
  });
  static_cast<engine::StoreImpl*>(store_.get())->context()->prefetcher->Close();
  opener.join();
  io.run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ended.code(), StatusCode::kCancelled);
}

// A handler that is never called because its io_context goes first.
TEST_F(AsioTest, AConsumerThatDiesLeavesNothingBehind) {
  Open();
  {
    asio::io_context io;
    const std::vector<uint64_t> rows{1, 2, 3};
    for (int i = 0; i < 10; ++i) {
      AsyncPrefetchRows(*table_, std::span<const uint64_t>(rows), {},
                        asio::bind_executor(io, [](Status, std::unique_ptr<PrefetchTicket>) {
                          ADD_FAILURE() << "nobody ran the io_context";
                        }));
    }
    std::this_thread::sleep_for(30ms);
  }
  auto* const impl = static_cast<engine::StoreImpl*>(store_.get());
  for (int i = 0; i < 2000 && impl->context()->prefetcher->bytes_held() > 0; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(impl->context()->prefetcher->bytes_held(), 0u);
}

TEST_F(AsioTest, CancellationSlots) {
#if BOOST_VERSION < 107700
  GTEST_SKIP() << "Boost " << BOOST_LIB_VERSION << " has no cancellation slots (1.77 has)";
#else
  Open();
  asio::io_context io;
  disk_->CloseGate();
  const std::vector<uint64_t> rows{1};
  asio::cancellation_signal signal;
  Status ended;
  AsyncPrefetchRows(
      *table_, std::span<const uint64_t>(rows), {},
      asio::bind_cancellation_slot(
          signal.slot(), asio::bind_executor(io, [&](Status s, std::unique_ptr<PrefetchTicket>) {
            ended = std::move(s);
          })));
  disk_->AwaitHeld(1);
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_EQ(ended.code(), StatusCode::kCancelled);
#endif
}

}  // namespace
}  // namespace edo::test
