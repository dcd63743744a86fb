// Body of ReportFile.
#include "tools/report_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace edo::tools {

Status ReportFile::Failed(int error) const {
  return Status::IoError(std::string(option_) + ": '" + path_ + "': " + std::strerror(error));
}

Result<std::unique_ptr<ReportFile>> ReportFile::Open(const char* option, const std::string& path,
                                                     bool force) {
  std::unique_ptr<ReportFile> report(new ReportFile(option, path));
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::regular && !force) {
    return Status::AlreadyExists(std::string(option) + ": '" + path +
                                 "' exists; --force overwrites it");
  }
  const bool by_rename =
      kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  if (by_rename) report->temporary_ = path + ".tmp." + std::to_string(::getpid());
  report->file_.reset(std::fopen((by_rename ? report->temporary_ : path).c_str(), "we"));
  if (report->file_ != nullptr) return report;
  const int reason = errno;
  report->temporary_.clear();
  return report->Failed(reason);
}

void ReportFile::Write(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), file_.get());  // errors stay in ferror until Close
}

ReportFile::~ReportFile() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

Status ReportFile::Close(bool keep) {
  if (file_ == nullptr) return Status::Ok();
  bool bad = std::ferror(file_.get()) != 0 || std::fflush(file_.get()) != 0;
  if (!bad && keep && !temporary_.empty()) bad = fsync(fileno(file_.get())) != 0;
  int error = errno;
  file_.reset();
  if (keep && !bad && !temporary_.empty()) {
    bad = std::rename(temporary_.c_str(), path_.c_str()) != 0;
    error = errno;
    if (!bad) temporary_.clear();
  }
  return bad ? Failed(error) : Status::Ok();
}

}  // namespace edo::tools
