// Writer of word2vec text, GloVe text and fastText .vec.
#include "storage/readers/text_fields.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

class TextWriter final : public WriterBase {
 public:
  explicit TextWriter(const TargetInfo& target)
      : WriterBase(target), header_(target.format != "glove") {}

 protected:
  std::string WhyNot(std::string_view key, uint64_t row) const override {
    if (const std::string why = WhyNotATextKey(key, target_.dim); !why.empty()) return why;
    if (!header_ && row == 0) {
      if (LooksForeign(std::string(key) + " 0\n")) {
        return "begins like a file of another kind, and would be the first bytes of the file";
      }
    }
    return "";
  }

  Status CheckTarget() const override {
    if (header_ || target_.rows > 0) return Status::Ok();
    return Status::BadInput("table '" + target_.table +
                            "' has 0 rows: glove text has no header to "
                            "keep its dimension in (format word2vec has)");
  }

  Status WriteHead() override {
    if (!header_) return Status::Ok();
    return output_->Append(std::to_string(target_.rows) + " " + std::to_string(target_.dim) + "\n");
  }

  Status WriteRows(const RowBatch& batch) override {
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      const std::string_view key = KeyText(batch, i);
      line_.resize(key.size() + size_t{batch.dim} * 33 + 1);
      char* to = line_.data();
      to += key.copy(to, key.size());
      for (uint32_t j = 0; j < batch.dim; ++j) {
        *to++ = ' ';
        to = PrintFloat(batch.row(i)[j], to);
      }
      *to++ = '\n';
      EDO_RETURN_IF_ERROR(output_->Append(line_.data(), static_cast<size_t>(to - line_.data())));
    }
    return Status::Ok();
  }

 private:
  const bool header_;
  std::string line_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeTextWriter(const TargetInfo& target) {
  return std::make_unique<TextWriter>(target);
}

}  // namespace edo::storage
