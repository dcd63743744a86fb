// Which values a codec refuses.
#include <charconv>
#include <cmath>
#include <string>

#include "kernels/codec_kernels.h"
#include "storage/codec.h"

namespace edo::storage {
namespace {

// Shortest decimals that read back to the same float; "inf" and "nan" with a sign where they have
// one.
std::string ValueText(float value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

// Magnitude bits [low, high) are refused; `rule` ends the message: "value 3 of 100, inf ..."
struct Refusal {
  uint32_t low, high;
  std::string rule;
};

Status Refuse(const Refusal& refusal, uint32_t dim, const float* rows, size_t count,
              uint64_t* bad_value) {
  const size_t total = count * dim;
  const size_t index = kernels::FirstMagnitudeIn(rows, total, refusal.low, refusal.high);
  if (index == total) return Status::Ok();
  if (bad_value != nullptr) *bad_value = index;
  return Status::BadInput("value " + std::to_string(index % dim + 1) + " of " +
                          std::to_string(dim) + ", " + ValueText(rows[index]) + " " + refusal.rule);
}

}  // namespace

Status Codec::CheckValues(const CodecSpec& spec, uint32_t dim, const float* rows, size_t count,
                          uint64_t* bad_value) {
  using namespace kernels;  // the names of magnitudes
  const auto refuse = [&](uint32_t low, uint32_t high, const std::string& rule) {
    return Refuse({low, high, rule}, dim, rows, count, bad_value);
  };
  const std::string name = spec.ToString();
  switch (spec.kind) {
    case CodecKind::kF32:
      return Status::Ok();
    case CodecKind::kF16:
      return refuse(kF16OverflowBits, kInfinityBits, "is beyond F16 (largest 65504)");
    case CodecKind::kBF16:
      return refuse(kBF16OverflowBits, kInfinityBits, "is beyond BF16 (largest 3.3895e38)");
    case CodecKind::kInt8:
    case CodecKind::kF8:
    case CodecKind::kL4:
    case CodecKind::kL4Plus4:
    case CodecKind::kPQ:
    case CodecKind::kRQ:
      break;
  }
  EDO_RETURN_IF_ERROR(
      refuse(kInfinityBits, kMagnitudeEnd, "is not finite; " + name + " holds finite values only"));
  const bool scales_from_maximum =
      (spec.kind == CodecKind::kInt8 || spec.kind == CodecKind::kF8) && !spec.profile;
  if (scales_from_maximum) return Status::Ok();
  return refuse(kL4OverflowBits, kInfinityBits,
                "is beyond the range of " + name + ", 8.5e37 (INT8 holds it)");
}

}  // namespace edo::storage
