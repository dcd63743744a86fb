// Codec::Make, Codec::Learn and what all codecs share.
#include "storage/codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "kernels/codec_kernels.h"
#include "storage/codecs/codecs.h"

namespace edo::storage {
namespace {

kernels::RowCodec RowCodecOf(const CodecSpec& spec) {
  using kernels::RowCodec;
  switch (spec.kind) {
    case CodecKind::kF32:
      return RowCodec::kF32;
    case CodecKind::kF16:
      return RowCodec::kF16;
    case CodecKind::kBF16:
      return RowCodec::kBF16;
    case CodecKind::kInt8:
      return spec.profile ? RowCodec::kPInt8 : RowCodec::kInt8;
    case CodecKind::kF8:
      return RowCodec::kF8;
    case CodecKind::kL4:
      return spec.profile ? RowCodec::kPL4 : RowCodec::kL4;
    case CodecKind::kL4Plus4:
      return spec.profile ? RowCodec::kPL4Plus4 : RowCodec::kL4Plus4;
    case CodecKind::kPQ:
      return spec.rotated ? RowCodec::kRotatedPQ : RowCodec::kPQ;
    case CodecKind::kRQ:
      break;
  }
  return RowCodec::kRQ;
}

// What a codec learned are finite numbers, and deviations are above zero.
Status CheckLearned(const CodecSpec& spec, const kernels::RowFormat& format, Learned learned) {
  const auto wrong = [&](const std::string& what) {
    return Status::Corruption("what codec " + spec.ToString() + " learned: " + what);
  };
  if (learned.size() != format.learned_bytes()) {
    return wrong(std::to_string(learned.size()) + " bytes; rows of dim " +
                 std::to_string(format.full_dim) + " need " +
                 std::to_string(format.learned_bytes()));
  }
  const size_t floats = (format.has_profile() ? learned.size() : format.rotation_bytes()) / 4;
  for (size_t i = 0; i < floats; ++i) {
    float value;
    std::memcpy(&value, learned.data() + 4 * i, 4);
    const bool is_deviation = format.has_profile() && i >= format.full_dim;
    if (std::isfinite(value) && (value > 0 || !is_deviation)) continue;
    return wrong("value " + std::to_string(i) + " is " + std::to_string(value));
  }
  for (size_t at = 4 * floats; at < learned.size(); at += 2) {
    uint16_t bits;
    std::memcpy(&bits, learned.data() + at, 2);
    if ((bits & 0x7f80) != 0x7f80) continue;
    return wrong("a centroid holds a value that is not finite");
  }
  return Status::Ok();
}

}  // namespace

kernels::RowFormat FormatOf(const CodecSpec& spec, uint32_t dim) {
  return kernels::MakeRowFormat(RowCodecOf(spec), dim, spec.parts, spec.bits);
}

Codec::Codec(const CodecSpec& spec, uint32_t dim, Learned learned)
    : Codec(spec, FormatOf(spec, dim), learned) {}

Codec::Codec(const CodecSpec& spec, const kernels::RowFormat& format, Learned learned)
    : spec_(spec), learned_(learned.begin(), learned.end()), format_(format) {
  format_.learned = learned_.data();
}

std::unique_ptr<Codec> Codec::BaseOf(const Codec& refined) { return MakeBaseCodec(refined); }

Result<std::unique_ptr<Codec>> Codec::Make(const CodecSpec& spec, uint32_t dim, Learned learned,
                                           bool learned_elsewhere) {
  EDO_RETURN_IF_ERROR(spec.Check(dim));
  EDO_RETURN_IF_ERROR(CheckLearned(spec, FormatOf(spec, dim), learned));
  if (spec.profile) return MakeProfileCodec(spec, dim, learned);
  switch (spec.kind) {
    case CodecKind::kF32:
      return MakeF32Codec(spec, dim);
    case CodecKind::kF16:
      return MakeF16Codec(spec, dim);
    case CodecKind::kBF16:
      return MakeBF16Codec(spec, dim);
    case CodecKind::kInt8:
      return MakeInt8Codec(spec, dim);
    case CodecKind::kF8:
      return MakeF8Codec(spec, dim);
    case CodecKind::kL4:
    case CodecKind::kL4Plus4:
      return MakeL4Codec(spec, dim);
    case CodecKind::kPQ:
      return MakePQCodec(spec, dim, learned, learned_elsewhere);
    case CodecKind::kRQ:
      return MakeRQCodec(spec, dim, learned);
  }
  return Status::Unsupported("codec number " + std::to_string(static_cast<int>(spec.kind)) +
                             " is not one of this build");
}

std::vector<float> UnitRows(std::span<const float> rows, uint32_t dim) {
  std::vector<float> unit;
  unit.reserve(rows.size());
  for (size_t at = 0; at + dim <= rows.size(); at += dim) {
    double square = 0;
    for (uint32_t j = 0; j < dim; ++j) {
      square += static_cast<double>(rows[at + j]) * rows[at + j];
    }
    if (!(square > 0) || !std::isfinite(square)) continue;
    const double factor = 1 / std::sqrt(square / dim);
    for (uint32_t j = 0; j < dim; ++j) {
      unit.push_back(static_cast<float>(rows[at + j] * factor));
    }
  }
  return unit;
}

Result<std::vector<std::byte>> Codec::Learn(const CodecSpec& spec, uint32_t dim,
                                            std::span<const float> sample,
                                            const LearnOptions& options) {
  EDO_RETURN_IF_ERROR(spec.Check(dim));
  if (!spec.learns()) return LearnedBytes{};
  const size_t most = kMostLearningRows * dim;
  const std::vector<float> rows = UnitRows(sample.first(std::min(sample.size(), most)), dim);
  if (spec.profile) return LearnProfile(dim, rows);
  const kernels::RowFormat format = FormatOf(spec, dim);
  return spec.kind == CodecKind::kPQ ? LearnPQ(format, rows, options)
                                     : LearnRQ(format, rows, options);
}

}  // namespace edo::storage
