// F8: a row is `dim` E4M3 bytes and one bfloat16 scale; see docs/codecs.md, "F8".
#include "storage/codecs/codecs.h"
#include "storage/codecs/row_codec.h"

namespace edo::storage {
namespace {

class F8Codec final : public RowCodec {
 public:
  F8Codec(const CodecSpec& spec, uint32_t dim) : RowCodec(spec, dim) {}

  Status Encode(const float* rows, size_t count, std::byte* codes,
                uint64_t* bad_value) const override {
    EDO_RETURN_IF_ERROR(Check(rows, count, bad_value));
    for (size_t i = 0; i < count; ++i) {
      kernels::EncodeF8Row(rows + i * dim(), dim(), codes + i * row_bytes());
    }
    return Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Codec> MakeF8Codec(const CodecSpec& spec, uint32_t dim) {
  return std::make_unique<F8Codec>(spec, dim);
}

}  // namespace edo::storage
