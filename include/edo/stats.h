// Counters of one open store, since it was opened. Reading them costs a few loads and no lock.
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

  std::string read_path;       // "io_uring", "io_uring, O_DIRECT", "pread", ...
  std::string read_path_note;  // why a faster path was refused; empty when none was
};

}  // namespace edo
