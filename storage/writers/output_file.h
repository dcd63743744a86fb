// OutputFile: a file being written, under a temporary name beside its target until Commit. "-" is
// standard output; special files (/dev/full, a FIFO) are written directly. Every failed write,
// sync and rename is reported. Destroyed before Commit it leaves nothing. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edo/status.h"

namespace edo::storage {

class OutputFile {
 public:
  // kAlreadyExists: a regular file of this name is there and `force` is false. kIoError: a
  // directory, no permission.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path, bool force);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status Append(std::string_view bytes);
  Status Append(const void* bytes, size_t count) {
    return Append(std::string_view(static_cast<const char*>(bytes), count));
  }
  // Flushes and syncs; the file is whole but still under its temporary name.
  Status Sync();
  // Gives the file its name. Call after Sync.
  Status Commit();

  const std::string& path() const { return path_; }
  uint64_t bytes_written() const { return bytes_; }

 private:
  OutputFile(std::string path, bool force) : path_(std::move(path)), force_(force) {}
  Status Open();
  Status WriteAll(const char* bytes, size_t count);
  Status Failed(std::string_view what, int error) const;

  const std::string path_;
  const bool force_;
  std::string target_;     // path_ behind symbolic links
  std::string temporary_;  // empty: written directly
  int fd_ = -1;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// Bytes set aside in an unnamed temporary file, to be appended to an output later.
class Spool {
 public:
  Spool() = default;
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  // `beside`: the directory of this path holds the temporary file ("-": the system's).
  Status Open(const std::string& beside);
  Status Append(const void* bytes, size_t count);
  uint64_t bytes() const { return bytes_; }
  Status CopyTo(OutputFile* output);

 private:
  Status Flush();

  int fd_ = -1;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

}  // namespace edo::storage
