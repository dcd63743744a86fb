// Writer of .npy, with <stem>.keys.txt or <stem>.keys.npy beside it for a table with keys.
// bfloat16 has no NumPy name of its own: it goes as '<V2', as ml_dtypes writes it.
#include "storage/writers/keys_file.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

class NpyWriter final : public WriterBase {
 public:
  explicit NpyWriter(const TargetInfo& target) : WriterBase(target) {}

 protected:
  std::string WhyNot(std::string_view key, uint64_t row) const override {
    return WhyNotAKeyLine(key, row);
  }
  std::string KeysPath() const override {
    if (target_.key_kind == KeyKind::kDense) return "";
    if (target_.path == "-") return "-";
    std::string stem = target_.path;
    if (stem.ends_with(".npy")) stem.resize(stem.size() - 4);
    return stem + (target_.key_kind == KeyKind::kText ? ".keys.txt" : ".keys.npy");
  }
  Status WriteHead() override {
    const std::string_view descr = target_.dtype == FloatType::kF32   ? "<f4"
                                   : target_.dtype == FloatType::kF16 ? "<f2"
                                                                      : "<V2";
    const std::string rows = std::to_string(target_.rows);
    if (target_.key_kind == KeyKind::kInt64) {
      EDO_RETURN_IF_ERROR(keys_->Append(NpyHead("<i8", "(" + rows + ",)")));
    }
    return output_->Append(NpyHead(descr, "(" + rows + ", " + std::to_string(target_.dim) + ")"));
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

std::unique_ptr<RowWriter> MakeNpyWriter(const TargetInfo& target) {
  return std::make_unique<NpyWriter>(target);
}

}  // namespace edo::storage
