// RowCache: the hot rows of many tables, still encoded, in the memory of one backend. It knows
// nothing of disk: it is asked (Gather, Pool), tells what it lacks, and is given rows (Fill).
//
// Layout and invariants of the blocks: kernels/row_layout.h. Tables whose rows have the same shape
// share one *size class* of blocks, and the byte budget is divided among the classes (budget.h).
//
// Publication. A fill clears the tags of its victims, waits until no reader can still see them,
// writes, publishes. On a synchronous backend (the CPU) readers announce themselves in an EpochGate
// and never wait. A fill that would have to wait lays its rows aside and is completed by a later
// one; a fill that meets another fill, or too many rows laid aside, is skipped: the rows stay on
// disk, nothing is lost. On a GPU the fill's stream waits for the events of the streams that read,
// and later readers' streams for the event of the choice.
//
// Looking ahead. A loop that knows its next batches says so (BeginLookAhead), and while it does,
// the known next uses of its table's rows decide which rows of the size class go
// (kernels/backend.h, ChooseSlots); rows without one are judged by their scores as ever, but that
// the miss that brings such a row of this table does not count. The clock of next uses is the
// class's and moves with every batch read. Where several tables of a class look ahead, each is
// taken to read as many batches as the others. That costs 4 bytes a slot of the class, beside the
// budget and only meanwhile, and the memory of each LookAhead.
//
// Every method may be called from any thread. Handles must not outlive the cache, and a handle must
// outlive the calls that use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "edo/status.h"
#include "gpucache/admission.h"
#include "gpucache/epoch_gate.h"
#include "gpucache/look_ahead.h"
#include "gpucache/position_space.h"
#include "kernels/backend.h"

namespace edo::gpucache {

struct RowCacheOptions {
  uint64_t bytes = 0;  // headers, payload and pin counts of all blocks together
  // 1 << this neighbouring rows share a block. Unset: 2 where rows are read by columns, so
  // that neighbours share lines (four gain no more), else 1, which spreads rows most evenly.
  std::optional<uint32_t> group_shift{};
  uint64_t pending_bytes = uint64_t{8} << 20;  // rows that may lie aside, waiting for readers
};

struct RowCacheCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t fills = 0;      // rows brought in
  uint64_t evictions = 0;  // rows that had to go for them
  uint64_t rejected = 0;   // rows not admitted: they have a slot, or all of their block's are worth
                           // more
  uint64_t skipped = 0;    // rows not admitted: another fill was under way, or too many lay aside
  uint64_t deferred = 0;   // rows laid aside until readers were done
  uint64_t bytes = 0;      // reserved for blocks now
};

struct SizeClass;

// A table's place in the cache, for one generation of its rows.
class CachedTable {
 public:
  const kernels::RowFormat& format() const { return format_; }
  uint64_t rows() const { return rows_; }

 private:
  friend class RowCache;
  CachedTable() = default;
  SizeClass* size_class_ = nullptr;
  kernels::RowFormat format_;
  uint64_t first_position_ = 0;
  uint64_t rows_ = 0;
};

// What to read and where to (kernels/backend.h has the meaning of each). All pointers are the
// backend's: device memory on a GPU. `counts` starts as zeros, or goes on from another tier's
// query.
struct GatherQuery {
  const uint64_t* rows = nullptr;
  uint32_t count = 0;
  kernels::OutputRows out;
  uint32_t values = 0;  // decode only so many leading values of a row; 0: all
  bool zero_absent = true;
  uint32_t* misses = nullptr;
  kernels::RowMark* marks = nullptr;
  kernels::QueryCounts* counts = nullptr;
  // Of a CachedTable that is one tier of a larger table: row numbers are that table's, of
  // table_rows rows, in which the tier's begin at first_row. 0, 0: it is a table of its own.
  uint64_t first_row = 0;
  uint64_t table_rows = 0;
};
struct PoolQuery {
  const uint64_t* rows = nullptr;
  uint32_t count = 0;
  kernels::Bags bags;
  kernels::OutputRows out;
  uint32_t values = 0;
  uint32_t* incomplete = nullptr;
  kernels::RowMark* marks = nullptr;
  kernels::QueryCounts* counts = nullptr;
};

class RowCache {
 public:
  // kInvalidArgument: no bytes, or a group of more than 8 rows.
  static Result<std::unique_ptr<RowCache>> Make(std::shared_ptr<kernels::Backend> backend,
                                                const RowCacheOptions& options);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // Gives a table a place. The last owner gone, its rows are cleared and its positions given back.
  // May re-divide the budget: classes whose share changes start empty. `cell_bytes`: 0 = rows are
  // read whole (row_layout.h), else a multiple of 16. kInvalidArgument: the budget holds no block
  // of such rows, or side data is too long; kNoSpace: no memory, or no share left beside the other
  // classes' tables, which stay.
  Result<std::shared_ptr<const CachedTable>> AddTable(const kernels::RowFormat& format,
                                                      uint64_t rows, uint32_t cell_bytes = 0);

  // Probes, gathers and decodes. Cost: kernels/backend.h, ProbeGather.
  Status Gather(const CachedTable& table, const GatherQuery& query, kernels::Stream stream = {});
  Status Pool(const CachedTable& table, const PoolQuery& query, kernels::Stream stream = {});
  // Copies rows that are resident, encoded as on disk: row rows[i] to codes + i * row_bytes; lists
  // the places of the others. All < the table's rows. Synchronous backends.
  void CopyRows(const CachedTable& table, std::span<const uint64_t> rows, std::byte* codes,
                std::vector<uint32_t>* misses);
  // On an asynchronous backend the caller, when it has read its counts, adds them here.
  void AddCounts(uint64_t hits, uint64_t misses);

