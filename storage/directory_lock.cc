#include "storage/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace edo::storage {

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Take(const std::string& directory,
                                                           int operation) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    const std::string what = "cannot open directory '" + directory + "': " + std::strerror(errno);
    return errno == ENOENT ? Status::NotFound(what) : Status::IoError(what);
  }
  std::unique_ptr<DirectoryLock> lock(new DirectoryLock(fd));
  if (::flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Status::Busy(operation == LOCK_EX
                              ? "store '" + directory + "' is in use by another writer"
                              : "store '" + directory +
                                    "' is being made or removed by another process");
    }
    if (errno != ENOLCK && errno != EINVAL && errno != ENOTSUP) {
      return Status::IoError("cannot lock '" + directory + "': " + std::strerror(errno));
    }
    // A file system without locks: RocksDB's lock file is all there is.
  }
  // The directory may have been removed, and made again, between open and lock.
  struct stat held = {}, named = {};
  if (::fstat(fd, &held) != 0 || ::stat(directory.c_str(), &named) != 0 ||
      held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
    return Status::NotFound("directory '" + directory + "' was removed by another process");
  }
  return lock;
}

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Shared(const std::string& directory) {
  return Take(directory, LOCK_SH);
}

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Alone(const std::string& directory) {
  return Take(directory, LOCK_EX);
}

DirectoryLock::~DirectoryLock() { ::close(fd_); }

Status DirectoryLock::Share() {
  if (::flock(fd_, LOCK_SH | LOCK_NB) == 0 || errno == ENOLCK || errno == EINVAL ||
      errno == ENOTSUP) {
    return Status::Ok();
  }
  // Turning a lock into a shared one lets go of it for a moment.
  return Status::Busy(std::string("another process took the store: ") + std::strerror(errno));
}

}  // namespace edo::storage
