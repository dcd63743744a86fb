// ChunkReads: chunks that were asked for ahead of need, by all who asked, each read once; and where
// the rows lie that came from them. One a store.
//
// A chunk is queued, then being read, then held as long as somebody keeps rows of it. Whoever needs
// one that is queued or being read becomes one more waiter; a lookup that needs one that is queued
// reads it itself. The reading is done by jobs of the executor, and by those who wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/executor.h"
#include "storage/row_store.h"

namespace edo::engine {

// Rows of one table that lie in memory, encoded, in ascending order of their numbers.
struct StagedRows {
  uint64_t row_bytes = 0;
  std::vector<uint64_t> rows;    // ascending, none twice
  std::byte* codes = nullptr;    // (rows, row_bytes)
  std::shared_ptr<void> memory;  // of codes

  // Codes of a row among rows [begin, end); null when it is not there.
  const std::byte* Find(uint64_t row, uint32_t begin, uint32_t end) const;
};

// Somebody who waits for chunks. Called from the thread that read the chunk, with no lock of
// ChunkReads held; also after it gave up (ChunkReads::Leave), so it must know that by itself.
class ChunkWaiter {
 public:
  // Which of its rows lie ready now, for others to find until Leave.
  struct Kept {
    std::shared_ptr<const StagedRows> staged;  // null: it keeps none
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  virtual ~ChunkWaiter() = default;
  virtual Kept OnChunk(uint64_t number, const Status& status, const storage::PageView& page) = 0;
  // Not OK: it does not want what has not begun; OnChunk is then called with that status.
  virtual Status StillWanted() const = 0;
  // True from before it calls Leave: what it keeps is not to be found by others any more.
  virtual bool left() const = 0;
};

class ChunkReads : public std::enable_shared_from_this<ChunkReads> {
 public:
  // Both must outlive Close.
  ChunkReads(const storage::RowStore* rows, Executor* executor, uint32_t jobs)
      : rows_(rows), executor_(executor), most_jobs_(jobs) {}

  // No chunk is queued, being read or held: what a lookup asks first.
  bool idle() const { return live_.load(std::memory_order_acquire) == 0; }

  // Asks for chunks (ascending). Where others keep rows of one, `from_kept(place in numbers, what
  // all of them keep)` is asked first, under the lock: if that is enough it returns what the waiter
  // keeps now, and the chunk is not read. Returns how many chunks others had asked for. After Close
  // every chunk is answered with kCancelled.
  using FromKept =
      std::function<ChunkWaiter::Kept(size_t i, std::span<const ChunkWaiter::Kept> kept)>;
  uint64_t Ask(uint64_t generation, std::span<const uint64_t> numbers,
               const std::shared_ptr<ChunkWaiter>& waiter, const FromKept& from_kept);
  // Forgets a waiter of these chunks, and what it keeps. A chunk in the queue that nobody else
  // waits for is dropped.
  void Leave(uint64_t generation, std::span<const uint64_t> numbers, const ChunkWaiter* waiter);

  // What a lookup does about its chunks (ascending).
  struct Share {
    std::vector<uint32_t> mine;    // places in `numbers` that the caller reads
    std::vector<uint32_t> taken;   // of them, those that others wait for: to be told by Arrived
    std::vector<uint32_t> joined;  // others are reading it; arrives at the waiter
    struct Ready {
      uint32_t place = 0;
      uint32_t first = 0;  // in `kept`
      uint32_t count = 0;
    };
    std::vector<Ready> ready;  // somebody keeps rows of it, perhaps not all that are needed
    std::vector<ChunkWaiter::Kept> kept;
  };
  // `waiter` is asked for when it is needed.
  Share ShareOf(uint64_t generation, std::span<const uint64_t> numbers,
                const std::function<std::shared_ptr<ChunkWaiter>()>& waiter);
  // A chunk that the caller read is passed to all who wait for it; kDeadlineExceeded: was not read,
  // it is queued again for them.
  void Arrived(uint64_t generation, uint64_t number, const Status& status,
               const storage::PageView& page);

  // Lets go of waiters that are done. What one holds last can be a generation, and dropping that
  // must not happen inside a read: so they are kept until a reader has left the row store. A caller
  // that read for others (Arrived) calls it when its reads are over.
  void Bury();

  // Reads what is queued, in this thread, while `go_on` says so; true when it read anything.
  bool Help(const std::function<bool()>& go_on);

  // Ends what is queued with kCancelled and waits for what is being read.
  void Close();

  // Seconds during which some chunk was queued or being read.
  double busy_seconds() const;

 private:
  struct Entry {
    enum class State : uint8_t { kQueued, kReading, kHeld };
    State state = State::kQueued;
    std::vector<std::shared_ptr<ChunkWaiter>> waiters;
    struct Holder {
      const ChunkWaiter* waiter;
      ChunkWaiter::Kept kept;
    };
    std::vector<Holder> holders;
  };
  class Stream;
  using Entries = std::unordered_map<uint64_t, Entry>;

  void Schedule(std::vector<Executor::Work>* jobs);  // needs mutex_
  void Queue(uint64_t id, Entry* entry);             // needs mutex_
  void EraseIfUnused(Entries::iterator entry);       // needs mutex_
  void Requeue(uint64_t id);
  void LetGo(std::shared_ptr<ChunkWaiter> waiter);
  void Work();
  void CountBusy(bool busy);  // needs mutex_

  const storage::RowStore* const rows_;
  Executor* const executor_;
  const uint32_t most_jobs_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Entries entries_;             // by page id of the chunk
  std::deque<uint64_t> queue_;  // ids; one that is no longer kQueued is passed over
  uint64_t queued_ = 0;         // entries that are kQueued
  uint64_t reading_ = 0;        // entries that are kReading
  uint32_t jobs_ = 0;           // handed to the executor and not yet at their end
  uint32_t working_ = 0;        // threads that use the row store
  bool closed_ = false;
  std::vector<std::shared_ptr<ChunkWaiter>> spent_;  // see Bury
  double busy_seconds_ = 0;
  std::chrono::steady_clock::time_point busy_since_;

  std::atomic<uint64_t> live_{0};  // entries
};

}  // namespace edo::engine