  // Offers rows that were missed and have been read: row numbers, each as often as it was missed,
  // and their encoded rows as on disk, (rows.size(), row_bytes), in host memory. Synchronous
  // backends.
  void Fill(const CachedTable& table, std::span<const uint64_t> rows,
            std::vector<std::byte>&& codes);
  // The same for asynchronous backends: `codes` lies in device memory and stays there, unchanged,
  // until the stream has done what is enqueued here.
  Status FillFromDevice(const CachedTable& table, std::span<const uint64_t> rows,
                        const std::byte* codes, kernels::Stream stream);

  // Forgets rows. What was filled before this returns is not seen by a read that starts after it.
  Status Invalidate(const CachedTable& table, std::span<const uint64_t> rows);

  // Pins rows that are resident, so that no fill takes their place until they are unpinned as
  // often; pinned[i] = 1 where it was. Waits for a fill that is under way. An invalidation drops
  // pins.
  Status Pin(const CachedTable& table, std::span<const uint64_t> rows,
             std::vector<uint8_t>* pinned);
  Status Unpin(const CachedTable& table, std::span<const uint64_t> rows);

  // Begins a look-ahead of a table's reads. kBusy: somebody else looks ahead in this table, whose
  // knowledge is then all there is; kNoSpace. It ends with EndLookAhead, or with the table.
  Status BeginLookAhead(const CachedTable& table);
  // The rows of the batch behind those that are known; rows beyond the table are left out. Called
  // by one thread at a time, as the next one. kInvalidArgument: nobody looks ahead in the table.
  // A fill that comes meanwhile is skipped, or waits: some 0.2 us a row.
  Status AppendBatch(const CachedTable& table, std::span<const uint64_t> rows);
  // The next batch is about to be read: what its misses bring is judged by what comes behind it.
  Status AdvanceBatch(const CachedTable& table);
  void EndLookAhead(const CachedTable& table);

  // Completes fills that wait for readers; waits for those readers.
  Status Flush();

  RowCacheCounters counters();
  const kernels::Backend& backend() const { return *backend_; }
  // Slots that a table's class has now, for tests and messages.
  uint64_t slots_of(const CachedTable& table) const;

 private:
  // A fill between the choice of its slots and their publication.
  struct PendingFill {
    SizeClass* size_class = nullptr;
    kernels::RowFormat format;
    uint32_t clock = 0;
    uint64_t epoch = 0;
    std::vector<uint64_t> positions;
    std::vector<uint16_t> frequencies;
    std::vector<uint32_t> segments;
    std::vector<uint32_t> slots;
    std::vector<uint32_t> sources;
    std::vector<uint32_t> next_use;
    std::vector<std::byte> codes;
    kernels::FillArgs Args() const;
  };
  // Device memory that the fills of an asynchronous backend use in turns.
  struct DeviceScratch;

  RowCache(std::shared_ptr<kernels::Backend> backend, const RowCacheOptions& options);
  SizeClass* ClassOf(const kernels::BlockShape& shape);
  void RemoveTable(const CachedTable& table);
  Status Redivide(SizeClass* grown);
  Status Resize(SizeClass* size_class, uint64_t blocks);
  std::optional<PendingFill> Sorted(const CachedTable& table, std::span<const uint64_t> rows);
  Status Write(const PendingFill& fill);
  Status RetirePending(bool wait);
  void CountLastFill();
  Status DrainReaders();
  Status Forget(const CachedTable& table);
  Status ReserveScratch(uint64_t count);
  Status AllocateNextUses(SizeClass* size_class);
  void DropLookAhead(SizeClass* size_class);
  Status Tell(const CachedTable& table, std::span<const LookAhead::Use> uses);
  Status TellDevice(const kernels::BlockView& view, std::span<const uint64_t> positions,
                    std::span<const uint32_t> next_use);
  Status EnqueueFill(const PendingFill& fill, const std::byte* codes, kernels::Stream stream);
  Result<kernels::Event> EventOf(kernels::Stream stream);
  template <typename Call>
  Status OnPositions(const CachedTable& table, std::span<const uint64_t> rows,
                     std::vector<uint8_t>* done, Call call);
  template <typename Launch>
  Status Read(SizeClass* size_class, uint32_t count, kernels::Stream stream, Launch launch);

  const std::shared_ptr<kernels::Backend> backend_;
  const RowCacheOptions options_;

  EpochGate gate_;  // synchronous backends
  std::atomic<uint64_t> hits_{0}, misses_{0}, fills_{0}, evictions_{0}, rejected_{0}, skipped_{0},
      deferred_{0}, bytes_{0};

  // Held while a fill, an invalidation, a pin or a change of tables is under way; never by a read
  // on a synchronous backend.
  std::mutex fill_mutex_;
  std::deque<PendingFill> pending_;
  uint64_t pending_bytes_ = 0;
  // Positions that have a slot in a pending fill, and their next use there.
  std::unordered_map<uint64_t, uint32_t*> waiting_;
  std::map<uint64_t, LookAhead> look_aheads_;  // by first position of the table
  std::unique_ptr<DeviceScratch> scratch_;
  Status fill_error_;  // of the first device fill that broke off after it had begun

  mutable std::mutex tables_mutex_;  // taken before fill_mutex_
  std::vector<std::unique_ptr<SizeClass>> classes_;
  PositionSpace positions_;

  std::mutex streams_mutex_;                 // asynchronous backends; taken after fill_mutex_
  std::map<void*, kernels::Event> streams_;  // of the last read enqueued on each
  kernels::Event choice_;                    // of the last ChooseSlots
  kernels::Event filled_;                    // of the last fill
  kernels::Event foreseen_;                  // of the last Foresee
};

}  // namespace edo::gpucache
