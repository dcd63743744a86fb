// Boost.Asio for EDO: prefetches and lookups that end in a completion token (a callback,
// boost::asio::use_future, use_awaitable, ...). Opt-in: the one public header that includes Boost,
// 1.74 or later.
//
//   auto [status, ticket] =
//       co_await edo::AsyncPrefetch(*table, ids, {}, boost::asio::use_awaitable);
//   edo::Status looked =
//       co_await edo::AsyncLookup(*table, ids, {}, out, nullptr, boost::asio::use_awaitable);
//
// A handler is called exactly once, on its associated executor (boost::asio::system_executor when
// it has none), never inside the call that starts the operation; also with kCancelled when the
// store is closed. The disk is read by the store's executor (StoreOptions::executor). With
// Boost 1.77 or later the cancellation slot of a handler cancels the operation, which then
// completes with kCancelled. A deadline ends it with kDeadlineExceeded, by a timer of the system
// executor.
//
// The table, the tickets and the memory named by spans and pointers must stay until the handler is
// called; keys are copied before an operation returns.
#pragma once

// clang-format off
#include <utility>  // before Boost.Asio: 1.74 uses std::exchange without including it
// clang-format on

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 107700
#include <boost/asio/associated_cancellation_slot.hpp>
#endif

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "edo/options.h"
#include "edo/prefetch.h"
#include "edo/status.h"
#include "edo/table.h"

namespace edo {

// For StoreOptions::executor: the store's work goes to an executor of Boost.Asio, whose context
// must outlive the store.
template <typename Executor>
std::function<void(std::function<void()>)> AsExecutor(Executor executor) {
  return [executor](std::function<void()> work) {
    boost::asio::post(executor, [work = std::move(work)] { work(); });
  };
}

namespace asio_detail {

// A handler that waits for a ticket, with what may end the waiting early.
template <typename Handler>
class Operation : public std::enable_shared_from_this<Operation<Handler>> {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  explicit Operation(Handler handler)
      : executor_(boost::asio::get_associated_executor(handler)),
        work_(executor_),
        timer_(boost::asio::system_executor()),
        handler_(std::move(handler)) {}

  // `ticket` lives until the handler is called. Before the ticket's OnDone is set.
  void Watch(PrefetchTicket* ticket, const Deadline& deadline) {
    ticket_ = ticket;
    const std::weak_ptr<Operation> weak = this->weak_from_this();
#if BOOST_VERSION >= 107700
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) {
      slot.assign([weak](boost::asio::cancellation_type) {
        if (const auto self = weak.lock()) self->OnTicket(&PrefetchTicket::Cancel);
      });
    }
#endif
    if (!deadline) return;
    timer_.expires_at(*deadline);
    timer_.async_wait([weak](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!error && self) self->OnTicket(&PrefetchTicket::Expire);
    });
  }

  // Calls call(handler) on the handler's executor, and lets go of everything before.
  template <typename Call>
  void Finish(Call call) {
    // Its owner may end the context as soon as the handler has run: not before post has returned.
    const decltype(work_) until_posted(executor_);
    boost::asio::post(executor_, [self = this->shared_from_this(), call]() mutable {
      {
        const std::lock_guard lock(self->mutex_);
        self->done_ = true;
        self->timer_.cancel();
      }
#if BOOST_VERSION >= 107700
      auto slot = boost::asio::get_associated_cancellation_slot(self->handler_);
      if (slot.is_connected()) slot.clear();
#endif
      Handler handler = std::move(self->handler_);
      self->work_.reset();
      self.reset();
      call(handler);
    });
  }

 private:
  void OnTicket(void (PrefetchTicket::*call)()) {
    const std::lock_guard lock(mutex_);
    if (!done_) (ticket_->*call)();
  }

  boost::asio::associated_executor_t<Handler> executor_;
  boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work_;
  boost::asio::steady_timer timer_;
  Handler handler_;
  PrefetchTicket* ticket_ = nullptr;
  std::mutex mutex_;  // guards done_ and the timer
  bool done_ = false;
};

using Made = Result<std::unique_ptr<PrefetchTicket>>;

// `prefetch()` makes the ticket.
template <typename Handler, typename Prefetch>
void StartPrefetch(Handler handler, const PrefetchOptions& options, Prefetch prefetch) {
  auto operation = std::make_shared<Operation<Handler>>(std::move(handler));
  auto made = std::make_shared<Made>(prefetch(options));
  if (!made->ok()) {
    operation->Finish([made](Handler& h) { h(made->status(), std::unique_ptr<PrefetchTicket>()); });
    return;
  }
  PrefetchTicket* const ticket = (*made)->get();
  operation->Watch(ticket, options.deadline);
  ticket->OnDone([operation, made](const Status& s) {
    operation->Finish([made, s](Handler& h) { h(s, std::move(**made)); });
  });
}

