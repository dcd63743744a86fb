// Table: keys to rows of `dim` floats, read in batches into the caller's memory.
//
// A Table is a handle on one generation of a table: an import that replaces the table does not
// change what an open handle returns; open it again to see the new rows. The Store must outlive
// its tables. Every method is safe to call from many threads at once.
//
// Keys: a dense table takes the places 0..rows-1 that rows had in their source, an int64 table any
// 64-bit id, a text table any bytes. Every row also has a row number 0..rows-1: where it stands in
// the table. Without an order (row_order.h) that is its place in the source, so that keys of a
// dense table and row numbers are the same; with one they are not: calls named after Rows take row
// numbers, the others keys, and a key of a dense table costs what one of an int64 table costs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/codec_spec.h"
#include "edo/options.h"
#include "edo/pipeline.h"
#include "edo/prefetch.h"
#include "edo/status.h"
#include "edo/table_types.h"

namespace edo {

using Metadata = std::map<std::string, std::string>;  // free key-value pairs, UTF-8 by convention

// Rows of a table that one codec holds. Tiers follow each other in the order of row numbers.
struct TierInfo {
  uint64_t first_row = 0;  // row number
  uint64_t rows = 0;
  CodecSpec codec;
  uint64_t row_bytes = 0;  // encoded bytes of a row, side data included
  uint32_t chunk_rows = 0;
  uint64_t chunk_count = 0;
  uint64_t chunk_file_bytes = 0;
  Compression compression = Compression::kNone;
};

struct TableInfo {
  std::string name;
  KeyKind key_kind = KeyKind::kDense;
  CodecSpec codec;  // of mixed precision: of the last tier, and so row_bytes and chunk_rows
  uint32_t dim = 0;
  uint64_t rows = 0;
  uint64_t generation = 0;        // grows with every import into the store
  uint64_t created_unix_s = 0;    // when this generation was committed; 0 in a reproducible import
  uint64_t row_bytes = 0;         // encoded bytes of a row, side data included
  uint32_t chunk_rows = 0;        // rows a chunk
  uint64_t chunk_count = 0;       // of all tiers, here and in the bytes below
  uint64_t chunk_file_bytes = 0;  // on disk: files of chunks
  Compression compression = Compression::kNone;  // of the chunks: kNone or kZstd
  uint64_t plain_chunk_bytes = 0;  // what the chunks would take on disk without compression; 0 when
                                   // they are not compressed, which chunk_file_bytes says then
  uint64_t key_file_bytes = 0;     // on disk: files of the key directory, both ways, the
                                   // order, and the sizes of compressed chunks
  std::string order = "file";  // of the rows: "file", "counts", "trace" or "tiered" (row_order.h)
  // Mixed precision: two or more tiers, which together are all rows. Empty: one codec for all.
  std::vector<TierInfo> tiers;
  Metadata metadata;
  // Of a composed table (compose.h) its operation and parts, as "product(u.q:quotient:1000,
  // u.r:remainder:1000)"; else empty. It has no rows, keys or files of its own: codec is F32,
  // row_bytes what a row would take so, and what counts chunks and bytes on disk is 0.
  std::string composition;
  // Of a composed table without a number of rows: every 64-bit id is a key. `rows` is 0, and calls
  // that take or give row numbers, and Scan, are kUnsupported.
  bool every_id = false;
  // Of a composed table in the list of Store::Tables: why it cannot be opened now, as a part is
  // gone or was replaced by one that does not fit; else empty.
  std::string unfit;
};

enum class PoolMode : uint8_t { kSum, kMean };

// Bags of keys, as PyTorch's EmbeddingBag takes them: bag b holds keys offsets[b] .. offsets[b+1]-1
// of the call, the last bag those up to the end.
struct Bags {
  std::span<const uint64_t> offsets;  // (bags) ascending from 0; equal neighbours: an empty bag
  std::span<const float> weights{};   // one a key, or empty; only with kSum
  PoolMode mode = PoolMode::kSum;
};
// The same with offsets and weights in device memory. Offsets that do not ascend from 0 to at most
// the number of keys are the caller's bug: they are not looked at by the host.
struct DeviceBags {
  const uint64_t* offsets = nullptr;  // (count + 1): the last is the number of keys
  uint64_t count = 0;
  const float* weights = nullptr;
  PoolMode mode = PoolMode::kSum;
};

// A lookup whose output lies in device memory (Table::LookupOnDevice). Rows that the device's cache
// holds are on their way when the call returns; the others come with Finish. The table and the
// stream must outlive it; one thread at a time, with the same CUDA device current.
class DeviceLookup {
 public:
  // Waits for the device work that uses its buffers.
  virtual ~DeviceLookup() = default;
  // Whether the device has said what is missing, so that Finish does not wait for it.
  virtual Result<bool> IsReady() = 0;
  // Reads the missing rows, enqueues their copy and decode on the stream of the lookup, and offers
  // them to the device's cache. With nothing missing, and no report asked of row numbers that lie
  // on the device, it enqueues nothing. After it, work enqueued on that stream finds the output
  // whole. Errors and report as of the host lookups. Call it once; a lookup destroyed without it
  // leaves missing rows unwritten.
  virtual Status Finish(LookupReport* report = nullptr) = 0;
};

struct ScanBatch {
  uint64_t first_row = 0;
  uint64_t row_count = 0;
  std::span<const float> values;      // (row_count, dim); empty when values were not asked
  std::span<const int64_t> int_keys;  // (row_count) for int64 tables, and for dense ones in another
                                      // order than their source's, whose keys are not row numbers
  std::span<const std::string_view> text_keys;  // (row_count) for text tables
};

struct ScanOptions {
  uint64_t first_row = 0;
  uint64_t row_count = UINT64_MAX;  // cut at the table's end
  bool values = true;
  bool keys = true;
};

// Walks the rows of a table in row-number order. One thread at a time; the Table must outlive it.
class TableScan {
 public:
  virtual ~TableScan() = default;
  // Fills `batch` (valid until the next call or destruction) and returns true; false at the end.
  // kCorruption or kIoError name the chunk and rows that could not be read; nothing is skipped.
  virtual Result<bool> Next(ScanBatch* batch) = 0;
};

class Table {
 public:
  virtual ~Table() = default;

