// RocksDB's Status as ours, keeping its message (which names the file) and what kind it is.
#pragma once

#include <rocksdb/status.h>

#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::storage {

inline Status FromRocksdb(const rocksdb::Status& s, const std::string& context) {
  if (s.ok()) return Status::Ok();
  // Our Status says its kind itself; RocksDB's messages may say theirs twice.
  std::string text = s.ToString();
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view kind : {"Corruption: ", "IO error: "}) {
      if (!text.starts_with(kind)) continue;
      text.erase(0, kind.size());
      again = true;
    }
  }
  if (!context.empty()) text = context + ": " + text;
  if (s.IsCorruption()) return Status::Corruption(text);
  if (s.IsNotFound()) return Status::NotFound(text);
  if (s.IsNoSpace() || text.find("No space left") != std::string::npos) {
    return Status::NoSpace(text);
  }
  if (s.IsTimedOut()) return Status::DeadlineExceeded(text);
  if (s.IsNotSupported()) return Status::Unsupported(text);
  return Status::IoError(text);
}

}  // namespace edo::storage
