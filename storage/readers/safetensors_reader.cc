// Reader of one 2-D tensor of a safetensors file. EDO's own exports bring their keys along.
#include <map>

#include "storage/readers/keyed_reader.h"
#include "storage/readers/matrix_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/readers.h"
#include "storage/readers/safetensors_header.h"

namespace edo::storage {
namespace {

std::optional<ElementType> TypeOf(const std::string& dtype) {
  static const std::map<std::string, ElementType> kTypes{
      {"F32", ElementType::kF32},        {"F16", ElementType::kF16},
      {"BF16", ElementType::kBF16},      {"F64", ElementType::kF64},
      {"I8", ElementType::kI8},          {"U8", ElementType::kU8},
      {"F8_E4M3", ElementType::kF8E4M3}, {"F8_E5M2", ElementType::kF8E5M2}};
  const auto known = kTypes.find(dtype);
  if (known == kTypes.end()) return std::nullopt;
  return known->second;
}

std::string ListTensors(const SafetensorsHeader& header) {
  std::string list;
  for (const auto& tensor : header.tensors) {
    list +=
        (list.empty() ? "" : ", ") + tensor.name + " " + tensor.dtype + " " + tensor.ShapeText();
    if (list.size() > 2000) return list + " ...";
  }
  return list.empty() ? "none" : list;
}

bool HasOwnKeys(const SafetensorsHeader& header) {
  return header.Find("embeddings") != nullptr &&
         (header.Find("keys") != nullptr ||
          (header.Find("keys_bytes") != nullptr && header.Find("keys_offsets") != nullptr));
}

Result<const SafetensorsTensor*> Choose(const std::string& name, const SafetensorsHeader& header,
                                        const std::string& wanted) {
  if (!wanted.empty()) {
    const SafetensorsTensor* tensor = header.Find(wanted);
    if (tensor != nullptr) return tensor;
    return Status::NotFound(name + ": no tensor " + Quote(wanted) + "; it holds " +
                            ListTensors(header));
  }
  if (HasOwnKeys(header)) return header.Find("embeddings");
  const SafetensorsTensor* only = header.tensors.size() == 1 ? &header.tensors[0] : nullptr;
  size_t candidates = only != nullptr ? 1 : 0;
  for (const auto& tensor : header.tensors) {
    if (only == &tensor || tensor.shape.size() != 2 || !TypeOf(tensor.dtype)) continue;
    only = &tensor;
    ++candidates;
  }
  if (candidates == 1) return only;
  return Status::BadInput(name + ": " +
                          (candidates == 0 ? "no 2-D tensor of floats"
                                           : "several tensors could be the table; name one (--tensor)") +
                          ". It holds " + ListTensors(header));
}

Status CheckTensor(const std::string& name, const SafetensorsTensor& tensor) {
  const std::string what = "tensor '" + tensor.name + "': ";
  if (!TypeOf(tensor.dtype)) {
    return Status::Unsupported(name + " byte 8: " + what + "dtype " + tensor.dtype +
                               " cannot be read (F32 F16 BF16 F64 F8_E4M3 F8_E5M2 I8 U8 can)");
  }
  if (tensor.shape.size() != 2) {
    return BadByte(name, 8, what + "shape " + tensor.ShapeText() + "; a table is 2-D");
  }
  if (tensor.shape[1] == 0)
    return BadByte(name, 8, what + "dimension 0: shape " + tensor.ShapeText());
  if (tensor.shape[1] > kMaxDim || tensor.shape[0] > kMaxRows) {
    return BadByte(name, 8,
                   what + "shape " + tensor.ShapeText() + " is beyond " + std::to_string(kMaxRows) +
                       " rows of " + std::to_string(kMaxDim));
  }
  return Status::Ok();
}

}  // namespace

OpenedReader OpenSafetensorsReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  if (!input->seekable()) {
    return Status::Unsupported(input->name() +
                               ": safetensors needs a seekable file, not a pipe or "
                               "compressed data");
  }
  EDO_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(*input));
  EDO_ASSIGN_OR_RETURN(const SafetensorsTensor* tensor,
                       Choose(input->name(), header, options.tensor));
  EDO_RETURN_IF_ERROR(CheckTensor(input->name(), *tensor));
  MatrixLayout layout;
  layout.type = *TypeOf(tensor->dtype);
  layout.rows = tensor->shape[0];
  layout.dim = static_cast<uint32_t>(tensor->shape[1]);
  layout.data_offset = header.data_offset + tensor->begin;
  layout.ends_file = false;
  SourceInfo info;
  info.format = "safetensors";
  info.metadata = header.metadata;
  for (const auto& each : header.tensors)
    info.tensors.push_back({each.name, each.dtype, each.shape});
  const bool own_keys = tensor->name == "embeddings" && HasOwnKeys(header) && options.keys.empty();
  const Input* bytes = input.get();
  EDO_ASSIGN_OR_RETURN(auto rows,
                       MatrixReader::Open(std::move(input), options, std::move(info), layout));
  if (!own_keys) return rows;
  EDO_ASSIGN_OR_RETURN(auto keys, OpenTensorKeys(bytes, header));
  if (!keys) return rows;
  return MakeKeyedReader(std::move(rows), std::move(keys), options);
}

}  // namespace edo::storage
