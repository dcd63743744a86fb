// Bytes of the edo archive, shared by its reader and writer. Layout: docs/archive_format.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace edo::storage {

inline constexpr std::string_view kArchiveMagic = "EDOARCH\n";
inline constexpr uint32_t kArchiveVersion = 1;         // of codecs that learn nothing
inline constexpr uint32_t kLearnedArchiveVersion = 2;  // with learned records
inline constexpr uint64_t kMaxArchiveRecordBytes = uint64_t{256} << 20;

enum class ArchiveRecord : uint8_t {  // ON DISK: never renumber
  kHeader = 1,
  kBlock = 2,
  kEnd = 3,
  kLearned = 4,
};
// A record: kind (1 byte), payload bytes (4), payload, xxh3 of kind, length and payload (8).
inline constexpr uint64_t kRecordHeadBytes = 5;

}  // namespace edo::storage
