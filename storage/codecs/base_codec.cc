// The L4 half of L4+4 and P,L4+4: rows that are read without what refines them; see docs/codecs.md,
// "L4+4".
#include "storage/codecs/codecs.h"
#include "storage/codecs/row_codec.h"

namespace edo::storage {
namespace {

CodecSpec HalfOf(CodecSpec spec) {
  spec.kind = CodecKind::kL4;
  return spec;
}

class BaseCodec final : public RowCodec {
 public:
  explicit BaseCodec(const Codec& refined)
      : RowCodec(HalfOf(refined.spec()), kernels::BaseOf(refined.row_format()), refined.learned()) {
  }

  Status Encode(const float*, size_t, std::byte*, uint64_t*) const override {
    return Status::Unsupported("the half of a codec does not encode");
  }
};

}  // namespace

std::unique_ptr<Codec> MakeBaseCodec(const Codec& refined) {
  return std::make_unique<BaseCodec>(refined);
}

}  // namespace edo::storage
