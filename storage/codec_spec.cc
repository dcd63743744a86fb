// Bodies of edo/codec_spec.h.
#include "edo/codec_spec.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "edo/options.h"
#include "kernels/row_layout.h"
#include "storage/codecs/codecs.h"

namespace edo {
namespace {

struct PlainCodec {
  CodecKind kind;
  std::string_view name;
  bool takes_profile;
};
constexpr std::array kPlainCodecs{
    PlainCodec{CodecKind::kF32, "F32", false},     PlainCodec{CodecKind::kF16, "F16", false},
    PlainCodec{CodecKind::kBF16, "BF16", false},   PlainCodec{CodecKind::kInt8, "INT8", true},
    PlainCodec{CodecKind::kF8, "F8", false},       PlainCodec{CodecKind::kL4, "L4", true},
    PlainCodec{CodecKind::kL4Plus4, "L4+4", true},
};
constexpr std::string_view kKnown =
    "F32, F16, BF16, INT8, F8, L4, L4+4, P,INT8, P,L4, P,L4+4, PQ{m}x{b}, OPQ{m},PQ{m}x{b}, "
    "RQ{m}x{b}";

// A number without sign or leading zero at the front of *text, which is moved behind it; 0: none.
uint32_t TakeNumber(std::string_view* text) {
  uint32_t number = 0;
  if (text->empty() || text->front() == '0') return 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc()) return 0;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

// "{m}x{b}", whole.
bool TakeShape(std::string_view text, CodecSpec* spec) {
  spec->parts = TakeNumber(&text);
  if (spec->parts == 0 || !text.starts_with('x')) return false;
  text.remove_prefix(1);
  spec->bits = TakeNumber(&text);
  return spec->bits != 0 && text.empty();
}

bool ParseWord(std::string_view text, CodecSpec* spec) {
  spec->profile = text.starts_with("P,");
  if (spec->profile) text.remove_prefix(2);
  for (const PlainCodec& plain : kPlainCodecs) {
    if (plain.name != text) continue;
    spec->kind = plain.kind;
    return plain.takes_profile || !spec->profile;
  }
  if (spec->profile) return false;
  if (text.starts_with("RQ")) {
    spec->kind = CodecKind::kRQ;
    return TakeShape(text.substr(2), spec);
  }
  uint32_t rotated_parts = 0;
  if (text.starts_with("OPQ")) {
    spec->rotated = true;
    text.remove_prefix(3);
    rotated_parts = TakeNumber(&text);
    if (rotated_parts == 0 || !text.starts_with(',')) return false;
    text.remove_prefix(1);
  }
  if (!text.starts_with("PQ")) return false;
  spec->kind = CodecKind::kPQ;
  return TakeShape(text.substr(2), spec) && (!spec->rotated || rotated_parts == spec->parts);
}

}  // namespace

Result<CodecSpec> CodecSpec::Parse(std::string_view text) {
  CodecSpec spec;
  if (!ParseWord(text, &spec)) {
    return Status::InvalidArgument("codec '" + std::string(text) +
                                   "' is not known; known codecs: " + std::string(kKnown));
  }
  if (spec.parts != 0 && spec.bits != 4 && spec.bits != 8) {
    return Status::InvalidArgument("codec '" + std::string(text) + "': codes of " +
                                   std::to_string(spec.bits) + " bits; 4 and 8 are known");
  }
  if (spec.parts > kMaxDim) {
    return Status::InvalidArgument("codec '" + std::string(text) +
                                   "': " + std::to_string(spec.parts) + " codes a row; at most " +
                                   std::to_string(kMaxDim) + " are allowed");
  }
  return spec;
}

std::string CodecSpec::ToString() const {
  std::string text = profile ? "P," : "";
  for (const PlainCodec& plain : kPlainCodecs) {
    if (plain.kind == kind) return text.append(plain.name);
  }
  const std::string m = std::to_string(parts);
  if (kind == CodecKind::kRQ) return "RQ" + m + "x" + std::to_string(bits);
  if (rotated) text = "OPQ" + m + ",";
  return text + "PQ" + m + "x" + std::to_string(bits);
}

Status CodecSpec::Check(uint32_t dim) const {
  if (dim == 0 || dim > kMaxDim) {
    return Status::InvalidArgument("dim " + std::to_string(dim) + " is not within 1.." +
                                   std::to_string(kMaxDim));
  }
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidArgument("codec " + ToString() + " for rows of dim " +
                                   std::to_string(dim) + ": " + what);
  };
  if (kind == CodecKind::kPQ) {
    if (parts > dim) return wrong("more codes than values");
    const uint32_t width = (dim + parts - 1) / parts;
    const uint32_t filled = (dim + width - 1) / width;
    if (filled == parts) return Status::Ok();
    std::string near = std::to_string(filled);
    if (width > 1) near += " or " + std::to_string((dim + width - 2) / (width - 1));
    return wrong("sub-vectors of " + std::to_string(width) + " values fill only " +
                 std::to_string(filled) + " codes; m = " + near + " would do");
  }
  if (kind == CodecKind::kRQ && parts > storage::kMaxResidualStages) {
    return wrong("at most " + std::to_string(storage::kMaxResidualStages) +
                 " codes are searched; PQ has no such limit");
  }
  return Status::Ok();
}

uint64_t CodecSpec::RowBytes(uint32_t dim) const {
  return storage::FormatOf(*this, dim).row_bytes();
}

uint64_t CodecSpec::LearnedBytes(uint32_t dim) const {
  return storage::FormatOf(*this, dim).learned_bytes();
}

}  // namespace edo
