// EpochGate: how a fill learns that no reader can still see what it took away, without any reader
// waiting. A reader enters with one atomic exchange on a line of its own and leaves with a store.
// A fill clears tags, Advance()s, and may overwrite once AllPast(the epoch it got).
//
// Why it is enough: AllPast reads every reader's line by a read-modify-write. A reader that entered
// before it is seen there (and its leaving, by release, orders its reads before the overwrite); one
// that enters after it reads from that read-modify-write, so it sees the tags cleared.
//
// Safe from any number of threads. A nested Enter by one thread takes a second line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

namespace edo::gpucache {

class EpochGate {
 public:
  static constexpr size_t kLines = 64;  // readers at once before they look for a line in turns

  class Reader {
   public:
    explicit Reader(std::atomic<uint64_t>* line) : line_(line) {}
    ~Reader() { line_->store(0, std::memory_order_release); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    std::atomic<uint64_t>* const line_;
  };

  [[nodiscard]] Reader Enter() {
    const uint64_t epoch = epoch_.load(std::memory_order_acquire);
    size_t i = std::hash<std::thread::id>()(std::this_thread::get_id()) * 0x9e3779b97f4a7c15u >> 32;
    for (size_t tried = 1;; ++i, ++tried) {
      std::atomic<uint64_t>& line = lines_[i % kLines].epoch;
      uint64_t free = 0;
      if (line.compare_exchange_strong(free, epoch, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        return Reader(&line);
      }
      if (tried % kLines == 0) std::this_thread::yield();
    }
  }

  // Readers that enter from now on see everything this thread did before.
  uint64_t Advance() { return epoch_.fetch_add(1, std::memory_order_acq_rel) + 1; }

  // True when every reader that entered before Advance() returned `epoch` has left.
  bool AllPast(uint64_t epoch) {
    for (Line& line : lines_) {
      const uint64_t reader = line.epoch.fetch_add(0, std::memory_order_acq_rel);
      if (reader != 0 && reader < epoch) return false;
    }
    return true;
  }
  // Waits for that. Never from inside a Reader.
  void WaitUntilPast(uint64_t epoch) {
    while (!AllPast(epoch)) std::this_thread::yield();
  }

 private:
  struct alignas(64) Line {
    std::atomic<uint64_t> epoch{0};  // 0: no reader
  };
  std::atomic<uint64_t> epoch_{1};
  std::array<Line, kLines> lines_;
};

}  // namespace edo::gpucache
