#include "storage/readers/byte_source.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

constexpr size_t kCompressedBlockBytes = size_t{256} << 10;

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string name, std::function<bool()> cancelled)
      : fd_(fd), name_(std::move(name)), cancelled_(std::move(cancelled)) {
    struct stat info {};
    may_wait_ = fstat(fd, &info) == 0 && !S_ISREG(info.st_mode);
  }
  ~FileSource() override {
    if (fd_ > STDIN_FILENO) close(fd_);
  }
  Result<size_t> Read(char* to, size_t bytes) override {
    for (;;) {
      if (may_wait_) EDO_RETURN_IF_ERROR(Wait());
      const ssize_t got = read(fd_, to, bytes);
      if (got >= 0) {
        raw_bytes_ += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno == EINTR || (errno == EAGAIN && may_wait_)) continue;
      return Status::IoError(name_ + " byte " + std::to_string(raw_bytes_) +
                             ": cannot read: " + strerror(errno));
    }
  }
  uint64_t raw_bytes() const override { return raw_bytes_; }

 private:
  // Returns when there is something to read or the other end is gone.
  Status Wait() const {
    struct pollfd poll_fd {
      fd_, POLLIN, 0
    };
    while (poll(&poll_fd, 1, /*timeout_ms=*/100) <= 0) {
      if (cancelled_ && cancelled_())
        return Status::Cancelled("reading " + name_ + " was cancelled");
    }
    return Status::Ok();
  }

  const int fd_;
  const std::string name_;
  const std::function<bool()> cancelled_;
  bool may_wait_ = false;  // a pipe, terminal or device
  uint64_t raw_bytes_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  Result<size_t> Read(char* to, size_t bytes) override {
    const size_t count = std::min(bytes, bytes_.size() - at_);
    if (count > 0) memcpy(to, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }
  uint64_t raw_bytes() const override { return at_; }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
};

// What gzip and zstd share: a block of compressed bytes and the place reached in it.
class CompressedSource : public ByteSource {
 public:
  uint64_t raw_bytes() const override { return inner_->raw_bytes(); }

 protected:
  CompressedSource(std::unique_ptr<ByteSource> inner, std::string name)
      : inner_(std::move(inner)), name_(std::move(name)), block_(kCompressedBlockBytes) {}

  // Makes at least one compressed byte available; false at the end of the file.
  Result<bool> Refill() {
    if (at_ < size_) return true;
    consumed_ += size_;
    at_ = size_ = 0;
    EDO_ASSIGN_OR_RETURN(size_, inner_->Read(block_.data(), block_.size()));
    return size_ > 0;
  }
  uint64_t compressed_byte() const { return consumed_ + at_; }
  Status Bad(const std::string& what) const { return BadByte(name_, compressed_byte(), what); }

  std::unique_ptr<ByteSource> inner_;
  const std::string name_;
  std::vector<char> block_;
  size_t at_ = 0, size_ = 0;
  uint64_t consumed_ = 0;
};

class GzipSource final : public CompressedSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> inner, std::string name)
      : CompressedSource(std::move(inner), std::move(name)) {}
  ~GzipSource() override {
    if (ready_) inflateEnd(&stream_);
  }
  bool Start() {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;  // 16: expect a gzip header
    return ready_;
  }

  Result<size_t> Read(char* to, size_t bytes) override {
    const size_t wanted = std::min<size_t>(bytes, size_t{1} << 30);
    for (;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more && member_done_) return size_t{0};
      if (!more) {
        return Bad("gzip data is truncated: the compressed file ends inside a member");
      }
      if (member_done_) {  // another member follows; gzip files may hold several
        if (inflateReset(&stream_) != Z_OK) return Bad("gzip cannot be reset");
        member_done_ = false;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(block_.data() + at_);
      stream_.avail_in = static_cast<uInt>(size_ - at_);
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = static_cast<uInt>(wanted);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      at_ = size_ - stream_.avail_in;
      if (code == Z_STREAM_END) {
        member_done_ = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        const char* why = stream_.msg ? stream_.msg : "not gzip data";
        return Bad(std::string("gzip data is damaged: ") + why);
      }
      const size_t got = wanted - stream_.avail_out;
      if (got > 0) return got;
    }
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  bool member_done_ = false;
};

class ZstdSource final : public CompressedSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> inner, std::string name)
      : CompressedSource(std::move(inner), std::move(name)), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  bool Start() { return stream_ != nullptr && !ZSTD_isError(ZSTD_initDStream(stream_)); }

  Result<size_t> Read(char* to, size_t bytes) override {
    ZSTD_outBuffer out{to, bytes, 0};
    for (;;) {
      // The decoder may hold decoded bytes back when `to` was full: ask it before the file.
      if (!output_pending_) {
        EDO_ASSIGN_OR_RETURN(const bool more, Refill());
        if (!more && frame_done_) return size_t{0};
        if (!more) return Bad("zstd data is truncated: the compressed file ends inside a frame");
      }
      ZSTD_inBuffer in{block_.data(), size_, at_};
      const size_t code = ZSTD_decompressStream(stream_, &out, &in);
      at_ = in.pos;
      if (ZSTD_isError(code)) {
        return Bad(std::string("zstd data is damaged: ") + ZSTD_getErrorName(code));
      }
      frame_done_ = code == 0;
      output_pending_ = !frame_done_ && out.pos == out.size;
      if (out.pos > 0) return out.pos;
    }
  }

 private:
  ZSTD_DStream* stream_;
  bool frame_done_ = false;
  bool output_pending_ = false;
};

template <typename Source>
Result<std::unique_ptr<ByteSource>> MakeCompressed(std::unique_ptr<ByteSource> inner,
                                                   std::string name) {
  auto source = std::make_unique<Source>(std::move(inner), name);
  if (!source->Start()) return Status::IoError(name + ": no memory to decompress");
  return std::unique_ptr<ByteSource>(std::move(source));
}

}  // namespace

std::unique_ptr<ByteSource> MakeFileSource(int fd, std::string name,
                                           std::function<bool()> cancelled) {
  return std::make_unique<FileSource>(fd, std::move(name), std::move(cancelled));
}
std::unique_ptr<ByteSource> MakeMemorySource(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}
Result<std::unique_ptr<ByteSource>> MakeGzipSource(std::unique_ptr<ByteSource> inner,
                                                   std::string name) {
  return MakeCompressed<GzipSource>(std::move(inner), std::move(name));
}
Result<std::unique_ptr<ByteSource>> MakeZstdSource(std::unique_ptr<ByteSource> inner,
                                                   std::string name) {
  return MakeCompressed<ZstdSource>(std::move(inner), std::move(name));
}

}  // namespace edo::storage
