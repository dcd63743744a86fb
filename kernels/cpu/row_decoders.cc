#include "kernels/codec_kernels.h"

namespace edo::kernels {

DecodeRowFunction RowDecoder(RowCodec codec, FloatType out_type) {
  switch (codec) {
    case RowCodec::kF32:
      return F32RowDecoder(out_type);
    case RowCodec::kF16:
      return F16RowDecoder(out_type);
    case RowCodec::kBF16:
      return BF16RowDecoder(out_type);
    case RowCodec::kInt8:
      break;
  }
  return Int8RowDecoder(out_type);
}

}  // namespace edo::kernels
