// Body of KeySource.
#include "tools/key_source.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace edo::tools {

Result<std::unique_ptr<KeySource>> KeySource::Open(std::vector<std::string> keys,
                                                   const std::string& path) {
  std::unique_ptr<KeySource> source(new KeySource(std::move(keys)));
  source->path_ = path;
  if (path == "-") {
    source->file_ = stdin;
  } else if (!path.empty()) {
    source->file_ = std::fopen(path.c_str(), "re");
    if (source->file_ == nullptr) {
      const StatusCode code = errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIoError;
      return Status(code, "--keys-from: '" + path + "': " + std::strerror(errno));
    }
  }
  return source;
}

KeySource::~KeySource() {
  if (file_ != nullptr && file_ != stdin) std::fclose(file_);
  std::free(line_);
}

Result<std::vector<std::string>> KeySource::Next(size_t most) {
  std::vector<std::string> batch;
  while (batch.size() < most && next_ < keys_.size()) batch.push_back(std::move(keys_[next_++]));
  given_ = batch.size();
  first_line_ = lines_ + 1;
  while (batch.size() < most && file_ != nullptr) {
    errno = 0;
    const ssize_t size = getline(&line_, &line_bytes_, file_);
    if (size < 0) {
      if (errno == EINTR) return Status::Cancelled("interrupted");
      if (std::ferror(file_)) {
        return Status::IoError("--keys-from: '" + path_ + "': " + std::strerror(errno));
      }
      break;
    }
    ++lines_;
    const size_t length = static_cast<size_t>(size);
    batch.emplace_back(line_, line_[length - 1] == '\n' ? length - 1 : length);
  }
  return batch;
}

std::string KeySource::PlaceOf(size_t i) const {
  if (i < given_) return {};
  return (path_ == "-" ? "standard input" : path_) + " line " +
         std::to_string(first_line_ + i - given_);
}

}  // namespace edo::tools
