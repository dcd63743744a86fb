#include "storage/writers/keys_file.h"

#include "storage/writers/writer_base.h"

namespace edo::storage {

std::string WhyNotAKeyLine(std::string_view key, uint64_t row) {
  if (key.find('\n') != std::string_view::npos) return "holds a line feed";
  if (key.ends_with('\r')) return "ends in a carriage return";
  if (row == 0 && LooksForeign(std::string(key) + "\n")) {
    return "begins like a file of another kind, and would be the first bytes of the keys file";
  }
  return "";
}

Status WriteKeyLines(const RowBatch& batch, OutputFile* keys) {
  for (uint64_t i = 0; i < batch.row_count; ++i) {
    EDO_RETURN_IF_ERROR(keys->Append(batch.text_key(i)));
    EDO_RETURN_IF_ERROR(keys->Append("\n"));
  }
  return Status::Ok();
}

Status WriteKeyIds(const RowBatch& batch, OutputFile* keys) {
  return keys->Append(batch.int_keys.data(), batch.row_count * sizeof(int64_t));
}

std::string NpyHead(std::string_view descr, const std::string& shape) {
  std::string dict("{'descr': '");
  dict.append(descr).append("', 'fortran_order': False, 'shape': ").append(shape).append(", }");
  const size_t bytes = (10 + dict.size() + 1 + 63) / 64 * 64 - 10;
  dict.append(bytes - dict.size() - 1, ' ').append("\n");
  std::string head("\x93NUMPY\x01\x00", 8);
  AppendUnsigned(bytes, 2, &head);
  return head.append(dict);
}

}  // namespace edo::storage
