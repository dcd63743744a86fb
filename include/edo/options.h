// Options of a store and of a lookup, and the small types that the other headers share.
//
// Plain structs: the default stands on the line, the comment gives unit and trade-off.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo {

// What the keys of a table are. Fixed when the table is made.
enum class KeyKind : uint8_t {  // ON DISK: never renumber
  kDense = 0,                   // the key is the row's place in the source, 0 .. rows-1
  kInt64 = 1,                   // any signed 64-bit value, none reserved
  kText = 2,  // any bytes up to kMaxKeyBytes, kept exactly; the empty key is a key
};
std::string_view KeyKindName(KeyKind kind);  // "dense", "int64", "text"

// Of a table's chunks on disk. Lossless; a lookup unpacks each chunk that it reads.
enum class Compression : uint8_t {
  kAuto,  // as an option: kZstd where a sample says that it pays
  kNone,
  kZstd,
};
std::string_view CompressionName(Compression compression);  // "auto", "none", "zstd"

// What computes. See docs/architecture.md, "Backends".
enum class BackendKind : uint8_t {
  kAuto,  // what the environment variable EDO_BACKEND names ("cpu", "cuda"); unset: CUDA where this
          // build has it and finds a device, else the CPU
  kCpu,   // device memory is host memory; needs nothing
  kCuda,  // kUnsupported at open when there is no driver or no device
};

// Element type of values handed to or by the caller.
enum class FloatType : uint8_t { kF32, kF16, kBF16 };
std::string_view FloatTypeName(FloatType type);  // "f32", "f16", "bf16"
constexpr uint32_t FloatTypeBytes(FloatType type) { return type == FloatType::kF32 ? 4 : 2; }

// Limits of the format (docs/format.md, "Limits").
inline constexpr uint64_t kMaxRows = uint64_t{1} << 40;               // rows of one table
inline constexpr uint32_t kMaxDim = 65536;                            // values of one row
inline constexpr uint32_t kMaxKeyBytes = 65535;                       // bytes of one text key
inline constexpr uint32_t kMaxTableNameBytes = 255;                   // bytes of a table name
inline constexpr uint64_t kMaxGenerations = (uint64_t{1} << 24) - 1;  // imports over a store's life

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
// Called from any thread; must not call back into the store.
using LogFunction = std::function<void(LogLevel level, std::string_view message)>;

struct StoreOptions {
  // Behaviour.
  bool read_only = false;  // takes no lock, writes nothing, cleans nothing up; sees the store as
                           // of the moment it was opened, also beside a live writer
  LogFunction log{};       // warnings of the store and of the database below; empty = none

  // Performance.
  bool direct_reads = false;  // O_DIRECT for chunks: leaves the page cache to others. Off is faster
                              // when the table fits in memory. Falls back (said in Stats) where
                              // the file system refuses it.
  bool io_uring = true;       // many chunk reads in flight from one thread; falls back to pread
                              // (said in Stats) where the kernel refuses it
  uint32_t read_threads = 0;  // threads that one lookup of many chunks may use, the caller's among
                              // them. 0: 1, which keeps the device busy; 4 with direct_reads for
                              // what cannot go through io_uring all at once (key directories;
                              // chunks where the kernel refuses io_uring)
  bool chunk_files_directly = true;  // chunks are read from their files at computed places; false:
                                     // all through RocksDB's MultiGet, for comparison
  uint64_t key_cache_bytes = uint64_t{32} << 20;  // cache for pages of key directories
  // Hot rows of all tables, kept encoded in host memory; every lookup into host memory goes
  // through it, and what a lookup on device does not find on the device. Memory is used as rows
  // come in (beside a GPU's cache it is pinned, and taken at once), at most this much and 3 % (the
  // record of what was missed). 0: none. OpenTable fails when it holds not even 32 rows of the
  // table.
  uint64_t cache_bytes = uint64_t{64} << 20;

  // Reads ahead of need (prefetch.h). Rows that live tickets hold beside the cache, together.
  uint64_t prefetch_bytes = uint64_t{64} << 20;
  // Threads of the store that read ahead, made at the first prefetch. One keeps the device's queue
  // full; more share the work of proving and copying what it gives. 1..64.
  uint32_t prefetch_threads = 1;
  // Where that work goes instead, if not empty: called with work to be run once, soon, from any
  // thread; it must not run it within the call. The work blocks on the disk, at most for 1024 reads
  // at a time. `AsExecutor` in asio.h makes one of an executor of Boost.Asio. What it was given
  // must be run or destroyed before the executor goes; after the store was closed it does nothing
  // but call handlers.
  std::function<void(std::function<void()> work)> executor{};

  // The device of lookups "on device" (table.h), and its own cache of hot rows.
  BackendKind backend = BackendKind::kAuto;
  uint64_t device_cache_bytes = 0;  // 0: device lookups read every row through the host

  Status Validate() const;
};

// What to do with a key that the table does not hold.
enum class OnMissing : uint8_t {
  kZero,   // its row in `out` is all zeros; counted in the report
  kError,  // the call returns kNotFound with the place of the first missing key in the batch; rows
           // found are written
  kMark,   // its row in `out` is left as it was; the report's states say which
};

struct LookupOptions {
  OnMissing on_missing = OnMissing::kZero;
  FloatType out_type = FloatType::kF32;  // F16: values beyond 65504 become inf, nearest-even else
  uint64_t out_stride = 0;  // values from one row to the next in `out`; 0 = dim (or dims)
  uint32_t dims = 0;  // only the first `dims` values of each row, as Matryoshka embeddings are
                      // cut (not normalised again); 0 = all
  std::optional<int64_t> padding_id{};  // integer lookups: this id gives zeros, is no miss
  // Rows not read by then are reported as unread and the call returns kDeadlineExceeded.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
};

// Progress of a long call. `done` and `total` in `unit`s ("bytes", "rows"); total 0 = not known.
struct Progress {
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t rows = 0;
  std::string_view unit;
};
// Called now and then from the thread that made the call; return false to cancel (the call then
// ends with kCancelled and leaves everything as it was before).
using ProgressFunction = std::function<bool(const Progress&)>;

}  // namespace edo
