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
      return Int8RowDecoder(out_type);
    case RowCodec::kF8:
      return F8RowDecoder(out_type);
    case RowCodec::kL4:
      return L4RowDecoder(out_type);
    case RowCodec::kL4Plus4:
      return L4Plus4RowDecoder(out_type);
    case RowCodec::kPInt8:
    case RowCodec::kPL4:
    case RowCodec::kPL4Plus4:
      return ProfileRowDecoder(codec, out_type);
    case RowCodec::kPQ:
      return PQRowDecoder(out_type);
    case RowCodec::kRotatedPQ:
      return RotatedPQRowDecoder(out_type);
    case RowCodec::kRQ:
      break;
  }
  return RQRowDecoder(out_type);
}

}  // namespace edo::kernels
