// Writer of JSONL: {"id": ..., "vector": [...]} a line. Keys that are not UTF-8 go as base64 under
// "id_base64"; non-finite values go as the strings "nan", "-nan", "inf", "-inf".
#include <cmath>

#include "storage/readers/base64.h"
#include "storage/readers/utf8.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

void AppendJsonString(std::string_view text, std::string* to) {
  to->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to->append(1, '\\').append(1, c);
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      to->append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      to->push_back(c);
    }
  }
  to->push_back('"');
}

class JsonlWriter final : public WriterBase {
 public:
  explicit JsonlWriter(const TargetInfo& target) : WriterBase(target) {}

 protected:
  Status CheckTarget() const override {
    if (target_.rows > 0) return Status::Ok();
    return Status::BadInput("table '" + target_.table +
                            "' has 0 rows: jsonl has no place to keep "
                            "its dimension in (formats word2vec, npy and csv have)");
  }

  Status WriteRows(const RowBatch& batch) override {
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      line_.clear();
      AppendKey(KeyText(batch, i));
      line_.append(", \"vector\": [");
      for (uint32_t j = 0; j < batch.dim; ++j) {
        const float value = batch.row(i)[j];
        char text[32];
        const char* end = PrintFloat(value, text);
        if (j > 0) line_.append(", ");
        if (!std::isfinite(value)) line_.push_back('"');
        line_.append(text, static_cast<size_t>(end - text));
        if (!std::isfinite(value)) line_.push_back('"');
      }
      line_.append("]}\n");
      EDO_RETURN_IF_ERROR(output_->Append(line_));
    }
    return Status::Ok();
  }

 private:
  void AppendKey(std::string_view key) {
    if (target_.key_kind != KeyKind::kText) {
      line_.append("{\"id\": ").append(key);
    } else if (FirstInvalidUtf8(key) == std::string_view::npos) {
      line_.append("{\"id\": ");
      AppendJsonString(key, &line_);
    } else {
      line_.append("{\"id_base64\": \"").append(EncodeBase64(key)).append("\"");
    }
  }

  std::string line_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeJsonlWriter(const TargetInfo& target) {
  return std::make_unique<JsonlWriter>(target);
}

}  // namespace edo::storage
