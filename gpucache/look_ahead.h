// LookAhead: what is known of the future of one table's reads. A loop that knows its next batches
// appends them as it learns of them and advances when it reads one; for every row the look-ahead
// knows the next batch that has it. Each step tells which rows' next uses changed by it, so that
// those who keep next uses of their own (the slots of a cache) can follow.
//
// The row ~0 is none and is left out. Time is counted in batches: all rows of one are asked for
// together, so that nothing is gained by a finer order. Memory: 12 bytes a row and batch that has
// it, and 16 bytes, times 1.5 to 3 for the table's room, a row that is known. Time: two look-ups in
// a hash table a row and batch.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace edo::gpucache {

class LookAhead {
 public:
  // A row and how many batches ahead it is used next, 1 = the next one; 0: not that is known.
  struct Use {
    uint64_t row = 0;
    uint32_t ahead = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };

  // The rows of the batch behind all those known; a row may come more than once. Replaces `changed`
  // by the rows that had no next use before. At most 2^31 batches are ahead at once.
  void Append(std::span<const uint64_t> rows, std::vector<Use>* changed);
  // The next batch is read: its rows' next uses are those behind it. Replaces `changed` by its
  // rows. Without a batch ahead nothing happens.
  void Advance(std::vector<Use>* changed);

  // How many batches ahead the row is used next; 0: not that is known.
  uint32_t NextUse(uint64_t row) const;
  uint32_t batches() const { return static_cast<uint32_t>(sizes_.size()); }
  // All rows with a known next use, in no order.
  std::vector<uint64_t> KnownRows() const;
  uint64_t memory_bytes() const;

 private:
  // Of a row that is used again. Numbers of batches and uses are modulo 2^32.
  struct Known {
    uint64_t row = kEmpty;
    uint32_t next_batch = 0;
    uint32_t last_use = 0;  // the farthest use of it that is known
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  size_t PlaceOf(uint64_t row) const;  // of the row in `known_`, or where it would be
  void Erase(size_t place);
  void Grow();
  uint32_t Ahead(const Known& known) const { return known.next_batch - next_ + 1; }

  uint32_t next_ = 0;  // number of the batch that is read next
  // Every use that is ahead, batch by batch: of which row, and the number of the batch that has the
  // row again, which means nothing for the last use of a row.
  std::deque<uint64_t> rows_;
  std::deque<uint32_t> again_;
  std::deque<uint32_t> sizes_;  // uses of each batch ahead
  uint32_t first_use_ = 0;      // number of the use at the front

  // Open addressing with linear probing; a power of two, at most two thirds full.
  std::vector<Known> known_;
  uint64_t count_ = 0;
};

}  // namespace edo::gpucache
