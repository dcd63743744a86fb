// Input: the bytes of one source, read in large blocks through a window that parsers look into.
//
// The window is a stretch of the input in memory; it moves forward as bytes are consumed and grows
// only as far as bytes were really read. At least kPadding zero bytes lie behind its end, so that a
// number parser may load whole words. gzip and zstd are opened by their magic, whatever the name.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "edo/status.h"
#include "storage/readers/byte_source.h"

namespace edo::storage {

class Input {
 public:
  static constexpr size_t kPadding = 64;

  // A file, a FIFO, or "-" for standard input; `cancelled`: see SourceOptions.
  static Result<std::unique_ptr<Input>> Open(const std::string& path,
                                             const std::function<bool()>& cancelled = {});
  // For tests and fuzzers; the caller keeps `bytes` alive.
  static Result<std::unique_ptr<Input>> FromMemory(std::string name, std::string_view bytes);
  // What is left of `input`, seen through zstd from its present byte on.
  static Result<std::unique_ptr<Input>> Decompress(std::unique_ptr<Input> input);
  // Bytes that lie within another Input, perhaps compressed: an entry of a zip archive.
  struct Part {
    std::string name, path, compression;
    std::unique_ptr<ByteSource> source;
    uint64_t bytes = 0;      // that the source delivers
    uint64_t raw_bytes = 0;  // as they lie in the file
    // Where they lie as they are, for ReadAt; nullptr: compressed.
    std::shared_ptr<const Input> within;
    uint64_t within_offset = 0;
  };
  static std::unique_ptr<Input> FromPart(Part part);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const std::string& name() const { return name_; }                // for messages
  const std::string& path() const { return path_; }                // as given
  const std::string& compression() const { return compression_; }  // "", "gzip", ...

  std::string_view window() const { return {buffer_.get() + begin_, end_ - begin_}; }
  // Offset of the window's first byte in the (decompressed) input.
  uint64_t offset() const { return offset_; }
  void Consume(size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  // Reads more bytes behind the window; moves it, so views into it die. False at the end.
  Result<bool> More();
  // The window, once it holds `bytes` or the input has ended.
  Result<std::string_view> Peek(size_t bytes);
  // Copies and consumes; fewer than `bytes` only at the end.
  Result<size_t> Read(void* to, size_t bytes);
  // Consumes; fewer than `bytes` only at the end.
  Result<uint64_t> Skip(uint64_t bytes);

  // Length of the decompressed input, when it is known without reading it.
  std::optional<uint64_t> size() const { return size_; }
  // Random access, apart from the window: plain files and memory.
  bool seekable() const { return size_.has_value() && plain_; }
  Result<size_t> ReadAt(uint64_t offset, void* to, size_t bytes) const;

  // Progress in bytes of the file as it lies there; 0 in total = not known.
  uint64_t raw_bytes() const { return source_->raw_bytes() - (end_ - begin_) * plain_; }
  uint64_t raw_total() const { return raw_total_; }

 private:
  Input() = default;
  Status DetectCompression();
  void Reserve(size_t bytes);  // room behind the window, moving and growing it

  std::string name_, path_, compression_;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0, begin_ = 0, end_ = 0;
  uint64_t offset_ = 0;
  bool ended_ = false;
  bool plain_ = true;                    // not compressed: the window counts as unread in raw_bytes
  int fd_ = -1;                          // for ReadAt; owned by source_
  std::string_view memory_;              // for ReadAt
  std::shared_ptr<const Input> within_;  // for ReadAt, with the offset there
  uint64_t within_offset_ = 0;
  std::optional<uint64_t> size_;
  uint64_t raw_total_ = 0;
};

}  // namespace edo::storage
