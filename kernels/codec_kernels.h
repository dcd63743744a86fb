// Kernels of the codecs F32, F16, BF16 and INT8: arrays in, arrays out. They allocate nothing, hold
// no state and may run in any thread. Encoded and decoded bits are the same on every machine and
// equal to the formulas in float_convert.h and docs/codecs.md. Arrays of bytes may start anywhere;
// inputs and outputs must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "edo/options.h"
#include "kernels/row_layout.h"

namespace edo::kernels {

// ---- checks before encoding
// ----------------------------------------------------------------------

// Magnitudes are compared as the bits of |x|: binary32 orders them like unsigned numbers.
inline constexpr uint32_t kInfinityBits = 0x7f800000u;      // infinity; NaN lies above
inline constexpr uint32_t kMagnitudeEnd = 0x80000000u;      // one past the last NaN
inline constexpr uint32_t kF16OverflowBits = 0x477ff000u;   // 65520: rounds to infinity in binary16
inline constexpr uint32_t kBF16OverflowBits = 0x7f7f8000u;  // likewise in bfloat16 (3.396e38)

// Index of the first value whose magnitude bits lie in [low, high); `count` when there is none.
size_t FirstMagnitudeIn(const float* values, size_t count, uint32_t low, uint32_t high);

// ---- encode
// --------------------------------------------------------------------------------------

void EncodeF16(const float* values, size_t count, std::byte* out);   // out: (count) binary16
void EncodeBF16(const float* values, size_t count, std::byte* out);  // out: (count) bfloat16

// One row of finite values to `dim` signed bytes and a bfloat16 scale (docs/codecs.md, "INT8").
void EncodeInt8Row(const float* row, uint32_t dim, std::byte* out);  // out: dim + 2 bytes

// The scale of a row whose largest magnitude is `max_magnitude` (finite), as bfloat16 bits.
uint16_t Int8ScaleBits(float max_magnitude);

// ---- decode
// --------------------------------------------------------------------------------------

// Decodes the first `count` values of `codes` to one output type; `side` is the row's side data
// (INT8: its scale; the others have none and do not look). Exact where the type allows, else
// nearest even; beyond the range of binary16 the result is infinity. Values stand alone: a piece of
// a row decodes to the same bits as the whole.
using DecodeRowFunction = void (*)(const std::byte* codes, const std::byte* side, uint32_t count,
                                   std::byte* out);

DecodeRowFunction F32RowDecoder(FloatType out_type);
DecodeRowFunction F16RowDecoder(FloatType out_type);
DecodeRowFunction BF16RowDecoder(FloatType out_type);
DecodeRowFunction Int8RowDecoder(FloatType out_type);
// The decoder of a row format.
DecodeRowFunction RowDecoder(RowCodec codec, FloatType out_type);

}  // namespace edo::kernels
