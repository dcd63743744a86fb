// ReportFile: a file that a verb writes beside its output (--bad-rows, --html), under a temporary
// name until it is whole. Devices and pipes are written directly. One thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::tools {

class ReportFile {
 public:
  // `option` begins every message. kAlreadyExists when the file is there and `force` is not set.
  static Result<std::unique_ptr<ReportFile>> Open(const char* option, const std::string& path,
                                                  bool force);
  ~ReportFile();  // without Close: nothing stays
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  void Write(std::string_view bytes);  // errors show in Close
  // Writes out the file and, to keep it, gives it its name; kIoError when some of it was lost (full
  // disk). Not kept: an older file of that name stays as it was.
  Status Close(bool keep);

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  ReportFile(const char* option, std::string path) : option_(option), path_(std::move(path)) {}
  Status Failed(int error) const;

  const char* const option_;
  const std::string path_;
  std::string temporary_;  // renamed to path_ by Close; empty for devices and pipes
  std::unique_ptr<FILE, CloseFile> file_;
};

}  // namespace edo::tools
