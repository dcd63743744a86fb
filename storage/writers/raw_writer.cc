// Writer of raw little-endian rows, with <path>.keys.txt or <path>.keys.i64 beside them.
#include "storage/writers/keys_file.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

class RawWriter final : public WriterBase {
 public:
  explicit RawWriter(const TargetInfo& target) : WriterBase(target) {}

 protected:
  std::string WhyNot(std::string_view key, uint64_t row) const override {
    return WhyNotAKeyLine(key, row);
  }
  std::string KeysPath() const override {
    if (target_.key_kind == KeyKind::kDense) return "";
    if (target_.path == "-") return "-";
    return target_.path + (target_.key_kind == KeyKind::kText ? ".keys.txt" : ".keys.i64");
  }
  Status WriteRows(const RowBatch& batch) override {
    EDO_ASSIGN_OR_RETURN(const std::string_view values,
                         EncodeValues(batch, target_.dtype, first_row(), &scratch_));
    EDO_RETURN_IF_ERROR(output_->Append(values));
    if (target_.key_kind == KeyKind::kText) return WriteKeyLines(batch, keys_.get());
    if (target_.key_kind == KeyKind::kInt64) return WriteKeyIds(batch, keys_.get());
    return Status::Ok();
  }

 private:
  std::string scratch_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeRawWriter(const TargetInfo& target) {
  return std::make_unique<RawWriter>(target);
}

}  // namespace edo::storage