// `lookup()` looks the rows up once they are at hand.
template <typename Handler, typename Prefetch, typename Lookup>
void StartLookup(Handler handler, const LookupOptions& options, Prefetch prefetch, Lookup lookup) {
  auto operation = std::make_shared<Operation<Handler>>(std::move(handler));
  PrefetchOptions ahead;
  ahead.deadline = options.deadline;
  auto made = std::make_shared<Made>(prefetch(ahead));
  if (!made->ok()) {
    operation->Finish([made](Handler& h) { h(made->status()); });
    return;
  }
  PrefetchTicket* const ticket = (*made)->get();
  operation->Watch(ticket, options.deadline);
  ticket->OnDone([operation, made, lookup](const Status& s) {
    // Rows that could not be read are the lookup's to report.
    Status status = s.code() == StatusCode::kCancelled ? s : lookup();
    operation->Finish([made, status](Handler& h) {
      made->value().reset();
      h(status);
    });
  });
}

template <typename Span>
auto Copied(Span keys) {
  return std::vector<std::remove_const_t<typename Span::element_type>>(keys.begin(), keys.end());
}

// Keys: int64_t or std::string_view.
template <typename Key, typename CompletionToken>
auto PrefetchKeys(const Table& table, std::span<const Key> keys, const PrefetchOptions& options,
                  CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken,
                                     void(Status, std::unique_ptr<PrefetchTicket>)>(
      [table = &table, keys, options](auto handler) {
        StartPrefetch(std::move(handler), options,
                      [&](const PrefetchOptions& o) { return table->Prefetch(keys, o); });
      },
      token);
}
template <typename Key, typename CompletionToken>
auto LookupKeys(const Table& table, std::span<const Key> keys, const LookupOptions& options,
                void* out, LookupReport* report, CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken, void(Status)>(
      [table = &table, keys, options, out, report](auto handler) {
        StartLookup(
            std::move(handler), options,
            [&](const PrefetchOptions& o) { return table->Prefetch(keys, o); },
            [table, copy = Copied(keys), options, out, report] {
              return table->Lookup(std::span<const Key>(copy), options, out, report);
            });
      },
      token);
}

}  // namespace asio_detail

// Completes when the ticket is done, with what PrefetchTicket::Wait would return: void(Status). The
// ticket must stay until then; `deadline` ends it early.
template <typename CompletionToken>
auto AsyncWait(PrefetchTicket& ticket,
               std::optional<std::chrono::steady_clock::time_point> deadline,
               CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken, void(Status)>(
      [ticket = &ticket, deadline](auto handler) {
        using Handler = decltype(handler);
        auto operation = std::make_shared<asio_detail::Operation<Handler>>(std::move(handler));
        operation->Watch(ticket, deadline);
        ticket->OnDone(
            [operation](const Status& s) { operation->Finish([s](Handler& h) { h(s); }); });
      },
      token);
}

// Table::Prefetch that completes when its ticket is done: void(Status, unique_ptr<PrefetchTicket>).
// The ticket is there also when some rows could not be read; null when the prefetch was refused.
template <typename CompletionToken>
auto AsyncPrefetchRows(const Table& table, std::span<const uint64_t> rows,
                       const PrefetchOptions& options, CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken,
                                     void(Status, std::unique_ptr<PrefetchTicket>)>(
      [table = &table, rows, options](auto handler) {
        asio_detail::StartPrefetch(std::move(handler), options, [&](const PrefetchOptions& o) {
          return table->PrefetchRows(rows, o);
        });
      },
      token);
}
template <typename CompletionToken>
auto AsyncPrefetch(const Table& table, std::span<const int64_t> ids, const PrefetchOptions& options,
                   CompletionToken&& token) {
  return asio_detail::PrefetchKeys(table, ids, options, std::forward<CompletionToken>(token));
}
template <typename CompletionToken>
auto AsyncPrefetch(const Table& table, std::span<const std::string_view> tokens,
                   const PrefetchOptions& options, CompletionToken&& token) {
  return asio_detail::PrefetchKeys(table, tokens, options, std::forward<CompletionToken>(token));
}

// Table::Lookup that reads the disk by the store's executor: void(Status), status and report as of
// Table::Lookup. Rows are decoded on that executor too. A batch that StoreOptions::prefetch_bytes
// cannot hold is kInvalidArgument. `out` and `report` (may be null) are written until the handler
// is called.
template <typename CompletionToken>
auto AsyncLookupRows(const Table& table, std::span<const uint64_t> rows,
                     const LookupOptions& options, void* out, LookupReport* report,
                     CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken, void(Status)>(
      [table = &table, rows, options, out, report](auto handler) {
        asio_detail::StartLookup(
            std::move(handler), options,
            [&](const PrefetchOptions& o) { return table->PrefetchRows(rows, o); },
            [table, keys = asio_detail::Copied(rows), options, out, report] {
              return table->LookupRows(keys, options, out, report);
            });
      },
      token);
}
template <typename CompletionToken>
auto AsyncLookup(const Table& table, std::span<const int64_t> ids, const LookupOptions& options,
                 void* out, LookupReport* report, CompletionToken&& token) {
  return asio_detail::LookupKeys(table, ids, options, out, report,
                                 std::forward<CompletionToken>(token));
}
// The bytes of the tokens must stay until the handler is called.
template <typename CompletionToken>
auto AsyncLookup(const Table& table, std::span<const std::string_view> tokens,
                 const LookupOptions& options, void* out, LookupReport* report,
                 CompletionToken&& token) {
  return asio_detail::LookupKeys(table, tokens, options, out, report,
                                 std::forward<CompletionToken>(token));
}

}  // namespace edo
