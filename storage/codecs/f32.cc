// F32: values as they are, 4 bytes each; NaN payloads and infinities included.
#include <cstring>

#include "storage/codecs/codecs.h"
#include "storage/codecs/row_codec.h"

namespace edo::storage {
namespace {

class F32Codec final : public RowCodec {
 public:
  F32Codec(const CodecSpec& spec, uint32_t dim) : RowCodec(spec, dim) {}

  Status Encode(const float* rows, size_t count, std::byte* codes, uint64_t*) const override {
    if (count != 0) std::memcpy(codes, rows, count * row_bytes());
    return Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Codec> MakeF32Codec(const CodecSpec& spec, uint32_t dim) {
  return std::make_unique<F32Codec>(spec, dim);
}

}  // namespace edo::storage
