// Executor: where work goes that no caller waits for: to the executor that the store was given, or
// to threads of its own, made when they are first needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace edo::engine {

class Executor {
 public:
  using Work = std::function<void()>;
  using Post = std::function<void(Work)>;

  // `given` empty: `threads` threads of its own.
  Executor(Post given, uint32_t threads);
  ~Executor();  // Close
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  bool own() const { return !given_; }
  void Run(Work work);
  // Runs what was posted and ends the threads. Work posted after it is run at once, by the caller.
  // What an executor that was given holds is its owner's affair.
  void Close();

  // A call at a moment, unless it is dropped before. With an executor that was given there is no
  // clock: null then.
  class Timer;
  std::shared_ptr<Timer> At(std::chrono::steady_clock::time_point when, Work work);
  static void Drop(const std::shared_ptr<Timer>& timer);

 private:
  struct Threads;
  Threads* Ensure();  // needs mutex_; null when closed

  const Post given_;
  const uint32_t thread_count_;
  std::mutex mutex_;
  std::unique_ptr<Threads> threads_;  // guarded by mutex_, as is the next
  bool closed_ = false;
};

}  // namespace edo::engine
