#include "engine/lookup.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "engine/chunk_reads.h"
#include "engine/row_sort.h"

namespace edo::engine {
namespace {

uint64_t ChunkFirstRow(const storage::TableRecord& record, uint64_t number) {
  return number * record.info.chunk_rows;
}

uint64_t ChunkRowCount(const storage::TableRecord& record, uint64_t number) {
  return std::min<uint64_t>(record.info.chunk_rows,
                            record.info.rows - ChunkFirstRow(record, number));
}

}  // namespace

std::string ChunkName(const storage::TableRecord& record, uint64_t number) {
  const uint64_t first = record.first_row + ChunkFirstRow(record, number);
  return "table '" + record.info.name + "': chunk " + std::to_string(number) + " (rows " +
         std::to_string(first) + ".." + std::to_string(first + ChunkRowCount(record, number) - 1) +
         ")";
}

Status CheckChunk(const storage::TableRecord& record, uint64_t number,
                  const storage::PageView& page) {
  const uint64_t rows = ChunkRowCount(record, number);
  if (page.count == rows && page.payload.size() == rows * record.info.row_bytes) {
    return Status::Ok();
  }
  return Status::Corruption("holds " + std::to_string(page.count) + " rows in " +
                            std::to_string(page.payload.size()) + " bytes, expected " +
                            std::to_string(rows) + " rows of " +
                            std::to_string(record.info.row_bytes) + " bytes");
}

ReadFailure FailureOf(const storage::TableRecord& record, uint64_t number, const Status& status) {
  return {status.WithContext(ChunkName(record, number)),
          record.first_row + ChunkFirstRow(record, number), ChunkRowCount(record, number)};
}

const Status& WorstOf(std::span<const ReadFailure> failures) {
  const auto damage = std::find_if(failures.begin(), failures.end(), [](const ReadFailure& f) {
    return f.status.code() != StatusCode::kDeadlineExceeded &&
           f.status.code() != StatusCode::kCancelled;
  });
  return damage != failures.end() ? damage->status : failures.front().status;
}

namespace {

// The rows of a batch, sorted by chunk.
class RowsByChunk {
 public:
  RowsByChunk(const storage::TableRecord& record, std::span<const uint64_t> row_numbers,
              const ChunkRead& read)
      : record_(record), read_(read) {
    sorted_.resize(row_numbers.size());
    for (size_t i = 0; i < row_numbers.size(); ++i) sorted_[i] = WithPlace(row_numbers[i], i);
    SortByRow(record.info.rows, &sorted_);
    chunks_.reserve(sorted_.size());
    begin_.reserve(sorted_.size() + 1);
    const uint32_t chunk_rows = record.info.chunk_rows;
    uint64_t chunk_end = 0;  // first row behind the chunk
    for (size_t i = 0; i < sorted_.size(); ++i) {
      const uint64_t row = RowOf(sorted_[i]);
      if (row < chunk_end) continue;
      chunks_.push_back(row / chunk_rows);
      begin_.push_back(static_cast<uint32_t>(i));
      chunk_end = (chunks_.back() + 1) * chunk_rows;
    }
    begin_.push_back(static_cast<uint32_t>(sorted_.size()));
  }

  const std::vector<uint64_t>& chunks() const { return chunks_; }

  // Chunk chunks()[c] as it came; true when it was read and is whole.
  bool Take(size_t c, const Status& status, const storage::PageView& page) {
    const uint64_t number = chunks_[c];
    Status s = storage::AsDamage(status);
    if (s.ok()) s = CheckChunk(record_, number, page);
    Collect(c);
    if (!s.ok()) {
      read_.failed(places_, FailureOf(record_, number, s));
      return false;
    }
    const auto* const first = reinterpret_cast<const std::byte*>(page.payload.data());
    for (uint32_t i = begin_[c]; i < begin_[c + 1]; ++i) {
      codes_.push_back(first +
                       (RowAt(i) - number * record_.info.chunk_rows) * record_.info.row_bytes);
    }
    read_.rows(places_, codes_);
    return true;
  }

  // Rows of chunk chunks()[c] from what others keep; false when they do not keep them all.
  bool TakeKept(size_t c, std::span<const ChunkWaiter::Kept> kept) {
    Collect(c);
    for (uint32_t i = begin_[c]; i < begin_[c + 1]; ++i) {
      const std::byte* found = nullptr;
      for (const ChunkWaiter::Kept& k : kept) {
        found = k.staged->Find(RowAt(i), k.begin, k.end);
        if (found != nullptr) break;
      }
      if (found == nullptr) return false;
      codes_.push_back(found);
    }
    read_.rows(places_, codes_);
    return true;
  }

 private:
  uint64_t RowAt(uint32_t i) const { return RowOf(sorted_[i]); }
  void Collect(size_t c) {
    places_.clear();
    codes_.clear();
    for (uint32_t i = begin_[c]; i < begin_[c + 1]; ++i) {
      places_.push_back(PlaceIn(sorted_[i]));
    }
  }

