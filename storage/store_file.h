// The file EDO in a store's directory: a few lines of text that say what the directory is, the
// format version, and how many commits the store has seen (docs/format.md, "The file EDO").
//
// It is replaced (temporary file, sync, rename) after every commit. RocksDB silently treats some
// damage at the end of its MANIFEST or log as the end of the file and would open an older state;
// the commit count here shows that.
#pragma once

#include <cstdint>
#include <string>

#include "edo/status.h"

namespace edo::storage {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr char kStoreFileName[] = "EDO";

struct StoreFileContent {
  uint32_t format = kFormatVersion;
  uint64_t commits = 0;
};

std::string FormatStoreFile(const StoreFileContent& content);
// kCorruption when it is not whole, kUnsupported when its format version is not ours.
Result<StoreFileContent> ParseStoreFile(const std::string& text, const std::string& path);

bool StoreFileExists(const std::string& directory);
Result<StoreFileContent> ReadStoreFile(const std::string& directory);
// Removes the temporary file that a killed WriteStoreFile may have left.
void RemoveStoreFileLeftover(const std::string& directory);
Status WriteStoreFile(const std::string& directory, const StoreFileContent& content);

}  // namespace edo::storage
