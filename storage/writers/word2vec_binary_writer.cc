// Writer of word2vec's binary form, each row ended by a line feed as word2vec.c does.
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

class Word2vecBinaryWriter final : public WriterBase {
 public:
  explicit Word2vecBinaryWriter(const TargetInfo& target) : WriterBase(target) {}

 protected:
  std::string WhyNot(std::string_view key, uint64_t) const override {
    if (key.find(' ') != std::string_view::npos) return "holds a space, which ends a key there";
    if (key.starts_with('\n')) return "begins with a line feed, which readers skip";
    return "";
  }
  Status WriteHead() override {
    return output_->Append(std::to_string(target_.rows) + " " + std::to_string(target_.dim) + "\n");
  }
  Status WriteRows(const RowBatch& batch) override {
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      EDO_RETURN_IF_ERROR(output_->Append(KeyText(batch, i)));
      EDO_RETURN_IF_ERROR(output_->Append(" "));
      EDO_RETURN_IF_ERROR(output_->Append(batch.row(i), sizeof(float) * batch.dim));
      EDO_RETURN_IF_ERROR(output_->Append("\n"));
    }
    return Status::Ok();
  }
};

}  // namespace

std::unique_ptr<RowWriter> MakeWord2vecBinaryWriter(const TargetInfo& target) {
  return std::make_unique<Word2vecBinaryWriter>(target);
}

}  // namespace edo::storage