  virtual const TableInfo& info() const = 0;
  // What the codec has learned (CodecSpec::learns; layout in docs/codecs.md), for
  // TableOptions::learned; empty for other codecs. Valid while the table lives.
  virtual std::span<const std::byte> Learned() const = 0;

  // Lookup: out[i] = row of keys[i]. `out` points at (count, dim) values of options.out_type, rows
  // options.out_stride values apart; with options.dims at (count, dims). Duplicates and empty
  // batches are ordinary.
  //
  // OK             every key found, missing as on_missing allows, or padding.
  // kNotFound      on_missing = kError and a key is missing; the other rows are written.
  // kCorruption, kIoError   some rows could not be read: they are kUnread in the report and their
  //                place in `out` is untouched; every other row is written. Never default data.
  // kDeadlineExceeded       likewise for the rows not read in time.
  // kInvalidArgument        the key type does not fit the table's key kind, a bad stride or dims.
  // Cost: one read a distinct chunk (two more pages a key for text and int64 keys), sorted by
  // place, then a decode straight into `out`.
  virtual Status LookupRows(std::span<const uint64_t> row_numbers, const LookupOptions& options,
                            void* out, LookupReport* report = nullptr) const = 0;
  // Dense and int64 tables. Negative ids of a dense table are missing keys.
  virtual Status Lookup(std::span<const int64_t> ids, const LookupOptions& options, void* out,
                        LookupReport* report = nullptr) const = 0;
  virtual Status Lookup(std::span<const int32_t> ids, const LookupOptions& options, void* out,
                        LookupReport* report = nullptr) const = 0;
  // Text tables.
  virtual Status Lookup(std::span<const std::string_view> tokens, const LookupOptions& options,
                        void* out, LookupReport* report = nullptr) const = 0;

  // LookupBags: out[b] = the pooled rows of bag b, (bags, dim) values as above. Rows are decoded to
  // f32 and summed in f32 in the order of the keys: acc = 0; acc += x, or acc += w * x with each
  // product rounded first; a mean is the sum divided by the number of rows that took part. Missing
  // and padding keys take no part, also not in that number; an empty bag gives zeros. The same bits
  // on every backend, whatever the cache holds.
  //
  // Status and report as for Lookup, states one a key. A bag with a row that could not be read is
  // left as it was; with kError also a bag that lacks a key.
  // kInvalidArgument: offsets that do not ascend from 0 to at most the number of keys, weights of
  // another count or with kMean.
  // Cost: as Lookup. Bags whose rows are all cached need no memory; the others 4 * dim bytes a key,
  // a few thousand keys at a time.
  virtual Status LookupBagRows(std::span<const uint64_t> row_numbers, const Bags& bags,
                               const LookupOptions& options, void* out,
                               LookupReport* report = nullptr) const = 0;
  virtual Status LookupBags(std::span<const int64_t> ids, const Bags& bags,
                            const LookupOptions& options, void* out,
                            LookupReport* report = nullptr) const = 0;
  virtual Status LookupBags(std::span<const int32_t> ids, const Bags& bags,
                            const LookupOptions& options, void* out,
                            LookupReport* report = nullptr) const = 0;
  virtual Status LookupBags(std::span<const std::string_view> tokens, const Bags& bags,
                            const LookupOptions& options, void* out,
                            LookupReport* report = nullptr) const = 0;

