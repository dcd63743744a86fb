// Backend: a place where kernels run - the CPU, or a GPU through CUDA - with its memory, its
// streams and events, and every kernel as one pure virtual function with its contract. This list is
// the list of kernels: a backend that lacks one does not compile. Bodies lie in cpu/ and cuda/
// under the same file names.
//
// Kernels neither allocate nor wait; the caller gives memory that the backend can reach. On a GPU
// they are enqueued on the stream and return at once; on the CPU they are done when they return.
// The arrays that one call writes must not overlap those it reads. Every function may be called
// from any thread; calls on one stream run in order.
//
// Bits. The CUDA bodies give the same bits as the CPU bodies for every kernel below, pooled sums
// included: a sum goes over the ids of its bag in their order, in binary32, one rounding an
// addition. What may differ: the order of compacted lists (said at each), the bits of a NaN that
// arithmetic makes (weights that are not finite), and the score of a row that one call reads more
// than once, which may then lose hits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "edo/options.h"
#include "edo/status.h"
#include "kernels/row_layout.h"

namespace edo::kernels {

struct Stream {
  void* handle = nullptr;  // null: the backend's default stream
};
struct Event {
  void* handle = nullptr;
};

// ---- what kernels are given ---------------------------------------------------------------------

// Where decoded rows go: row i at `values` + i * stride values of `type`.
struct OutputRows {
  void* values = nullptr;
  FloatType type = FloatType::kF32;
  uint64_t stride = 0;  // values from one row to the next, >= dim
};

// Rows of one table, asked for by number. A table may be divided into tiers, each with a format and
// positions of its own; a query is of one of them, by default of a tier that is the whole table.
struct RowQuery {
  const uint64_t* rows = nullptr;  // (count) row numbers; >= table_rows: absent
  uint32_t count = 0;
  uint64_t first_position = 0;  // of the tier's first row; the others follow
  uint64_t table_rows = 0;
  // Row numbers below table_rows that are not the tier's are *elsewhere*, and so are absent ones
  // unless the tier is the table's first: nothing is written for them.
  uint64_t first_row = 0;
  uint64_t tier_rows = ~uint64_t{0};  // at most: cut at table_rows
};

// Counters of one call. The caller sets them to zero; on a GPU they are read lazily.
struct QueryCounts {
  uint32_t misses = 0;     // rows on the miss list
  uint32_t absent = 0;     // rows beyond the table
  uint32_t bags = 0;       // bags on the list of incomplete bags
  uint32_t elsewhere = 0;  // rows of other tiers
};

// What became of a row of a query; numbered as edo::RowState. kElsewhere is never written.
enum class RowMark : uint8_t { kFound = 0, kAbsent = 1, kMissed = 3, kElsewhere = 4 };

// kMissed: one of the tier's, to be looked for.
EDO_HD RowMark MarkOfNumber(const RowQuery& query, uint64_t row) {
  if (row < query.table_rows) {
    return row - query.first_row < query.tier_rows ? RowMark::kMissed : RowMark::kElsewhere;
  }
  return query.first_row == 0 ? RowMark::kAbsent : RowMark::kElsewhere;
}
EDO_HD uint64_t PositionOf(const RowQuery& query, uint64_t row) {
  return query.first_position + (row - query.first_row);
}

struct ProbeGatherArgs {
  BlockView blocks;  // blocks.blocks = 0: nothing is resident; here and in ProbePoolArgs only
  RowFormat format;
  RowQuery query;
  OutputRows out;                 // (query.count)
  bool zero_absent = true;        // absent rows become zeros; else their place is left as it was
  uint32_t clock = 0;             // for the scores (score.h)
  uint32_t* misses = nullptr;     // out: places in `rows` that are not resident, behind those that
                                  // `counts` has; on the CPU ascending, on a GPU in any order
  RowMark* marks = nullptr;       // out: (query.count), or null
  QueryCounts* counts = nullptr;  // in, out
};

enum class PoolMode : uint8_t { kSum, kMean };

// Ids of bags as in PyTorch's EmbeddingBag: bag b holds ids offsets[b] .. offsets[b + 1] - 1.
struct Bags {
  const uint64_t* offsets = nullptr;  // (count + 1), ascending; offsets[0] = 0
  uint32_t count = 0;
  const float* weights = nullptr;  // one an id, or null; only with kSum
  PoolMode mode = PoolMode::kSum;
};

struct ProbePoolArgs {
  BlockView blocks;
  RowFormat format;
  RowQuery query;  // all ids of all bags; of a table that is one tier
  Bags bags;
  OutputRows out;  // (bags.count)
  uint32_t clock = 0;
  uint32_t* incomplete = nullptr;  // out: (bags.count) bags that hold a row that is not resident;
                                   // on the CPU ascending, on a GPU in any order
  RowMark* marks = nullptr;        // out: (query.count), or null
  QueryCounts* counts = nullptr;   // in, out: `bags` counts the list, `misses` the ids of
                                   // its bags that are not absent
};

struct PoolArgs {
  const float* rows = nullptr;     // (ids, dim)
  const RowMark* marks = nullptr;  // (ids), or null: all found
  uint32_t dim = 0;
  Bags bags;
  const uint32_t* out_bags = nullptr;  // (bags.count) where each goes, or null: in order
  OutputRows out;
};

struct GatherArgs {
  const std::byte* rows = nullptr;  // encoded rows as on disk: codes, then side data
  uint64_t row_stride = 0;          // bytes from one to the next
  RowFormat format;
  const uint32_t* sources = nullptr;   // (count) which row, or null: 0, 1, 2, ...
  const uint32_t* out_rows = nullptr;  // (count) where it goes, or null: 0, 1, 2, ...
  uint32_t count = 0;
  OutputRows out;
};

// Rows to be brought into the cache, grouped by the block they go to.
struct FillArgs {
  BlockView blocks;
  RowFormat format;
  const uint64_t* positions = nullptr;    // (count) sorted by block, none twice
  const uint16_t* frequencies = nullptr;  // (count) estimates of how often each was asked for
  const uint32_t* segments = nullptr;     // (segment_count + 1) first row of each block's rows
  uint32_t segment_count = 0;
  uint32_t count = 0;
  uint32_t clock = 0;
  const uint32_t* next_use = nullptr;  // (count) when each is used next (score.h), or null: unknown
  uint32_t now = 0;                    // by the clock of next uses
  uint32_t* slots = nullptr;           // (count) written by ChooseSlots, read by the others
  uint64_t* evicted = nullptr;         // (count) out, or null: position that had to go, or
                                       // kNoPosition
  const std::byte* rows = nullptr;     // encoded rows as on disk, for WriteSlots
  uint64_t row_stride = 0;
  const uint32_t* sources = nullptr;  // (count) which row of `rows`, or null: 0, 1, 2, ...
};
inline constexpr uint64_t kNoPosition = ~uint64_t{0};

// ---- the backend --------------------------------------------------------------------------------

// The CPU's ProbePool looks a bag's ids up once when it has no more of them, or rows have no more
// values, than this (see there).
inline constexpr uint32_t kPoolKeptIds = 4096;
inline constexpr uint32_t kPoolPanelValues = 1024;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda", "simt"
  virtual std::string device() const = 0;     // what it runs on, in words
  // True: kernels and copies are done when the call returns, and host pointers are device pointers.
  virtual bool synchronous() const = 0;

