// Writer of safetensors: tensor "embeddings", and the keys as I64 "keys" or as U8 "keys_bytes" with
// I64 "keys_offsets" (rows + 1 of them). Keys are spooled, since they come behind the rows.
#include <nlohmann/json.hpp>

#include "storage/readers/messages.h"
#include "storage/readers/utf8.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

class SafetensorsWriter final : public WriterBase {
 public:
  explicit SafetensorsWriter(const TargetInfo& target) : WriterBase(target) {}

 protected:
  // Every key is checked before the file is made; that pass also tells how long the keys are,
  // which the header must say ahead of them.
  std::string WhyNot(std::string_view key, uint64_t) const override {
    key_bytes_ += key.size();
    return "";
  }

  Status CheckTarget() const override {
    for (const auto& [key, value] : target_.metadata) {
      if (FirstInvalidUtf8(key) != std::string_view::npos ||
          FirstInvalidUtf8(value) != std::string_view::npos) {
        return Status::BadInput("table '" + target_.table + "': metadata " + Quote(key) +
                                " is not UTF-8, which safetensors asks for");
      }
    }
    return Status::Ok();
  }

  Status WriteHead() override {
    // Places of the tensors: 8-byte elements first would need padding that the format forbids, so
    // each follows the one before it and readers cope with any alignment.
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!target_.metadata.empty()) {
      auto& metadata = header["__metadata__"] = nlohmann::ordered_json::object();
      for (const auto& [key, value] : target_.metadata) metadata[key] = value;
    }
    uint64_t at = 0;
    const auto add = [&](const char* name, const char* dtype, std::vector<uint64_t> shape,
                         uint64_t bytes) {
      header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
      at += bytes;
    };
    const char* dtype = target_.dtype == FloatType::kF32   ? "F32"
                        : target_.dtype == FloatType::kF16 ? "F16"
                                                           : "BF16";
    add("embeddings", dtype, {target_.rows, target_.dim},
        target_.rows * target_.dim * FloatTypeBytes(target_.dtype));
    if (target_.key_kind == KeyKind::kInt64) add("keys", "I64", {target_.rows}, 8 * target_.rows);
    if (target_.key_kind == KeyKind::kText) {
      add("keys_offsets", "I64", {target_.rows + 1}, 8 * (target_.rows + 1));
      add("keys_bytes", "U8", {key_bytes_}, key_bytes_);
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    std::string head;
    AppendUnsigned(text.size(), 8, &head);
    if (target_.key_kind != KeyKind::kDense) {
      EDO_RETURN_IF_ERROR(numbers_.Open(target_.path));
    }
    if (target_.key_kind == KeyKind::kText) {
      EDO_RETURN_IF_ERROR(bytes_.Open(target_.path));
      EDO_RETURN_IF_ERROR(AppendOffset());
    }
    return output_->Append(head.append(text));
  }

  Status WriteRows(const RowBatch& batch) override {
    EDO_ASSIGN_OR_RETURN(const std::string_view values,
                         EncodeValues(batch, target_.dtype, first_row(), &scratch_));
    EDO_RETURN_IF_ERROR(output_->Append(values));
    if (target_.key_kind == KeyKind::kInt64) {
      return numbers_.Append(batch.int_keys.data(), batch.row_count * sizeof(int64_t));
    }
    if (target_.key_kind == KeyKind::kDense) return Status::Ok();
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      const std::string_view key = batch.text_key(i);
      EDO_RETURN_IF_ERROR(bytes_.Append(key.data(), key.size()));
      EDO_RETURN_IF_ERROR(AppendOffset());
    }
    return Status::Ok();
  }

  Status WriteTail() override {
    if (target_.key_kind == KeyKind::kDense) return Status::Ok();
    EDO_RETURN_IF_ERROR(numbers_.CopyTo(output_.get()));
    if (target_.key_kind == KeyKind::kInt64) return Status::Ok();
    if (bytes_.bytes() != key_bytes_) {
      return Status::InvalidArgument(target_.path + ": the keys written are not those checked");
    }
    return bytes_.CopyTo(output_.get());
  }

 private:
  Status AppendOffset() {
    std::string offset;
    AppendUnsigned(bytes_.bytes(), 8, &offset);
    return numbers_.Append(offset.data(), offset.size());
  }

  mutable uint64_t key_bytes_ = 0;
  Spool numbers_, bytes_;  // ids or offsets; bytes of text keys
  std::string scratch_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeSafetensorsWriter(const TargetInfo& target) {
  return std::make_unique<SafetensorsWriter>(target);
}

}  // namespace edo::storage
