// Body of ImportNotes.
#include "tools/import_notes.h"

#include "tools/text.h"

namespace edo::tools {
namespace {

constexpr size_t kPrinted = 10;  // lines on the terminal
constexpr size_t kKept = 1000;   // entries of --json; --bad-rows has no limit

const char* KindName(ImportNote::Kind kind) {
  switch (kind) {
    case ImportNote::Kind::kSkippedRow:
      return "skipped_row";
    case ImportNote::Kind::kChangedValue:
      return "changed_value";
    case ImportNote::Kind::kChangedKey:
      return "changed_key";
    case ImportNote::Kind::kDuplicate:
      return "duplicate";
  }
  return "other";
}

}  // namespace

Result<std::unique_ptr<ImportNotes>> ImportNotes::Open(const std::string& path, bool force) {
  std::unique_ptr<ImportNotes> notes(new ImportNotes(path));
  if (path.empty()) return notes;
  EDO_ASSIGN_OR_RETURN(notes->file_, ReportFile::Open("--bad-rows", path, force));
  return notes;
}

void ImportNotes::Add(const ImportNote& note) {
  ++total_;
  if (first_.size() < kKept) first_.push_back(note);
  if (file_ == nullptr) return;
  const std::string line = note.position_unit + "\t" + std::to_string(note.position) + "\t" +
                           KindName(note.kind) + "\t" + TsvField(note.key) + "\t" +
                           TsvField(note.what) + "\n";
  file_->Write(line);
}

Status ImportNotes::Close(bool keep) {
  return file_ == nullptr ? Status::Ok() : file_->Close(keep);
}

void ImportNotes::Print(const Console& console) const {
  for (size_t i = 0; i < first_.size() && i < kPrinted; ++i) {
    const ImportNote& note = first_[i];
    std::string line = "  " + note.position_unit + " " + std::to_string(note.position);
    if (!note.key.empty()) line += ", key '" + note.key + "'";
    console.Note(line + ": " + note.what);
  }
  if (total_ > kPrinted) {
    console.Note("  ... " + HumanCount(total_ - kPrinted) +
                 (path_.empty() ? " more (--bad-rows FILE lists all)" : " more in " + path_));
  }
}

void ImportNotes::WriteJson(JsonWriter* json) const {
  json->Field("notes_total", total_);
  json->Name("notes");
  json->BeginArray();
  for (const ImportNote& note : first_) {
    json->BeginObject();
    json->Field("kind", KindName(note.kind));
    json->Field("unit", note.position_unit);
    json->Field("position", note.position);
    json->Bytes("key", note.key);
    json->Field("what", note.what);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace edo::tools
