// ByteSource: where the bytes of an input come from: a file, a pipe, memory, or another source
// seen through gzip or zstd. A source that wraps another owns it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::storage {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `bytes` (at least 1 wanted); 0 only at the end.
  virtual Result<size_t> Read(char* to, size_t bytes) = 0;
  // Bytes taken so far from the outermost file, compressed as it lies there.
  virtual uint64_t raw_bytes() const = 0;
};

// An open descriptor, closed at destruction unless it is standard input. `name` is for messages.
// While a pipe has nothing to give, `cancelled` (may be empty) is asked ten times a second.
std::unique_ptr<ByteSource> MakeFileSource(int fd, std::string name,
                                           std::function<bool()> cancelled);
// The caller keeps `bytes` alive.
std::unique_ptr<ByteSource> MakeMemorySource(std::string_view bytes);
// `inner` delivers gzip members (one or more) or zstd frames, from their first byte on.
// A stream that is cut short or damaged is kBadInput naming the compressed byte.
Result<std::unique_ptr<ByteSource>> MakeGzipSource(std::unique_ptr<ByteSource> inner,
                                                   std::string name);
Result<std::unique_ptr<ByteSource>> MakeZstdSource(std::unique_ptr<ByteSource> inner,
                                                   std::string name);

}  // namespace edo::storage