  // Prefetch: asks for the rows of keys that a later call will look up (prefetch.h). Returns at
  // once; keys of the wrong kind are kInvalidArgument here, and so is a batch whose rows could
  // never fit into StoreOptions::prefetch_bytes; kBusy with WhenFull::kRefuse; kCancelled when the
  // store is being closed. Cost for the caller: a copy of the keys. Device: to_device fails as
  // LookupOnDevice does without one.
  virtual Result<std::unique_ptr<PrefetchTicket>> PrefetchRows(
      std::span<const uint64_t> row_numbers, const PrefetchOptions& options = {}) const = 0;
  virtual Result<std::unique_ptr<PrefetchTicket>> Prefetch(
      std::span<const int64_t> ids, const PrefetchOptions& options = {}) const = 0;
  virtual Result<std::unique_ptr<PrefetchTicket>> Prefetch(
      std::span<const std::string_view> tokens, const PrefetchOptions& options = {}) const = 0;

  // A loop over batches whose rows are read ahead (pipeline.h). kInvalidArgument: no source, a
  // depth out of range, dims beyond dim.
  virtual Result<std::unique_ptr<Pipeline>> MakePipeline(
      KeySource source, const PipelineOptions& options = {}) const = 0;

  // Looks up a whole stream of keys (pipeline.h): as many at a time as window_bytes holds, each
  // chunk read at most once a window, in the order of the disk, past the cache; rows come out in
  // the order of the stream. The next window is read while one is handed out. Missing keys follow
  // options.lookup.on_missing (kError ends the job with kNotFound). Rows that could not be read are
  // kUnread at the sink, and the call returns the first such failure at the end; any other error
  // ends the job: the source's, the sink's, kCancelled by progress.
  virtual Status BulkLookup(const KeySource& source, const BulkOptions& options,
                            const BulkSink& sink, BulkReport* report = nullptr) const = 0;

  // LookupOnDevice: `out` lies in device memory of the store's backend (StoreOptions::backend); on
  // the CPU backend that is any memory. `stream` is a cudaStream_t, null the default stream
  // (cudaStreamPerThread is refused); all device work is enqueued there. Row numbers may lie on the
  // device (negative or too large ones are missing keys); keys of any kind are given on the host,
  // which resolves them. When every row is in the device's cache the host never waits for the
  // device; DeviceLookup has the rest. Rows that are missed come from the host's
  // cache (cache_bytes), else from disk. The call fails as Lookup does for bad arguments, kNoSpace
  // without device memory, kIoError with the device's own words. `out`, `row_numbers` and bags must
  // stay until the stream is done.
  virtual Result<std::unique_ptr<DeviceLookup>> LookupRowsOnDevice(
      const int64_t* row_numbers, uint64_t count, const LookupOptions& options, void* out,
      void* stream = nullptr) const = 0;
  virtual Result<std::unique_ptr<DeviceLookup>> LookupOnDevice(std::span<const int64_t> ids,
                                                               const LookupOptions& options,
                                                               void* out,
                                                               void* stream = nullptr) const = 0;
  virtual Result<std::unique_ptr<DeviceLookup>> LookupOnDevice(
      std::span<const std::string_view> tokens, const LookupOptions& options, void* out,
      void* stream = nullptr) const = 0;
  // Pooled, by the rules of LookupBags. A bag is written by the call when all its rows are cached;
  // with OnMissing::kError bags are written by Finish. Memory: 64 MiB of the device for bags that
  // lack rows, whatever their number.
  // One place is weaker: a bag of over 32 keys of rows of over 512 values, one of whose rows leaves
  // the cache while it is summed and then cannot be read, may be partly written.
  virtual Result<std::unique_ptr<DeviceLookup>> LookupBagRowsOnDevice(
      const int64_t* row_numbers, uint64_t count, const DeviceBags& bags,
      const LookupOptions& options, void* out, void* stream = nullptr) const = 0;
  virtual Result<std::unique_ptr<DeviceLookup>> LookupBagsOnDevice(
      std::span<const int64_t> ids, const Bags& bags, const LookupOptions& options, void* out,
      void* stream = nullptr) const = 0;
  virtual Result<std::unique_ptr<DeviceLookup>> LookupBagsOnDevice(
      std::span<const std::string_view> tokens, const Bags& bags, const LookupOptions& options,
      void* out, void* stream = nullptr) const = 0;

  // Row numbers of keys; kMissingRow where the table does not hold the key. All or an error.
  static constexpr uint64_t kMissingRow = UINT64_MAX;
  virtual Result<std::vector<uint64_t>> FindRows(std::span<const int64_t> ids) const = 0;
  virtual Result<std::vector<uint64_t>> FindRows(
      std::span<const std::string_view> tokens) const = 0;
  // One key. Same cost as a batch of one.
  virtual Result<bool> Contains(int64_t id) const = 0;
  virtual Result<bool> Contains(std::string_view token) const = 0;

  // Keys of rows, in the order asked. kInvalidArgument for a row number >= rows.
  // A dense table's keys are the places in the source: without an order, the row numbers.
  virtual Result<std::vector<int64_t>> IntKeysOf(std::span<const uint64_t> row_numbers) const = 0;
  virtual Result<std::vector<std::string>> TextKeysOf(
      std::span<const uint64_t> row_numbers) const = 0;

  // Keys and rows in row order, by large sequential reads, a few MiB of memory.
  virtual Result<std::unique_ptr<TableScan>> Scan(const ScanOptions& options) const = 0;
};

}  // namespace edo
