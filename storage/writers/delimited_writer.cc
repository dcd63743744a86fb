// Writer of CSV (RFC 4180 quotes where a key needs them) and TSV (no quotes).
#include "storage/readers/number.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

class DelimitedWriter final : public WriterBase {
 public:
  explicit DelimitedWriter(const TargetInfo& target)
      : WriterBase(target), quotes_(target.format == "csv"), delimiter_(quotes_ ? ',' : '\t') {}

 protected:
  std::string WhyNot(std::string_view key, uint64_t row) const override {
    if (quotes_) return "";
    // Column numbers behind an empty first field are how some programs write a header.
    if (row == 0 && key.empty()) {
      return "is empty and in the first row, which could read back as a header line";
    }
    if (key.find_first_of("\t\n") != std::string_view::npos) return "holds a tab or a line feed";
    if (row == 0 && LooksForeign(std::string(key) + "\t0\n")) {
      return "begins like a file of another kind, and would be the first bytes of the file";
    }
    return "";
  }

  // Without rows a header keeps the dimension: key,v0,v1 ...
  Status WriteHead() override {
    if (target_.rows > 0) return Status::Ok();
    std::string line = "key";
    for (uint32_t i = 0; i < target_.dim; ++i) {
      line.append(1, delimiter_).append("v").append(std::to_string(i));
    }
    return output_->Append(line.append("\n"));
  }

  Status WriteRows(const RowBatch& batch) override {
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      line_.clear();
      AppendKey(KeyText(batch, i), first_row() + i);
      const size_t key_bytes = line_.size();
      line_.resize(key_bytes + size_t{batch.dim} * 33 + 1);
      char* to = line_.data() + key_bytes;
      for (uint32_t j = 0; j < batch.dim; ++j) {
        *to++ = delimiter_;
        to = PrintFloat(batch.row(i)[j], to);
      }
      *to++ = '\n';
      EDO_RETURN_IF_ERROR(output_->Append(line_.data(), static_cast<size_t>(to - line_.data())));
    }
    return Status::Ok();
  }

 private:
  // Quoted: what RFC 4180 asks for, spaces at the ends, an empty key, a text key that looks like an
  // integer, which a reader would else take for one, and semicolons: "a;0,5" has a decimal comma.
  bool NeedsQuotes(std::string_view key, uint64_t row) const {
    if (target_.key_kind != KeyKind::kText) return false;
    return key.empty() || key.find_first_of(",;\"\r\n") != std::string_view::npos ||
           std::string_view(" \t").find(key.front()) != std::string_view::npos ||
           std::string_view(" \t").find(key.back()) != std::string_view::npos ||
           IsCanonicalInt64(key) || (row == 0 && LooksForeign(std::string(key) + ",0\n"));
  }

  void AppendKey(std::string_view key, uint64_t row) {
    if (!quotes_ || !NeedsQuotes(key, row)) {
      line_.append(key);
      return;
    }
    line_.push_back('"');
    for (const char c : key) {
      if (c == '"') line_.push_back('"');
      line_.push_back(c);
    }
    line_.push_back('"');
  }

  const bool quotes_;
  const char delimiter_;
  std::string line_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeDelimitedWriter(const TargetInfo& target) {
  return std::make_unique<DelimitedWriter>(target);
}

}  // namespace edo::storage
