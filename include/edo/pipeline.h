// Loops over batches of keys, read ahead: Pipeline for a loop that computes on each batch, and
// BulkLookup for a job that knows its whole stream of keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edo/options.h"
#include "edo/status.h"
#include "edo/table_types.h"

namespace edo {

// Keys of one batch: exactly one of the three is used, the same in all batches of a loop.
struct KeyBatch {
  std::vector<uint64_t> rows;       // row numbers, tables of any kind
  std::vector<int64_t> ids;         // keys of dense and int64 tables
  std::vector<std::string> tokens;  // keys of text tables

  size_t size() const { return rows.size() + ids.size() + tokens.size(); }
  void clear() {
    rows.clear();
    ids.clear();
    tokens.clear();
  }
};

// Fills the batch, which comes empty, and returns true; false: there are no more. An empty batch is
// a batch. Called from one thread at a time, not always the same one; must not throw. After an
// error it is not asked again: what it gave before is handed out first, then the error comes.
using KeySource = std::function<Result<bool>(KeyBatch* batch)>;
// Batches that lie in memory already and stay there.
KeySource KeysFrom(std::span<const std::vector<uint64_t>> batches_of_rows);

// ---- Pipeline
// ------------------------------------------------------------------------------------

struct PipelineOptions {
  uint32_t depth = 2;      // batches read ahead of the current one, 1..64
  LookupOptions lookup{};  // how rows are decoded; out_stride and deadline are not used
  // The rows of a batch stay on the device of the store's backend (PipelineBatch::data; values is
  // empty): they are read ahead to it (PrefetchOptions::to_device) and decoded there by `stream`, a
  // cudaStream_t, null the default one. Work on a batch must be enqueued on that stream before the
  // next call of Next, which enqueues the next batch into the same memory.
  bool on_device = false;
  void* stream = nullptr;
  // Batches whose keys are known ahead; the source is asked so far ahead. More than depth: the rows
  // that these batches use last of all leave the cache of hot rows (on_device: the device's) first,
  // whatever others think of them (docs/architecture.md, "Row cache"); ten times as many keys as
  // the cache has rows come near the best that can be done. One loop a table at a time: a second
  // one, as any lookup, is served by the same cache but not known to it. Memory: the batches' keys,
  // 12 bytes a key and batch and 24 to 48 a different key; keys of int64 and text tables are looked
  // up once more. At most depth: no rows are chosen by it. Padding and keys of no row count for
  // nothing.
  uint32_t look_ahead = 0;
};

struct PipelineStats {
  uint64_t batches = 0;
  uint64_t rows = 0;
  uint64_t rows_staged = 0;    // rows that came from disk, read ahead
  double stall_seconds = 0;    // the loop waited for rows that were not there yet
  double lookup_seconds = 0;   // decoding batches, once their rows were there
  double compute_seconds = 0;  // between two calls of Next: the caller's own
  double read_seconds = 0;     // the time some read of the loop was under way
  // Part of the reading that the loop did not wait for, 0..1.
  double hidden() const {
    return read_seconds > 0 ? 1 - (stall_seconds < read_seconds ? stall_seconds / read_seconds : 1)
                            : 1;
  }
};

struct PipelineBatch {
  uint64_t number = 0;  // 0, 1, 2, ...
  const KeyBatch* keys = nullptr;
  std::span<const float> values;  // (keys, dim or dims) with out_type kF32
  const void* data = nullptr;     // the same, of any out_type; on_device: in device memory
  LookupReport report;            // of this batch's lookup
  Status status;                  // likewise: one bad batch does not end the loop
};

// Reads `depth` batches ahead of the one that is in the caller's hands. One thread at a time; the
// table must outlive it. Memory: depth + 1 batches of encoded rows (StoreOptions::prefetch_bytes
// bounds them: with too little of it, or while others hold it, fewer batches are ahead, and one
// that is not read ahead is read when its turn comes) and one of decoded values.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  // Gives the batch before back, waits for the next one's rows and decodes them. `batch` is valid
  // until the next call. False behind the last, then always. An error is the source's, or
  // kInvalidArgument for keys of the wrong kind, then always; the rows' own errors are in the
  // batch.
  virtual Result<bool> Next(PipelineBatch* batch) = 0;
  virtual PipelineStats stats() const = 0;

  // for (const PipelineBatch& batch : *pipeline) ...; then look at status(): a loop that an error
  // of the source ended looks like one that came to its end.
  class Iterator {
   public:
    explicit Iterator(Pipeline* pipeline) : pipeline_(pipeline) {
      if (pipeline_ != nullptr) ++*this;
    }
    const PipelineBatch& operator*() const { return pipeline_->current_; }
    Iterator& operator++() {
      Result<bool> more = pipeline_->Next(&pipeline_->current_);
      if (!more.ok()) pipeline_->status_ = more.status();
      if (!more.ok() || !*more) pipeline_ = nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return pipeline_ != other.pipeline_; }

   private:
    Pipeline* pipeline_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(nullptr); }
  const Status& status() const { return status_; }

 private:
  PipelineBatch current_;  // of the range-for loop
  Status status_;
};

// ---- BulkLookup
// ----------------------------------------------------------------------------------

struct BulkOptions {
  LookupOptions lookup{};  // out_stride and deadline are not used
  // Memory for keys and encoded rows of two windows, sorting included: one is read while the other
  // is handed out. The larger a window, the fewer chunks are read twice.
  uint64_t window_bytes = uint64_t{256} << 20;
  ProgressFunction progress{};  // in rows handed out
};

struct BulkReport {
  bool complete = false;  // the whole stream was handed out
  uint64_t keys = 0;
  uint64_t found = 0;
  uint64_t missing = 0;
  uint64_t unread = 0;
  uint64_t windows = 0;
  uint64_t chunks = 0;                // read; one that two windows need counts twice
  std::vector<ReadFailure> failures;  // at most 100
};

// A piece of the stream, in its order: a batch of the source or a part of one.
struct BulkRows {
  uint64_t first = 0;  // place of its first key in the stream
  uint64_t count = 0;
  uint32_t values_a_row = 0;
  std::span<const float> values;     // (count, values_a_row) with out_type kF32
  const void* data = nullptr;        // the same, of any out_type; rows not found are zeros
  std::span<const RowState> states;  // (count)
  const KeyBatch* keys = nullptr;    // the batch that it is a part of, and where it
  uint64_t first_in_batch = 0;       // begins there
};
// Called from the caller's thread. An error ends the job and is its result.
using BulkSink = std::function<Status(const BulkRows& rows)>;

}  // namespace edo
