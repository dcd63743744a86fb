// ImportNotes: collects what a lenient import skipped or changed: the first lines for the terminal,
// more for --json, and all of them for --bad-rows FILE. One thread (the import's calling thread).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edo/transfer.h"
#include "tools/console.h"
#include "tools/json_writer.h"
#include "tools/report_file.h"

namespace edo::tools {

class ImportNotes {
 public:
  // Makes `path` (empty = none); kAlreadyExists when it is there and `force` is not set.
  static Result<std::unique_ptr<ImportNotes>> Open(const std::string& path, bool force);

  void Add(const ImportNote& note);
  // Writes out the file and, to keep it, gives it its name; kIoError when some of it was lost (full
  // disk). Not kept: an older file of that name stays as it was.
  Status Close(bool keep);

  uint64_t total() const { return total_; }
  void Print(const Console& console) const;  // the first few, a line each
  void WriteJson(JsonWriter* json) const;    // "notes": [...], "notes_total": n

 private:
  explicit ImportNotes(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::unique_ptr<ReportFile> file_;  // null without a path
  std::vector<ImportNote> first_;
  uint64_t total_ = 0;
};

}  // namespace edo::tools
