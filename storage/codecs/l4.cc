// L4 and L4+4: nibbles that name Lloyd-Max levels, nibbles that refine them, and one bfloat16
// scale; see docs/codecs.md, "L4" and "L4+4".
#include "storage/codecs/codecs.h"
#include "storage/codecs/row_codec.h"

namespace edo::storage {
namespace {

class L4Codec final : public RowCodec {
 public:
  L4Codec(const CodecSpec& spec, uint32_t dim) : RowCodec(spec, dim) {}

  Status Encode(const float* rows, size_t count, std::byte* codes,
                uint64_t* bad_value) const override {
    EDO_RETURN_IF_ERROR(Check(rows, count, bad_value));
    const auto encode =
        spec().kind == CodecKind::kL4 ? kernels::EncodeL4Row : kernels::EncodeL4Plus4Row;
    for (size_t i = 0; i < count; ++i) encode(rows + i * dim(), dim(), codes + i * row_bytes());
    return Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Codec> MakeL4Codec(const CodecSpec& spec, uint32_t dim) {
  return std::make_unique<L4Codec>(spec, dim);
}

}  // namespace edo::storage
