#include "engine/executor.h"

// clang-format off
#include <utility>  // before Boost.Asio: 1.74 uses std::exchange without including it
// clang-format on

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

namespace edo::engine {

struct Executor::Threads {
  explicit Threads(uint32_t count) : pool(count) {}
  boost::asio::thread_pool pool;
};

class Executor::Timer {
 public:
  explicit Timer(boost::asio::thread_pool& pool) : timer(pool) {}
  std::mutex mutex;  // timers are not safe from several threads
  boost::asio::steady_timer timer;
};

Executor::Executor(Post given, uint32_t threads)
    : given_(std::move(given)), thread_count_(threads) {}

Executor::~Executor() { Close(); }

Executor::Threads* Executor::Ensure() {
  if (closed_) return nullptr;
  if (!threads_) threads_ = std::make_unique<Threads>(thread_count_);
  return threads_.get();
}

void Executor::Run(Work work) {
  if (given_) return given_(std::move(work));
  {
    // Posted under the mutex, so that nothing is posted to threads that are ending.
    const std::lock_guard lock(mutex_);
    if (Threads* const threads = Ensure()) {
      boost::asio::post(threads->pool, std::move(work));
      return;
    }
  }
  work();
}

void Executor::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (!threads_) return;
  }
  threads_->pool.join();
}

std::shared_ptr<Executor::Timer> Executor::At(std::chrono::steady_clock::time_point when,
                                              Work work) {
  if (given_) return nullptr;
  const std::lock_guard lock(mutex_);
  Threads* const threads = Ensure();
  if (threads == nullptr) return nullptr;
  auto timer = std::make_shared<Timer>(threads->pool);
  const std::lock_guard timer_lock(timer->mutex);
  timer->timer.expires_at(when);
  timer->timer.async_wait([work = std::move(work)](const boost::system::error_code& error) {
    if (!error) work();
  });
  return timer;
}

void Executor::Drop(const std::shared_ptr<Timer>& timer) {
  if (!timer) return;
  const std::lock_guard lock(timer->mutex);
  timer->timer.cancel();
}

}  // namespace edo::engine
