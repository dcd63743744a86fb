#include "storage/rocksdb_read_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace edo::storage {

void ReadPath::Note(const std::string& text) {
  const std::lock_guard lock(mutex);
  if (note.find(text) != std::string::npos) return;
  if (!note.empty()) note += "; ";
  note += text;
}

std::string ReadPath::note_text() const {
  const std::lock_guard lock(mutex);
  return note;
}

OpenFile::~OpenFile() { ::close(fd_); }

int OpenFiles::Open(const std::string& name, bool direct, std::shared_ptr<const OpenFile>* file) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(name);
  if (found != open_.end()) {
    *file = found->second.lock();
    const bool as_wished = *file && ((*file)->direct() == direct || path_->direct_refused);
    if (as_wished) return 0;
  }
  int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  if (fd < 0 && direct && errno == EINVAL) {
    path_->direct_refused = true;
    path_->Note("O_DIRECT refused by the file system, reads are buffered");
    direct = false;
    fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (fd < 0) return errno;
  if (direct) path_->direct_used = true;
  *file = std::make_shared<const OpenFile>(name, fd, direct);
  open_[name] = *file;
  if (open_.size() >= prune_at_) {
    std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = std::max<size_t>(64, 2 * open_.size());
  }
  return 0;
}

}  // namespace edo::storage
