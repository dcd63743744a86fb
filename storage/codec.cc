// Codec::Make and what all codecs share.
#include "storage/codec.h"

#include <string>

#include "storage/codecs/codecs.h"

namespace edo::storage {

Result<std::unique_ptr<Codec>> Codec::Make(const CodecSpec& spec, uint32_t dim) {
  if (dim == 0 || dim > kMaxDim) {
    return Status::InvalidArgument("dim " + std::to_string(dim) + " is not within 1.." +
                                   std::to_string(kMaxDim));
  }
  switch (spec.kind) {
    case CodecKind::kF32:
      return MakeF32Codec(spec, dim);
    case CodecKind::kF16:
      return MakeF16Codec(spec, dim);
    case CodecKind::kBF16:
      return MakeBF16Codec(spec, dim);
    case CodecKind::kInt8:
      return MakeInt8Codec(spec, dim);
  }
  return Status::Unsupported("codec number " + std::to_string(static_cast<int>(spec.kind)) +
                             " is not one of this build");
}

Status Codec::Train(std::span<const float>) { return Status::Ok(); }

}  // namespace edo::storage
