#include "storage/rocksdb_options.h"

#include <rocksdb/table.h>

#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>

#include "storage/rocksdb_checksum.h"

namespace edo::storage {
namespace {

// RocksDB's own log goes to the store's log hook, so that no LOG files appear in the directory and
// a read-only open writes nothing.
class BridgeLogger : public rocksdb::Logger {
 public:
  explicit BridgeLogger(LogFunction log)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), log_(std::move(log)) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
  }
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (!log_ || level < GetInfoLogLevel()) return;
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    // Its errors come back as a Status too, and its warnings are for those who look for them.
    log_(level >= rocksdb::InfoLogLevel::ERROR_LEVEL ? LogLevel::kWarning : LogLevel::kInfo,
         std::string("rocksdb: ") + text);
  }

 private:
  const LogFunction log_;
};

rocksdb::ColumnFamilyOptions PageFamilyOptions(rocksdb::BlockBasedTableOptions table,
                                               uint64_t block_size = 4096) {
  rocksdb::ColumnFamilyOptions options;
  // Codes mostly do not shrink (3-8 %), and raw blocks let a read be decoded in place. Those that
  // do are compressed before they come here (chunk_packing.h).
  options.compression = rocksdb::kNoCompression;
  // Files are only ingested and dropped whole. A compaction could gain nothing, and one that met
  // a damaged block would make every later write fail.
  options.disable_auto_compactions = true;
  options.write_buffer_size = 1 << 20;  // never written to
  table.checksum = rocksdb::kXXH3;      // Debian's build computes CRC32C in software
  table.format_version = 5;
  table.block_size = block_size;
  table.index_block_restart_interval = 16;  // halves the index
  table.filter_policy = nullptr;            // page numbers are dense: no miss to filter
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

rocksdb::DBOptions DatabaseOptions(const RocksdbTuning& tuning) {
  rocksdb::DBOptions options;
  options.env = tuning.env;
  options.use_direct_reads = tuning.direct_reads;
  options.info_log = std::make_shared<BridgeLogger>(tuning.log);
  options.max_open_files = tuning.hold_files ? -1 : 1 << 20;
  // The default would drop a damaged end of the log in silence.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.file_checksum_gen_factory = NewFileChecksumFactory();
  options.skip_stats_update_on_db_open = true;
  // Our files carry whole-file checksums; without this, each ingested file would be warned of.
  options.verify_sst_unique_id_in_manifest = false;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_background_jobs = 2;
  // Files of a bulk load go to the device while they are written, not all at the final sync.
  options.bytes_per_sync = 4 << 20;
  options.max_manifest_file_size = 4 << 20;
  options.max_total_wal_size = 1 << 20;
  return options;
}

rocksdb::ColumnFamilyOptions CatalogFamilyOptions() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 1 << 20;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.block_cache = rocksdb::NewLRUCache(1 << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::ColumnFamilyOptions ChunksFamilyOptions() {
  rocksdb::BlockBasedTableOptions table;
  table.block_align = true;  // one chunk, one aligned read
  table.no_block_cache = true;
  return PageFamilyOptions(table);
}

rocksdb::ColumnFamilyOptions PackedChunksOptions() {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  return PageFamilyOptions(table, /*block_size=*/1);  // each pair ends its block
}

rocksdb::ColumnFamilyOptions KeysFamilyOptions(uint64_t key_cache_bytes) {
  rocksdb::BlockBasedTableOptions table;
  if (key_cache_bytes == 0) {
    table.no_block_cache = true;
  } else {
    table.block_cache = rocksdb::NewLRUCache(key_cache_bytes);
  }
  return PageFamilyOptions(table);
}

}  // namespace edo::storage
