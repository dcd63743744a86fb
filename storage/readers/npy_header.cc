#include "storage/readers/npy_header.h"

#include <charconv>
#include <cstring>

#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 20;

// Parser of the one Python literal that a header is: {'descr': ..., 'fortran_order': ..., ...}.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  bool Parse(NpyHeader* header) {
    bool descr = false, order = false, shape = false;
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string key;
      if (!String(&key) || !Take(':')) return false;
      if (key == "descr" && !descr) {
        descr = Descr(header);
        if (!descr) return false;
      } else if (key == "fortran_order" && !order) {
        order = Bool(&header->fortran_order);
        if (!order) return false;
      } else if (key == "shape" && !shape) {
        shape = Shape(&header->shape);
        if (!shape) return false;
      } else {
        return false;
      }
      if (!Take(',')) {
        if (!Take('}')) return false;
        break;
      }
    }
    Space();
    return descr && order && shape && at_ == text_.size();
  }

 private:
  void Space() {
    while (at_ < text_.size() && strchr(" \t\r\n", text_[at_]) && text_[at_] != 0) ++at_;
  }
  bool Take(char c) {
    Space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool String(std::string* value) {
    Space();
    if (at_ < text_.size() && (text_[at_] == 'u' || text_[at_] == 'b')) ++at_;  // Python 2
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    value->assign(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return true;
  }
  // A string, or for structured types a list, which is kept as text.
  bool Descr(NpyHeader* header) {
    Space();
    if (at_ >= text_.size() || text_[at_] != '[') return String(&header->descr);
    const size_t begin = at_;
    int depth = 0;
    do {
      if (at_ >= text_.size()) return false;
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        std::string ignored;
        if (!String(&ignored)) return false;
        continue;
      }
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      ++at_;
    } while (depth > 0);
    header->structured = true;
    header->descr.assign(text_.substr(begin, at_ - begin));
    return true;
  }
  bool Bool(bool* value) {
    Space();
    for (const bool truth : {true, false}) {
      const std::string_view word = truth ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        *value = truth;
        return true;
      }
    }
    return false;
  }
  bool Shape(std::vector<uint64_t>* shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      Space();
      uint64_t extent = 0;
      const char* end = text_.data() + text_.size();
      const auto result = std::from_chars(text_.data() + at_, end, extent);
      if (result.ec != std::errc() || shape->size() >= 64) return false;
      at_ = static_cast<size_t>(result.ptr - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2: 10L
      shape->push_back(extent);
      if (!Take(',')) {
        return Take(')');
      }
    }
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string NpyHeader::kind() const {
  const bool order = !descr.empty() && strchr("<>|=", descr[0]) != nullptr && descr[0] != 0;
  return descr.substr(order ? 1 : 0);
}

std::string NpyHeader::ShapeText() const {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

Result<NpyHeader> ReadNpyHeader(Input* input) {
  const std::string& name = input->name();
  EDO_ASSIGN_OR_RETURN(std::string_view start, input->Peek(12));
  if (!start.starts_with(std::string_view("\x93NUMPY").substr(0, start.size()))) {
    return BadByte(name, 0, "this is not a .npy file: it begins with " + Quote(start.substr(0, 8)));
  }
  if (start.size() < 10) {
    return BadByte(name, 0, "a file of " + Count(start.size(), "byte") + " is too short for .npy");
  }
  const auto byte = [&](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(start[i]));
  };
  const uint64_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return Status::Unsupported(name + " byte 6: .npy version " + std::to_string(major) + "." +
                               std::to_string(minor) + " is not known (1.0, 2.0 and 3.0 are)");
  }
  const uint64_t begin = major == 1 ? 10 : 12;
  if (start.size() < begin) {
    return BadByte(name, 0, "a file of " + Count(start.size(), "byte") + " is too short for .npy");
  }
  uint64_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  const auto size = input->size();
  if (size && length > *size - begin) {
    // A header that begins well and is cut reads better as that than as a wrong length.
    if (*size < 64 || length < 4096) {
      return BadByte(name, *size,
                     "the header ends at byte " + std::to_string(*size) + " of " +
                         std::to_string(begin + length));
    }
    return BadByte(name, 8,
                   "header length " + std::to_string(length) + " goes past the end of the file (" +
                       std::to_string(*size) + " bytes)");
  }
  if (length > kMaxHeaderBytes) {
    return BadByte(name, 8,
                   "a header of " + std::to_string(length) + " bytes; the most is " +
                       std::to_string(kMaxHeaderBytes));
  }
  EDO_ASSIGN_OR_RETURN(start, input->Peek(begin + length));
  if (start.size() < begin + length) {
    return BadByte(name, start.size(),
                   "the header ends at byte " + std::to_string(start.size()) + " of " +
                       std::to_string(begin + length));
  }
  NpyHeader header;
  header.data_offset = begin + length;
  const std::string_view text = start.substr(begin, length);
  if (!DictParser(text).Parse(&header)) {
    return BadByte(name, begin, "the header is not a .npy dictionary: " + Quote(text));
  }
  input->Consume(begin + length);
  return header;
}

}  // namespace edo::storage