  const storage::TableRecord& record_;
  const ChunkRead& read_;
  std::vector<uint64_t> sorted_;
  std::vector<uint64_t> chunks_;  // ascending
  std::vector<uint32_t> begin_;   // (chunks + 1) first place of each in sorted_
  std::vector<uint32_t> places_;
  std::vector<const std::byte*> codes_;
};

// Chunks that others are reading, for one lookup. The lookup may leave before they come.
class JoinedChunks : public ChunkWaiter {
 public:
  JoinedChunks(RowsByChunk* rows, std::mutex* one_at_a_time)
      : rows_(rows), one_at_a_time_(one_at_a_time) {}

  Kept OnChunk(uint64_t number, const Status& status, const storage::PageView& page) override {
    const std::lock_guard lock(mutex_);
    if (left_) return {};
    const std::vector<uint64_t>& chunks = rows_->chunks();
    const auto c = static_cast<size_t>(std::lower_bound(chunks.begin(), chunks.end(), number) -
                                       chunks.begin());
    {
      const std::lock_guard one(*one_at_a_time_);
      (void)rows_->Take(c, status, page);
    }
    arrived_.insert(static_cast<uint32_t>(c));
    changed_.notify_all();
    return {};
  }
  Status StillWanted() const override { return Status::Ok(); }
  bool left() const override { return true; }  // keeps nothing

  // Waits for all of these, or until the deadline; gives those that did not come in time.
  std::vector<uint32_t> Wait(ChunkReads* ahead, std::span<const uint32_t> expected,
                             const storage::Deadline& deadline) {
    std::unique_lock lock(mutex_);
    const auto complete = [&] { return arrived_.size() >= expected.size(); };
    while (!complete()) {
      if (deadline && std::chrono::steady_clock::now() >= *deadline) break;
      auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      if (deadline) until = std::min(until, *deadline);
      if (changed_.wait_until(lock, until, complete)) break;
      // Its reader may have given it back to the queue.
      lock.unlock();
      (void)ahead->Help([&] {
        const std::lock_guard look(mutex_);
        return !complete();
      });
      lock.lock();
    }
    left_ = true;
    std::vector<uint32_t> late;
    for (const uint32_t c : expected) {
      if (!arrived_.contains(c)) late.push_back(c);
    }
    return late;
  }

 private:
  RowsByChunk* const rows_;
  std::mutex* const one_at_a_time_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::set<uint32_t> arrived_;
  bool left_ = false;
};

// The chunks of a lookup while others read ahead: some lie ready, some are on their way.
uint64_t ReadShared(const storage::RowStore& store, ChunkReads* ahead,
                    const storage::TableRecord& record, const storage::Deadline& deadline,
                    RowsByChunk* rows) {
  const uint64_t generation = record.info.generation;
  std::mutex one_at_a_time;
  std::shared_ptr<JoinedChunks> joined;
  const auto waiter = [&]() -> std::shared_ptr<ChunkWaiter> {
    if (!joined) joined = std::make_shared<JoinedChunks>(rows, &one_at_a_time);
    return joined;
  };
  ChunkReads::Share share = ahead->ShareOf(generation, rows->chunks(), waiter);
  std::vector<uint32_t> direct = share.mine;
  for (const ChunkReads::Share::Ready& ready : share.ready) {
    const std::lock_guard one(one_at_a_time);
    const auto kept = std::span(share.kept).subspan(ready.first, ready.count);
    if (!rows->TakeKept(ready.place, kept)) direct.push_back(ready.place);
  }
  std::sort(direct.begin(), direct.end());
  const auto others_want = [&](uint32_t c) {
    return std::binary_search(share.taken.begin(), share.taken.end(), c);
  };
  uint64_t proved = 0;
  if (!direct.empty()) {
    std::vector<uint64_t> numbers;
    numbers.reserve(direct.size());
    for (const uint32_t c : direct) numbers.push_back(rows->chunks()[c]);
    store.ReadPages(storage::PageKind::kChunk, generation, numbers, deadline,
                    [&](size_t i, const Status& status, const storage::PageView& page) {
                      {
                        const std::lock_guard one(one_at_a_time);
                        proved += rows->Take(direct[i], status, page);
                      }
                      if (!others_want(direct[i])) return;
                      ahead->Arrived(generation, numbers[i], storage::AsDamage(status), page);
                    });
  }
  if (!share.taken.empty()) ahead->Bury();
  if (!joined) return proved;
  const std::vector<uint32_t> late = joined->Wait(ahead, share.joined, deadline);
  if (late.empty()) return proved;
  std::vector<uint64_t> numbers;
  for (const uint32_t c : late) {
    numbers.push_back(rows->chunks()[c]);
    (void)rows->Take(c, Status::DeadlineExceeded("the deadline passed before it was read"), {});
  }
  ahead->Leave(generation, numbers, joined.get());
  return proved;
}

}  // namespace

uint64_t ReadRowsByChunk(const storage::RowStore& store, ChunkReads* ahead,
                         const storage::TableRecord& record, std::span<const uint64_t> row_numbers,
                         const storage::Deadline& deadline, const ChunkRead& read) {
  RowsByChunk rows(record, row_numbers, read);
  if (ahead != nullptr && !ahead->idle()) {
    return ReadShared(store, ahead, record, deadline, &rows);
  }
  uint64_t proved = 0;
  store.ReadPages(storage::PageKind::kChunk, record.info.generation, rows.chunks(), deadline,
                  [&](size_t c, const Status& status, const storage::PageView& page) {
                    proved += rows.Take(c, status, page);
                  });
  return proved;
}

}  // namespace edo::engine
