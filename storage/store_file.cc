#include "storage/store_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edo::storage {
namespace {

Status Errno(const std::string& what) {
  const int error = errno;
  const std::string message = what + ": " + std::strerror(error);
  return error == ENOSPC ? Status::NoSpace(message) : Status::IoError(message);
}

std::string ChecksumLine(std::string_view text) {
  char line[40];
  std::snprintf(line, sizeof line, "xxh3 %016llx\n",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return line;
}

// Takes "<word> <number>\n" from the front of `text`.
bool TakeNumber(std::string_view* text, std::string_view word, uint64_t* value) {
  if (!text->starts_with(word)) return false;
  const size_t end = text->find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view digits = text->substr(word.size(), end - word.size());
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
  if (error != std::errc() || stop != digits.data() + digits.size()) return false;
  text->remove_prefix(end + 1);
  return true;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status WriteAndSync(const std::string& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return Errno("cannot write " + path);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Errno("cannot write " + path);
  }
  if (::fsync(file.get()) != 0) return Errno("cannot sync " + path);
  return Status::Ok();
}

}  // namespace

std::string FormatStoreFile(const StoreFileContent& content) {
  std::string text = "edo store\nformat " + std::to_string(content.format) + "\ncommits " +
                     std::to_string(content.commits) + "\n";
  return text + ChecksumLine(text);
}

Result<StoreFileContent> ParseStoreFile(const std::string& text, const std::string& path) {
  std::string_view rest = text;
  uint64_t format = 0;
  uint64_t commits = 0;
  constexpr std::string_view kTitle = "edo store\n";
  if (!rest.starts_with(kTitle)) {
    return Status::Corruption(path + ": expected the line 'edo store', found other bytes");
  }
  rest.remove_prefix(kTitle.size());
  if (!TakeNumber(&rest, "format ", &format)) {
    return Status::Corruption(path + ": line 2: expected 'format N'");
  }
  // A newer version may have any form behind this line.
  if (format > kFormatVersion) {
    return Status::Unsupported(path + ": format version " + std::to_string(format) +
                               " is newer than this build reads (" +
                               std::to_string(kFormatVersion) + "); use a newer EDO");
  }
  if (!TakeNumber(&rest, "commits ", &commits)) {
    return Status::Corruption(path + ": line 3: expected 'commits N'");
  }
  const std::string_view body = std::string_view(text).substr(0, text.size() - rest.size());
  if (rest != ChecksumLine(body)) {
    return Status::Corruption(path + ": line 4: checksum does not match lines 1 to 3");
  }
  if (format != kFormatVersion) {
    return Status::Unsupported(path + ": format version " + std::to_string(format) +
                               " is not one this build reads (" + std::to_string(kFormatVersion) +
                               ")");
  }
  return StoreFileContent{static_cast<uint32_t>(format), commits};
}

bool StoreFileExists(const std::string& directory) {
  struct stat info;
  return ::stat((directory + "/" + kStoreFileName).c_str(), &info) == 0;
}

Result<StoreFileContent> ReadStoreFile(const std::string& directory) {
  const std::string path = directory + "/" + kStoreFileName;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return Status::NotFound("no store at '" + directory + "' (it holds no file named EDO)");
    }
    return Errno("cannot read " + path);
  }
  char buffer[4096];
  const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
  if (size < 0) return Errno("cannot read " + path);
  return ParseStoreFile(std::string(buffer, static_cast<size_t>(size)), path);
}

void RemoveStoreFileLeftover(const std::string& directory) {
  ::unlink((directory + "/" + kStoreFileName + ".tmp").c_str());
}

Status WriteStoreFile(const std::string& directory, const StoreFileContent& content) {
  const std::string path = directory + "/" + kStoreFileName;
  const std::string temporary = path + ".tmp";
  EDO_RETURN_IF_ERROR(WriteAndSync(temporary, FormatStoreFile(content)));
  if (::rename(temporary.c_str(), path.c_str()) != 0) return Errno("cannot rename " + temporary);
  const Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return Errno("cannot sync " + directory);
  return Status::Ok();
}

}  // namespace edo::storage
