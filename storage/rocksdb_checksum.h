// Whole-file checksums (XXH3-64) of RocksDB's SST files, recorded in its MANIFEST when a file is
// written, so that verify sees every flipped byte of a file, padding included.
#pragma once

#include <rocksdb/file_checksum.h>

#include <memory>
#include <string>

namespace edo::storage {

std::shared_ptr<rocksdb::FileChecksumGenFactory> NewFileChecksumFactory();
inline constexpr char kFileChecksumName[] = "EdoXXH3";

}  // namespace edo::storage
