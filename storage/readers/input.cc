#include "storage/readers/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr size_t kSmallBlockBytes = size_t{4} << 10;

// An Input as the source of another one: what an archive's zstd frame is read from.
class InputSource final : public ByteSource {
 public:
  explicit InputSource(std::unique_ptr<Input> input) : input_(std::move(input)) {}
  Result<size_t> Read(char* to, size_t bytes) override {
    if (input_->window().empty()) {
      EDO_ASSIGN_OR_RETURN(const bool more, input_->More());
      if (!more) return size_t{0};
    }
    return input_->Read(to, std::min(bytes, input_->window().size()));
  }
  uint64_t raw_bytes() const override { return input_->raw_bytes(); }

 private:
  std::unique_ptr<Input> input_;
};

Status OpenError(const std::string& path) {
  const std::string what = path + ": cannot open: " + strerror(errno);
  return errno == ENOENT || errno == ENOTDIR ? Status::NotFound(what) : Status::IoError(what);
}

}  // namespace

Input::~Input() = default;

Result<std::unique_ptr<Input>> Input::Open(const std::string& path,
                                           const std::function<bool()>& cancelled) {
  auto input = std::unique_ptr<Input>(new Input);
  input->path_ = path;
  input->name_ = path == "-" ? "standard input" : path;
  int fd = STDIN_FILENO;
  if (path != "-") {
    // A FIFO without a writer opens at once; the source waits for it, and can be told to stop.
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return OpenError(path);
  }
  input->source_ = MakeFileSource(fd, input->name_, cancelled);
  struct stat info {};
  if (fstat(fd, &info) != 0) return OpenError(path);
  if (S_ISDIR(info.st_mode)) return Status::IoError(path + ": is a directory");
  if (S_ISREG(info.st_mode) && lseek(fd, 0, SEEK_CUR) == 0) {
    input->raw_total_ = static_cast<uint64_t>(info.st_size);
    input->size_ = input->raw_total_;
    input->fd_ = fd;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  EDO_RETURN_IF_ERROR(input->DetectCompression());
  return input;
}

Result<std::unique_ptr<Input>> Input::FromMemory(std::string name, std::string_view bytes) {
  auto input = std::unique_ptr<Input>(new Input);
  input->path_ = name;
  input->name_ = std::move(name);
  input->source_ = MakeMemorySource(bytes);
  input->memory_ = bytes;
  input->raw_total_ = bytes.size();
  input->size_ = bytes.size();
  EDO_RETURN_IF_ERROR(input->DetectCompression());
  return input;
}

Result<std::unique_ptr<Input>> Input::Decompress(std::unique_ptr<Input> inner) {
  auto input = std::unique_ptr<Input>(new Input);
  input->name_ = inner->name_;
  input->path_ = inner->path_;
  input->compression_ = inner->compression_;
  input->raw_total_ = inner->raw_total_;
  input->plain_ = false;
  EDO_ASSIGN_OR_RETURN(
      input->source_,
      MakeZstdSource(std::make_unique<InputSource>(std::move(inner)), input->name_));
  return input;
}

std::unique_ptr<Input> Input::FromPart(Part part) {
  auto input = std::unique_ptr<Input>(new Input);
  input->name_ = std::move(part.name);
  input->path_ = std::move(part.path);
  input->compression_ = std::move(part.compression);
  input->source_ = std::move(part.source);
  input->size_ = part.bytes;
  input->raw_total_ = part.raw_bytes;
  input->plain_ = part.within != nullptr;
  input->within_ = std::move(part.within);
  input->within_offset_ = part.within_offset;
  return input;
}

// When the first bytes are those of gzip or zstd, the rest of this Input reads through a decoder.
Status Input::DetectCompression() {
  EDO_ASSIGN_OR_RETURN(const std::string_view start, Peek(4));
  const bool gzip = start.starts_with("\x1f\x8b");
  const bool zstd = start.starts_with("\x28\xb5\x2f\xfd");
  if (!gzip && !zstd) return Status::Ok();
  auto plain = std::unique_ptr<Input>(new Input);
  plain->name_ = name_;
  plain->source_ = std::move(source_);
  plain->buffer_ = std::move(buffer_);
  plain->capacity_ = std::exchange(capacity_, 0);
  plain->begin_ = std::exchange(begin_, 0);
  plain->end_ = std::exchange(end_, 0);
  plain->ended_ = std::exchange(ended_, false);
  auto inner = std::make_unique<InputSource>(std::move(plain));
  EDO_ASSIGN_OR_RETURN(source_, gzip ? MakeGzipSource(std::move(inner), name_)
                                     : MakeZstdSource(std::move(inner), name_));
  compression_ = gzip ? "gzip" : "zstd";
  plain_ = false;
  size_.reset();
  return Status::Ok();
}

void Input::Reserve(size_t bytes) {
  if (capacity_ - end_ >= bytes) return;
  const size_t held = end_ - begin_;
  if (capacity_ - held >= bytes) {
    memmove(buffer_.get(), buffer_.get() + begin_, held);
  } else {
    const size_t capacity = std::max(2 * held, held + 2 * bytes);
    auto buffer = std::make_unique_for_overwrite<char[]>(capacity + kPadding);
    if (held > 0) memcpy(buffer.get(), buffer_.get() + begin_, held);
    buffer_ = std::move(buffer);
    capacity_ = capacity;
  }
  begin_ = 0;
  end_ = held;
}

Result<bool> Input::More() {
  if (ended_) return false;
  size_t block = kBlockBytes;
  if (size_) {  // no large buffer for a small file; one that has grown since is still read on
    const uint64_t left = *size_ - std::min(*size_, offset_ + (end_ - begin_));
    block = std::clamp<uint64_t>(left, kSmallBlockBytes, kBlockBytes);
  }
  Reserve(block);
  EDO_ASSIGN_OR_RETURN(const size_t got, source_->Read(buffer_.get() + end_, block));
  end_ += got;
  ended_ = got == 0;
  memset(buffer_.get() + end_, 0, kPadding);
  return got > 0;
}

Result<std::string_view> Input::Peek(size_t bytes) {
  while (end_ - begin_ < bytes) {
    EDO_ASSIGN_OR_RETURN(const bool more, More());
    if (!more) break;
  }
  return window();
}

Result<size_t> Input::Read(void* to, size_t bytes) {
  char* out = static_cast<char*>(to);
  size_t done = std::min(bytes, end_ - begin_);
  if (done > 0) memcpy(out, buffer_.get() + begin_, done);
  Consume(done);
  while (done < bytes && !ended_) {  // the window is empty: straight into the caller's memory
    EDO_ASSIGN_OR_RETURN(const size_t got, source_->Read(out + done, bytes - done));
    ended_ = got == 0;
    done += got;
    offset_ += got;
  }
  return done;
}

Result<uint64_t> Input::Skip(uint64_t bytes) {
  uint64_t done = 0;
  while (done < bytes) {
    if (begin_ == end_) {
      EDO_ASSIGN_OR_RETURN(const bool more, More());
      if (!more) break;
    }
    const auto step = static_cast<size_t>(std::min<uint64_t>(bytes - done, end_ - begin_));
    Consume(step);
    done += step;
  }
  return done;
}

Result<size_t> Input::ReadAt(uint64_t offset, void* to, size_t bytes) const {
  if (within_) {
    if (offset >= *size_) return size_t{0};
    return within_->ReadAt(within_offset_ + offset, to, std::min<uint64_t>(bytes, *size_ - offset));
  }
  if (fd_ < 0) {
    if (offset >= memory_.size()) return size_t{0};
    const size_t count = std::min<uint64_t>(bytes, memory_.size() - offset);
    if (count > 0) memcpy(to, memory_.data() + offset, count);
    return count;
  }
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Status::IoError(name_ + " byte " + std::to_string(offset + done) +
                             ": cannot read: " + strerror(errno));
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace edo::storage
