// BF16: values as bfloat16, the upper half of binary32, rounded to nearest even.
#include "storage/codecs/codecs.h"
#include "storage/codecs/row_codec.h"

namespace edo::storage {
namespace {

class BF16Codec final : public RowCodec {
 public:
  BF16Codec(const CodecSpec& spec, uint32_t dim) : RowCodec(spec, dim) {}

  // Infinities and NaN are kept as such; a finite value must not become one of them.
  Status Encode(const float* rows, size_t count, std::byte* codes,
                uint64_t* bad_value) const override {
    EDO_RETURN_IF_ERROR(Check(rows, count, bad_value));
    kernels::EncodeBF16(rows, count * dim(), codes);
    return Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Codec> MakeBF16Codec(const CodecSpec& spec, uint32_t dim) {
  return std::make_unique<BF16Codec>(spec, dim);
}

}  // namespace edo::storage