  // ---- memory. kNoSpace names the bytes asked for. Free takes null.
  virtual Result<void*> Allocate(uint64_t bytes) = 0;   // device memory, 256-byte aligned; holds
                                                        // zeros
  virtual void Free(void* memory, uint64_t bytes) = 0;  // waits for work that uses it
  virtual Result<void*> AllocatePinned(
      uint64_t bytes) = 0;  // host memory that copies reach directly
  virtual void FreePinned(void* memory, uint64_t bytes) = 0;
  virtual uint64_t FreeBytes() const = 0;  // of device memory, for messages and defaults

  // ---- streams and events
  virtual Result<Stream> CreateStream() = 0;
  virtual void DestroyStream(Stream stream) = 0;  // waits for its work
  virtual Result<Event> CreateEvent() = 0;
  virtual void DestroyEvent(Event event) = 0;
  virtual Status Record(Event event, Stream stream) = 0;
  virtual Status WaitFor(Stream stream, Event event) = 0;  // later work of `stream` waits
  virtual Result<bool> IsDone(Event event) = 0;
  virtual Status Synchronize(Event event) = 0;  // the host waits
  virtual Status Synchronize(Stream stream) = 0;

  // ---- copies. Between the host and a device the host side should be pinned; pageable memory is
  // staged, and a copy to it makes the host wait.
  virtual Status CopyToDevice(void* device, const void* host, uint64_t bytes, Stream stream) = 0;
  virtual Status CopyToHost(void* host, const void* device, uint64_t bytes, Stream stream) = 0;
  virtual Status Zero(void* device, uint64_t bytes, Stream stream) = 0;

