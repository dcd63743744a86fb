// RocksDB's Status as ours, keeping its message (which names the file) and what kind it is.
#pragma once

#include <rocksdb/status.h>

#include <string>

#include "edo/status.h"

namespace edo::storage {

inline Status FromRocksdb(const rocksdb::Status& s, const std::string& context) {
  if (s.ok()) return Status::Ok();
  const std::string text = context.empty() ? s.ToString() : context + ": " + s.ToString();
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
