// DirectoryLock: an advisory lock (flock) on a store's directory, above RocksDB's own lock file. A
// writable store holds it shared for as long as it is open; making and removing a store need it
// alone. So a store is never removed, or made anew, under another process's feet.
#pragma once

#include <memory>
#include <string>

#include "edo/status.h"

namespace edo::storage {

class DirectoryLock {
 public:
  // kBusy at once when another holder stands in the way; kNotFound when the directory is gone.
  static Result<std::unique_ptr<DirectoryLock>> Shared(const std::string& directory);
  static Result<std::unique_ptr<DirectoryLock>> Alone(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // From alone to shared.
  Status Share();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  static Result<std::unique_ptr<DirectoryLock>> Take(const std::string& directory, int operation);
  const int fd_;
};

}  // namespace edo::storage
