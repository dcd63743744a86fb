#include "storage/readers/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/readers/element_type.h"
#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMetadataName = "__metadata__";

// Bits of one element; nullopt for a type that is not in the format.
std::optional<uint32_t> ElementBits(std::string_view dtype) {
  static const std::map<std::string_view, uint32_t> kBits{
      {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64}};
  const auto found = kBits.find(dtype);
  if (found == kBits.end()) return std::nullopt;
  return found->second;
}

// Takes the header apart as it is parsed. Depth 1 holds tensor names, depth 2 their fields, depth 3
// the two arrays; anything else is refused, so nesting cannot go deep.
class HeaderSax final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderSax(SafetensorsHeader* header) : header_(header) {}
  const std::string& error() const { return error_; }
  size_t error_byte() const { return error_byte_; }

  bool null() override { return Fail("null has no place here"); }
  bool boolean(bool) override { return Fail("a boolean has no place here"); }
  bool number_integer(number_integer_t) override { return Fail("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return Fail("the number " + text + " is no byte count or extent");
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3 || in_metadata_) return Fail("a number has no place here");
    auto& list = field_ == "shape" ? tensor().shape : offsets_;
    if (list.size() >= 64) return Fail("tensor '" + name_ + "': a list is too long");
    list.push_back(value);
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_) {
      header_->metadata[field_] = value;
      return true;
    }
    if (depth_ != 2 || field_ != "dtype") return Fail("a string has no place here");
    tensor().dtype = value;
    return true;
  }
  bool binary(binary_t&) override { return Fail("binary data"); }
  bool start_object(size_t) override {
    if (depth_ >= 2) return Fail("nested too deeply");
    ++depth_;
    if (depth_ == 2) {
      in_metadata_ = name_ == kMetadataName;
      fields_.clear();
      offsets_.clear();
      if (!in_metadata_) header_->tensors.push_back({.name = name_});
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- != 2 || in_metadata_) return true;
    if (fields_.size() != 3) return Fail("tensor '" + name_ + "' needs dtype, shape, data_offsets");
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) {
      return Fail("tensor '" + name_ + "': data_offsets are not [begin, end]");
    }
    tensor().begin = offsets_[0];
    tensor().end = offsets_[1];
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || (field_ != "shape" && field_ != "data_offsets")) {
      return Fail(depth_ == 0 ? "a list, not an object" : "a list has no place here");
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) {
      name_ = value;
      if (!names_.emplace(value, true).second) {
        return Fail("a duplicate: tensor '" + value + "' appears twice");
      }
      return true;
    }
    field_ = value;
    if (!fields_.emplace(value, true).second) {
      return Fail("tensor '" + name_ + "': duplicate field '" + value + "'");
    }
    const bool known = field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
    return in_metadata_ || known || Fail("tensor '" + name_ + "': unknown field '" + value + "'");
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception& e) override {
    error_byte_ = byte;
    const std::string what = e.what();
    return Fail("not valid JSON: " + what.substr(what.find(']') + 2));
  }

 private:
  SafetensorsTensor& tensor() { return header_->tensors.back(); }
  bool Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
    return false;
  }

  SafetensorsHeader* const header_;
  std::map<std::string, bool> names_, fields_;
  std::vector<uint64_t> offsets_;
  std::string name_, field_, error_;
  size_t error_byte_ = 0;
  int depth_ = 0;
  bool in_metadata_ = false;
};

// Does dtype times shape give the bytes that the offsets give?
std::string CheckExtent(const SafetensorsTensor& tensor) {
  const auto bits = ElementBits(tensor.dtype);
  if (!bits) return "";  // refused when it is the one asked for
  uint64_t total = *bits;
  bool overflow = false;
  for (const uint64_t extent : tensor.shape) {
    overflow |= __builtin_mul_overflow(total, extent, &total);
  }
  for (const uint64_t extent : tensor.shape) {
    if (extent == 0) {
      total = 0;
      overflow = false;
    }
  }
  if (overflow)
    return "tensor '" + tensor.name + "': shape " + tensor.ShapeText() + " is too large";
  if (total % 8 == 0 && total / 8 == tensor.end - tensor.begin) return "";
  return "tensor '" + tensor.name + "': shape " + tensor.ShapeText() + " of " + tensor.dtype +
         " takes " + std::to_string(total / 8) + " bytes, data_offsets [" +
         std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + "] give " +
         std::to_string(tensor.end - tensor.begin);
}

Status CheckPlaces(const std::string& name, SafetensorsHeader* header, uint64_t data_bytes) {
  auto& tensors = header->tensors;
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t reached = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SafetensorsTensor& tensor = tensors[i];
    if (tensor.begin < reached) {
      return BadByte(name, 8,
                     "header: tensors '" + tensors[i - 1].name + "' and '" + tensor.name +
                         "' overlap: one ends at " + std::to_string(reached) +
                         ", the other begins at " + std::to_string(tensor.begin));
    }
    if (tensor.begin > reached) {
      return BadByte(name, 8,
                     "header: a hole in the data from " + std::to_string(reached) + " to " +
                         std::to_string(tensor.begin) + ", before tensor '" + tensor.name + "'");
    }
    if (const std::string why = CheckExtent(tensor); !why.empty()) {
      return BadByte(name, 8, "header: " + why);
    }
    reached = tensor.end;
    if (reached > data_bytes) {
      return BadByte(name, header->data_offset + data_bytes,
                     "the file is truncated: tensor '" + tensor.name + "' ends at byte " +
                         std::to_string(tensor.end) + " of the data, the file holds " +
                         std::to_string(data_bytes));
    }
  }
  if (reached != data_bytes) {
    return BadByte(name, header->data_offset + reached,
                   std::to_string(data_bytes - reached) + " bytes follow the last tensor");
  }
  return Status::Ok();
}

}  // namespace

std::string SafetensorsTensor::ShapeText() const {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

const SafetensorsTensor* SafetensorsHeader::Find(std::string_view name) const {
  for (const auto& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<SafetensorsHeader> ReadSafetensorsHeader(const Input& input) {
  const std::string& name = input.name();
  const uint64_t size = *input.size();
  std::byte length_bytes[8];
  if (size < 8) {
    return BadByte(name, 0, "a file of " + Count(size, "byte") + " is too short for safetensors");
  }
  EDO_ASSIGN_OR_RETURN(const size_t got, input.ReadAt(0, length_bytes, 8));
  const uint64_t length = got == 8 ? LoadUnsigned(length_bytes, 8, false) : 0;
  if (length > kMaxHeaderBytes || length > size - 8) {
    return BadByte(name, 0,
                   "the header length " + std::to_string(length) +
                       " goes past the end of the file (" + std::to_string(size) +
                       " bytes) or the limit of " + std::to_string(kMaxHeaderBytes));
  }
  if (length == 0) return BadByte(name, 0, "a header of 0 bytes");
  std::string text(length, '\0');
  EDO_ASSIGN_OR_RETURN(const size_t read, input.ReadAt(8, text.data(), length));
  if (read < length) return BadByte(name, 8 + read, "the file ends inside the header");
  SafetensorsHeader header;
  header.data_offset = 8 + length;
  HeaderSax sax(&header);
  if (!nlohmann::json::sax_parse(text, &sax)) {
    return BadByte(name, 8 + (sax.error_byte() > 0 ? sax.error_byte() - 1 : 0),
                   "header: " + sax.error());
  }
  EDO_RETURN_IF_ERROR(CheckPlaces(name, &header, size - header.data_offset));
  return header;
}

}  // namespace edo::storage
