// ParallelFor: numbers 0 .. count-1 handed out to threads. What each does must not depend on who
// does it.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "edo/status.h"

namespace edo::storage {

// Calls work(i) for all i, in up to `threads` threads, the caller's among them. After an error no
// further number is begun; the first error (in time) is returned.
template <class Work>
Status ParallelFor(size_t count, uint32_t threads, const Work& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status failed;
  const auto run = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      const Status s = work(i);
      if (s.ok()) continue;
      next.store(count);
      const std::lock_guard lock(mutex);
      if (failed.ok()) failed = s;
    }
  };
  std::vector<std::thread> others;
  for (uint32_t t = 1; t < threads && t < count; ++t) others.emplace_back(run);
  run();
  for (std::thread& t : others) t.join();
  return failed;
}

}  // namespace edo::storage
