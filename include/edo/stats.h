// Counters of one open store, since it was opened. Reading them costs a few loads and never waits
// for a lookup, an import or an open.
#pragma once

#include <cstdint>
#include <string>

namespace edo {

struct Stats {
  uint64_t lookups = 0;         // batches
  uint64_t rows_found = 0;      // rows written to callers
  uint64_t keys_missing = 0;    // keys asked for that the table does not hold
  uint64_t rows_unread = 0;     // rows that could not be read (damage, I/O error, deadline)
  uint64_t chunks_read = 0;     // chunks fetched and proved by their checksum
  uint64_t key_pages_read = 0;  // pages of key directories, likewise
  uint64_t device_reads = 0;    // read requests handed to the operating system
  uint64_t device_bytes = 0;    // bytes those requests asked for
  uint64_t uring_batches = 0;   // groups of reads that went through io_uring together
  // Chunks fetched straight from their files, their place computed, and through RocksDB's MultiGet.
  uint64_t chunks_by_address = 0;
  uint64_t chunks_by_multiget = 0;
  // Reads under way, summed over samples: one each time that reads of chunks by address are handed
  // to the operating system. sum / samples is the mean depth of the device's queue.
  uint64_t read_depth_sum = 0;
  uint64_t read_depth_samples = 0;

  // The cache of hot rows in host memory (StoreOptions::cache_bytes).
  uint64_t cache_hits = 0;       // rows found in it
  uint64_t cache_misses = 0;     // rows asked for and not found, each time
  uint64_t cache_fills = 0;      // rows brought in
  uint64_t cache_evictions = 0;  // rows that had to go for them
  uint64_t cache_rejected = 0;   // rows not admitted: those they would replace are worth more
  uint64_t cache_skipped = 0;    // rows not admitted: another thread was filling
  uint64_t cache_bytes = 0;      // reserved for it now

  // The same of the device's cache (StoreOptions::device_cache_bytes). Counted when a lookup is
  // finished.
  uint64_t device_cache_hits = 0;
  uint64_t device_cache_misses = 0;
  uint64_t device_cache_fills = 0;
  uint64_t device_cache_evictions = 0;
  uint64_t device_cache_bytes = 0;

  std::string backend;  // of device lookups: "cpu", "cuda"; empty before one was needed

  std::string read_path;       // "SST by arithmetic, io_uring, O_DIRECT", "pread", ...
  std::string read_path_note;  // why a faster path was refused; empty when none was
};

}  // namespace edo
