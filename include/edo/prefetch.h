// Prefetch: rows asked for before they are needed. Table::Prefetch returns a ticket at once; the
// rows are read while the caller does something else, and lie ready until the ticket goes.
//
// A ticket holds its rows in two places. Rows that the cache of hot rows holds already are pinned
// there. The others are read, each chunk once for all who ask for it, and kept encoded in host
// memory beside the cache, outside its budget. Any lookup finds them there, not only one by the
// ticket's owner, and a lookup that needs a chunk whose read is under way joins that read. What one
// ticket holds, no later prefetch can take away.
//
// Order and memory. All live tickets of a store together hold at most StoreOptions::prefetch_bytes
// of rows. Tickets are admitted in the order in which they were made; one that finds no room waits
// until earlier ones are destroyed (or is refused, WhenFull). So a caller that holds tickets while
// it waits for one more must leave room for that one: a batch of n keys counts n * (row_bytes + 16)
// bytes until its rows are known, then only the rows that the cache does not hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "edo/status.h"
#include "edo/table_types.h"

namespace edo {

struct PrefetchOptions {
  // A ticket that is not done by then ends with kDeadlineExceeded; rows that have arrived stay.
  std::optional<std::chrono::steady_clock::time_point> deadline{};

  enum class WhenFull : uint8_t {
    kWait,    // the ticket waits its turn
    kRefuse,  // the call returns kBusy
  };
  WhenFull when_full = WhenFull::kWait;

  // Also copies the rows to the device of the store's backend and offers them to its cache
  // (StoreOptions::device_cache_bytes), by a stream of its own, and pins there what it holds. Rows
  // that find no slot come from host memory when the lookup on device is finished, not from disk.
  bool to_device = false;
};

struct PrefetchReport {
  uint64_t keys = 0;
  uint64_t missing = 0;   // keys that the table does not hold: no error here, the lookup decides
  uint64_t resident = 0;  // distinct rows that the cache held, now pinned
  uint64_t staged = 0;    // distinct rows that lie ready beside the cache
  uint64_t unread = 0;    // distinct rows that could not be read, or not in time
  uint64_t chunks = 0;    // chunks that the staged rows came from
  uint64_t chunks_joined = 0;  // of them, chunks that others had asked for already
  std::vector<ReadFailure> failures;
};

// Thread-safe. Destroy it before the table that made it. The store may be closed while tickets (and
// the table) live: that ends them with kCancelled.
class PrefetchTicket {
 public:
  // Cancels what is not done, gives rows and pins up. Does not wait for the disk.
  virtual ~PrefetchTicket() = default;
  virtual bool IsReady() const = 0;
  // Waits until it is done, and reads meanwhile what is queued. OK: every row that the table holds
  // is at hand. kCorruption, kIoError: some rows could not be read, the report says which; the
  // others are at hand. kCancelled, kDeadlineExceeded: likewise for those not read in time.
  virtual Status Wait() = 0;
  // Calls `call` once, when the ticket is done, from the store's executor (StoreOptions::executor),
  // with what Wait returns; also when the ticket goes before (kCancelled). It must not destroy the
  // store, nor throw. May be set any number of times; an empty function is nothing. For Boost.Asio:
  // asio.h.
  virtual void OnDone(std::function<void(const Status&)> call) = 0;
  // Drops the reads that only this ticket waits for and that have not begun. Wait then returns
  // kCancelled, unless the ticket was done. What has arrived stays until the ticket goes.
  virtual void Cancel() = 0;
  // Ends the ticket as if its deadline had passed.
  virtual void Expire() = 0;
  // Of a ticket that is done; before that, zeros.
  virtual PrefetchReport report() const = 0;
};

}  // namespace edo
