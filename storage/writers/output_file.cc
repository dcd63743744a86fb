#include "storage/writers/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

namespace edo::storage {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A name beside `target` that no other writer of this or another process uses.
std::string TemporaryName(const std::string& target) {
  static std::atomic<uint64_t> counter{0};
  return target + ".tmp." + std::to_string(getpid()) + "." + std::to_string(counter++);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path, bool force) {
  auto file = std::unique_ptr<OutputFile>(new OutputFile(path, force));
  EDO_RETURN_IF_ERROR(file->Open());
  file->buffer_.reserve(kBufferBytes);
  return file;
}

Status OutputFile::Failed(std::string_view what, int error) const {
  std::string text = path_ == "-" ? "standard output" : path_;
  text.append(": ").append(what).append(": ").append(strerror(error));
  if (error == ENOSPC || error == EDQUOT) return Status::NoSpace(text);
  return Status::IoError(text);
}

Status OutputFile::Open() {
  if (path_ == "-") {
    fd_ = STDOUT_FILENO;
    return Status::Ok();
  }
  struct stat info {};
  target_ = path_;
  if (stat(path_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return Status::IoError(path_ + ": is a directory");
    if (!S_ISREG(info.st_mode)) {
      fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      return fd_ < 0 ? Failed("cannot open", errno) : Status::Ok();
    }
    if (!force_) return Status::AlreadyExists(path_ + ": the file exists");
    std::error_code ignored;
    const auto real = std::filesystem::canonical(path_, ignored);
    if (!ignored) target_ = real.string();
  } else if (errno != ENOENT) {
    return Failed("cannot create", errno);
  }
  for (;;) {
    temporary_ = TemporaryName(target_);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) return Status::Ok();
    if (errno == EEXIST) continue;  // left by a process of the same number that was killed
    temporary_.clear();
    return Failed("cannot create", errno);
  }
}

OutputFile::~OutputFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::WriteAll(const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t wrote = write(fd_, bytes, count);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Failed("cannot write", errno);
    bytes += wrote;
    count -= static_cast<size_t>(wrote);
  }
  return Status::Ok();
}

Status OutputFile::Append(std::string_view bytes) {
  bytes_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    EDO_RETURN_IF_ERROR(WriteAll(buffer_.data(), buffer_.size()));
    buffer_.clear();
    if (bytes.size() >= kBufferBytes) return WriteAll(bytes.data(), bytes.size());
  }
  buffer_.append(bytes);
  return Status::Ok();
}

Status OutputFile::Sync() {
  EDO_RETURN_IF_ERROR(WriteAll(buffer_.data(), buffer_.size()));
  buffer_.clear();
  // Pipes and devices cannot be synced, which is no error of ours.
  if (fsync(fd_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
    return Failed("cannot sync", errno);
  }
  if (fd_ == STDOUT_FILENO) return Status::Ok();
  const int fd = std::exchange(fd_, -1);
  return close(fd) == 0 ? Status::Ok() : Failed("cannot close", errno);
}

Status OutputFile::Commit() {
  if (temporary_.empty()) return Status::Ok();
  // Without force the name must still be free: a file made meanwhile is not overwritten.
  int result = -1;
  if (!force_) {
    result = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE);
    if (result != 0 && errno == EEXIST) return Status::AlreadyExists(path_ + ": the file exists");
  }
  if (result != 0) result = rename(temporary_.c_str(), target_.c_str());
  if (result != 0) return Failed("cannot rename", errno);
  temporary_.clear();
  const int directory = open(DirectoryOf(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return Status::Ok();
  const bool synced = fsync(directory) == 0 || errno == EINVAL;
  const int error = errno;
  close(directory);
  return synced ? Status::Ok() : Failed("cannot sync its directory", error);
}

Spool::~Spool() {
  if (fd_ >= 0) close(fd_);
}

Status Spool::Open(const std::string& beside) {
  std::error_code ignored;
  const std::string system = std::filesystem::temp_directory_path(ignored).string();
  struct stat info {};
  const bool regular = stat(beside.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  std::string name =
      (beside == "-" || !regular ? system : DirectoryOf(beside)) + "/edo_keys_XXXXXX";
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) return Status::IoError(name + ": cannot create: " + strerror(errno));
  unlink(name.c_str());
  return Status::Ok();
}

Status Spool::Flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t wrote = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const std::string text =
          std::string("a temporary file of keys: cannot write: ") + strerror(errno);
      return errno == ENOSPC ? Status::NoSpace(text) : Status::IoError(text);
    }
    done += static_cast<size_t>(wrote);
  }
  buffer_.clear();
  return Status::Ok();
}

Status Spool::Append(const void* bytes, size_t count) {
  buffer_.append(static_cast<const char*>(bytes), count);
  bytes_ += count;
  return buffer_.size() < kBufferBytes ? Status::Ok() : Flush();
}

Status Spool::CopyTo(OutputFile* output) {
  EDO_RETURN_IF_ERROR(Flush());
  std::string block(kBufferBytes, '\0');
  for (uint64_t at = 0; at < bytes_;) {
    const ssize_t got = pread(fd_, block.data(), block.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status::IoError("a temporary file of keys cannot be read back");
    EDO_RETURN_IF_ERROR(output->Append(block.data(), static_cast<size_t>(got)));
    at += static_cast<uint64_t>(got);
  }
  return Status::Ok();
}

}  // namespace edo::storage
