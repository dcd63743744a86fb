// P,INT8, P,L4 and P,L4+4: rows from which the table's profile was taken out; see docs/codecs.md,
// "Profile".
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "storage/codecs/codecs.h"
#include "storage/codecs/row_codec.h"

namespace edo::storage {
namespace {

class ProfileCodec final : public RowCodec {
 public:
  ProfileCodec(const CodecSpec& spec, uint32_t dim, Learned learned)
      : RowCodec(spec, dim, learned), arrays_(size_t{5} * dim) {
    std::memcpy(arrays_.data(), learned.data(), learned.size());
    profile_.mean = arrays_.data();
    profile_.deviation = profile_.mean + dim;
    float* const inverse = arrays_.data() + size_t{2} * dim;
    float* const weight = inverse + dim;
    float* const pull = weight + dim;
    double mean_pull = 0, mean_square = 0;
    for (uint32_t j = 0; j < dim; ++j) {
      const double mean = profile_.mean[j];
      const double deviation = profile_.deviation[j];
      inverse[j] = static_cast<float>(1 / deviation);
      weight[j] = static_cast<float>(deviation * deviation);
      pull[j] = static_cast<float>(mean / (deviation * deviation));
      mean_pull += mean * pull[j];
      mean_square += mean * mean;
    }
    profile_.inverse = inverse;
    profile_.weight = weight;
    profile_.pull = pull;
    profile_.mean_pull = static_cast<float>(mean_pull);
    profile_.mean_square = static_cast<float>(mean_square);
  }

  Status Encode(const float* rows, size_t count, std::byte* codes,
                uint64_t* bad_value) const override {
    EDO_RETURN_IF_ERROR(Check(rows, count, bad_value));
    std::vector<float> scratch(size_t{3} * dim() + 2);
    for (size_t i = 0; i < count; ++i) {
      kernels::EncodeProfileRow(row_format().codec, profile_, rows + i * dim(), dim(),
                                scratch.data(), codes + i * row_bytes());
    }
    return Status::Ok();
  }

 private:
  std::vector<float> arrays_;
  kernels::Profile profile_;
};

}  // namespace

LearnedBytes LearnProfile(uint32_t dim, std::span<const float> unit_rows) {
  const size_t rows = unit_rows.size() / dim;
  std::vector<double> sum(dim), square(dim);
  for (size_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < dim; ++j) {
      const double x = unit_rows[i * dim + j];
      sum[j] += x;
      square[j] += x * x;
    }
  }
  const double n = static_cast<double>(std::max<size_t>(rows, 1));
  std::vector<double> deviation(dim);
  double largest = 0;
  for (uint32_t j = 0; j < dim; ++j) {
    const double mean = sum[j] / n;
    deviation[j] = std::sqrt(std::max(0.0, square[j] / n - mean * mean));
    largest = std::max(largest, deviation[j]);
  }
  // A column that was constant in the sample must still be able to hold another value.
  const double least = largest * 0x1p-12;
  LearnedBytes learned(size_t{8} * dim);
  for (uint32_t j = 0; j < dim; ++j) {
    const auto mean = static_cast<float>(sum[j] / n);
    const auto spread = largest > 0 ? static_cast<float>(std::max(deviation[j], least)) : 1.0f;
    std::memcpy(learned.data() + size_t{4} * j, &mean, 4);
    std::memcpy(learned.data() + size_t{4} * (dim + j), &spread, 4);
  }
  return learned;
}

std::unique_ptr<Codec> MakeProfileCodec(const CodecSpec& spec, uint32_t dim, Learned learned) {
  return std::make_unique<ProfileCodec>(spec, dim, learned);
}

}  // namespace edo::storage
