#include "engine/row_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace edo::engine {
namespace {

Status FileError(const std::string& what, const std::string& path, int error) {
  return Status(error == ENOSPC || error == EDQUOT ? StatusCode::kNoSpace : StatusCode::kIoError,
                what + " " + path + ": " + std::strerror(error));
}

}  // namespace

RowSpool::RowSpool(std::string path, uint32_t dim, uint64_t sample_rows, uint64_t memory_bytes)
    : path_(std::move(path)), dim_(dim), memory_bytes_(memory_bytes), sample_(dim, sample_rows) {}

RowSpool::~RowSpool() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(path_.c_str());
}

Status RowSpool::Append(std::span<const float> rows) {
  sample_.Offer(rows);
  rows_ += rows.size() / dim_;
  buffer_.insert(buffer_.end(), rows.begin(), rows.end());
  return buffer_.size() * sizeof(float) > memory_bytes_ ? Spill() : Status::Ok();
}

Status RowSpool::Spill() {
  if (file_ < 0) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file_ < 0) return FileError("cannot make", path_, errno);
  }
  const char* from = reinterpret_cast<const char*>(buffer_.data());
  for (size_t left = buffer_.size() * sizeof(float); left > 0;) {
    const ssize_t written = ::write(file_, from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("cannot write", path_, errno);
    from += written;
    left -= static_cast<size_t>(written);
  }
  buffer_.clear();
  return Status::Ok();
}

Status RowSpool::ForEach(const std::function<Status(std::span<const float> rows)>& each) {
  if (file_ < 0) return each(buffer_);
  if (!buffer_.empty()) EDO_RETURN_IF_ERROR(Spill());
  if (::lseek(file_, 0, SEEK_SET) < 0) return FileError("cannot read back", path_, errno);
  const uint64_t at_once = std::max<uint64_t>(1, (8 << 20) / (uint64_t{dim_} * sizeof(float)));
  for (uint64_t done = 0; done < rows_;) {
    const uint64_t rows = std::min(at_once, rows_ - done);
    buffer_.resize(rows * dim_);
    char* to = reinterpret_cast<char*>(buffer_.data());
    for (size_t left = buffer_.size() * sizeof(float); left > 0;) {
      const ssize_t got = ::read(file_, to, left);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileError("cannot read back", path_, errno);
      if (got == 0) return Status::IoError(path_ + " ends before the rows written to it");
      to += got;
      left -= static_cast<size_t>(got);
    }
    EDO_RETURN_IF_ERROR(each(buffer_));
    done += rows;
  }
  buffer_.clear();
  return Status::Ok();
}

}  // namespace edo::engine