  // ---- kernels: reading

  // Probes the cache for each row of the query and decodes what is resident to its place in `out`;
  // lists the rest in `misses`, whose places in `out` are left as they were. Raises the scores of
  // rows found. Reads a block's tags (64 bytes), then one entry and the codes a hit.
  virtual Status ProbeGather(const ProbeGatherArgs& args, Stream stream) = 0;

  // Pools each bag whose rows are all resident into its row of `out`; lists the other bags in
  // `incomplete`, their places untouched. Absent ids take no part, also not in the mean's divisor;
  // an empty bag gives zeros. mean = sum / number of ids present. A long bag of long rows is looked
  // up once for every panel of columns (CPU: over kPoolKeptIds ids of over kPoolPanelValues values;
  // CUDA: over 32 ids of over 512 values, 256 of codecs with a profile or codes for many values)
  // and may lose a row to a fill meanwhile; it is incomplete then, and a part of its place written.
  virtual Status ProbePool(const ProbePoolArgs& args, Stream stream) = 0;

  // Pools decoded rows, by the same rules and to the same bits as ProbePool.
  virtual Status Pool(const PoolArgs& args, Stream stream) = 0;

  // Decodes rows of an array, as ProbeGather does those of the cache.
  virtual Status Gather(const GatherArgs& args, Stream stream) = 0;

  // ---- kernels: filling. Publication takes three steps, so that a reader sees the old row, the
  // new row or a miss, never a mixture: ChooseSlots clears the tags of the victims; the caller then
  // waits for the readers that may still see them; WriteSlots, PublishSlots. Fills of one cache
  // never run side by side, and a slot chosen is pinned until it is published.

  // slots[i] = the slot that row i may take, or kNoSlot: it is resident already, or no slot of its
  // block is worth less. A free slot is taken first, else one that is not pinned: of the rows with
  // no known next use (score.h; a use that has passed counts as none) the one of least aged value;
  // if there is none such, the one used last of all. The first gives way to any row whose next use
  // is known, and to others by MayReplace; the second only to a row that is used sooner. The
  // victim's tag is cleared. blocks.next_use null: no next use is known.
  virtual Status ChooseSlots(const FillArgs& args, Stream stream) = 0;
  // Writes codes, side data, high tag, score and next use of every chosen slot; not yet visible.
  virtual Status WriteSlots(const FillArgs& args, Stream stream) = 0;
  // Makes the chosen slots visible and unpins them.
  virtual Status PublishSlots(const FillArgs& args, Stream stream) = 0;

  // Clears the tag of every slot that holds a position in [first, last), and its pins. Neither this
  // nor the next beside a fill.
  virtual Status InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last,
                                 Stream stream) = 0;
  // Clears the tags, and the pins, of these positions where they are resident.
  virtual Status Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count,
                            Stream stream) = 0;
  // Adds `delta` (+1 or -1) to the pin counts of the positions that are resident; done[i] = 1 where
  // it was. A count of 255 takes no further pin (done[i] = 0). Not beside a fill. A position that
  // is named twice is pinned twice; which of the two is done where the count allows one is open.
  virtual Status Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
                     uint8_t* done, Stream stream) = 0;
  // Says when these positions, none twice, are used next, where they are resident. Readers do not
  // see it; not beside a fill. blocks.next_use is not null.
  virtual Status Foresee(const BlockView& blocks, const uint64_t* positions,
                         const uint32_t* next_use, uint32_t count, Stream stream) = 0;
  // Rewrites every score as of `clock`, so that none is older than half the clock's range.
  virtual Status AgeScores(const BlockView& blocks, uint32_t clock, Stream stream) = 0;
};

// ---- the backends there are
// ----------------------------------------------------------------------

// `pinned_by`: its device memory (which is host memory) is pinned for copies to that backend's
// device, and then taken as a whole at once.
std::shared_ptr<Backend> MakeCpuBackend(std::shared_ptr<Backend> pinned_by = nullptr);

// kUnsupported says why there is none: not built in, no driver, a driver too old, no device.
Result<std::shared_ptr<Backend>> MakeCudaBackend();

}  // namespace edo::kernels
