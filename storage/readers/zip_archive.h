// Entries of a zip archive: what its central directory says, and the bytes of one entry as an
// Input. Sizes are taken from the central directory alone (zip64 included), since writers that
// stream leave those of the local headers empty. Stored and deflated entries can be read. An entry
// whose bytes do not have the CRC-32 that the directory gives never delivers its last byte.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edo/status.h"
#include "storage/readers/input.h"

namespace edo::storage {

struct ZipEntry {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t packed_bytes = 0;   // as it lies in the archive
  uint64_t bytes = 0;          // unpacked
  uint64_t header_offset = 0;  // of the local header
};

// Do these first bytes of a file begin a zip archive that has an entry?
bool IsZip(std::string_view start);

// In the order of the directory, no name twice. `archive` must be seekable.
Result<std::vector<ZipEntry>> ReadZipDirectory(const Input& archive);

enum class ZipRead : uint8_t {
  kChecked,  // everything, with its CRC-32
  kGlance,   // a few bytes from the beginning, unchecked: to see what the entry is
};
// An entry named "a.npy" of t.npz is "t.npz entry a.npy" in messages. Stored entries are seekable.
Result<std::unique_ptr<Input>> OpenZipEntry(std::shared_ptr<const Input> archive,
                                            const ZipEntry& entry, ZipRead how);

// Reads the entry to its end to check its CRC-32.
Status CheckZipEntry(std::shared_ptr<const Input> archive, const ZipEntry& entry);

}  // namespace edo::storage
