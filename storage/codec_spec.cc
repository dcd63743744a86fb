// Bodies of edo/codec_spec.h.
#include "edo/codec_spec.h"

#include <array>

namespace edo {
namespace {

struct KnownCodec {
  CodecKind kind;
  std::string_view name;
  uint32_t value_bytes;  // bytes of one value's code
  uint32_t side_bytes;   // bytes a row beside the codes
};
constexpr std::array kKnownCodecs{
    KnownCodec{CodecKind::kF32, "F32", 4, 0},
    KnownCodec{CodecKind::kF16, "F16", 2, 0},
    KnownCodec{CodecKind::kBF16, "BF16", 2, 0},
    KnownCodec{CodecKind::kInt8, "INT8", 1, 2},
};

const KnownCodec& Known(CodecKind kind) {
  for (const KnownCodec& known : kKnownCodecs) {
    if (known.kind == kind) return known;
  }
  return kKnownCodecs[0];
}

}  // namespace

Result<CodecSpec> CodecSpec::Parse(std::string_view text) {
  std::string names;
  for (const KnownCodec& known : kKnownCodecs) {
    if (known.name == text) return CodecSpec{known.kind};
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return Status::InvalidArgument("codec '" + std::string(text) +
                                 "' is not known; known codecs: " + names);
}

std::string CodecSpec::ToString() const { return std::string(Known(kind).name); }

uint64_t CodecSpec::RowBytes(uint32_t dim) const {
  const KnownCodec& known = Known(kind);
  return uint64_t{dim} * known.value_bytes + known.side_bytes;
}

}  // namespace edo
