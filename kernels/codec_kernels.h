// Kernels of the codecs: arrays in, arrays out. They allocate nothing, hold
// no state and may run in any thread. Encoded and decoded bits are the same on every machine and
// equal to the formulas in float_convert.h, l4_levels.h and docs/codecs.md: a sum over a row goes
// over 16 interleaved partial sums (cpu/lanes16.h). Arrays of bytes may start anywhere; inputs and
// outputs must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "edo/options.h"
#include "kernels/row_format.h"

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

// One row of finite values to `dim` signed bytes and a bfloat16 scale, which may hold an offset
// (docs/codecs.md, "INT8").
void EncodeInt8Row(const float* row, uint32_t dim, std::byte* out);  // out: dim + 2 bytes
// The scale without an offset of a row whose largest magnitude is `max_magnitude` (finite), as
// bfloat16 bits.
uint16_t Int8ScaleBits(float max_magnitude);
// The smallest bfloat16 whose product with `largest_code` reaches `max_magnitude`, or the one below
// where that product would be infinite; as bits.
uint16_t ScaleBitsUp(float max_magnitude, float largest_code);

// One row of finite values to `dim` E4M3 bytes and a bfloat16 scale ("F8").
void EncodeF8Row(const float* row, uint32_t dim, std::byte* out);  // out: dim + 2 bytes

// Rows whose magnitudes are below this are taken by L4 and all codecs below.
inline constexpr uint32_t kL4OverflowBits = 0x7e800000u;  // 2^126

// What the encoders of L4 and L4+4 know of the profile of a table (docs/codecs.md, "Profile");
// arrays of (dim).
struct Profile {
  const float* mean = nullptr;
  const float* deviation = nullptr;  // > 0
  const float* inverse = nullptr;    // 1 / deviation
  const float* weight = nullptr;     // deviation^2
  const float* pull = nullptr;       // mean / deviation^2
  float mean_pull = 0;               // sum of mean * pull; 0: the profile has no mean
  float mean_square = 0;             // sum of mean^2
};

// One row of values below 2^126 to codes and side data.
void EncodeL4Row(const float* row, uint32_t dim, std::byte* out);
void EncodeL4Plus4Row(const float* row, uint32_t dim, std::byte* out);
// A row of L4+4 or P,L4+4, as on disk, without what refines it: a row of L4 or P,L4.
void DropL4Refinement(const RowFormat& format, const std::byte* row, std::byte* out);
// `scratch`: 3 * dim + 2 floats. profile.deviation follows profile.mean in memory, as in
// RowFormat::learned.
void EncodeProfileRow(RowCodec codec, const Profile& profile, const float* row, uint32_t dim,
                      float* scratch, std::byte* out);

// ---- product quantisers
// ---------------------------------------------------------------------------

// Centroids for the search of the nearest: `values` rows of `padded` values, value t of centroid j
// at [t * padded + j], then half their squared norms (+inf for those that only pad).
inline constexpr uint32_t PaddedCentroids(uint32_t count) { return (count + 15) / 16 * 16; }
inline size_t CentroidTableFloats(uint32_t count, uint32_t values) {
  return size_t{PaddedCentroids(count)} * (values + 1);
}
// `centroids`: (count, values). `table`: CentroidTableFloats, 64-byte aligned.
void FillCentroidTable(const float* centroids, uint32_t count, uint32_t values, float* table);
// The nearest centroid of each vector, the lowest of equals. Vectors are `values` floats, `stride`
// floats apart. `scores`, if not null: half the squared distance less half the vector's own square.
void NearestCentroids(const float* vectors, size_t count, size_t stride, uint32_t values,
                      const float* table, uint32_t centroids, uint32_t* nearest, float* scores);
// products[j] = vector . centroid j less half the centroid's square, for every centroid.
void CentroidProducts(const float* vector, uint32_t values, const float* table, uint32_t centroids,
                      float* products);

// Of values * up.
float ScaledSumOfSquares(const float* values, size_t count, float up);
float DotProduct(const float* a, const float* b, size_t count);
// out[i] = values[i] * factor; `out` may be `values`.
void Scale(const float* values, size_t count, float factor, float* out);
float LargestMagnitude(const float* values, size_t count);
// out[j] = sum over i of vector[i] * matrix[i * columns + j], i ascending. `vector`: (rows).
void VectorTimesMatrix(const float* vector, const float* matrix, uint32_t rows, uint32_t columns,
                       float* out);

// ---- decode
// --------------------------------------------------------------------------------------

// Decodes values [first, first + count) of a row to one output type. `codes`: where the row's codes
// begin - or would begin, when only those of these values are there (values that stand alone);
// `side`: its side data. `first` is even. Exact where the type allows, else nearest even; beyond
// the range of binary16 the result is infinity. A piece of a row decodes to the same bits as the
// whole.
using DecodeRowFunction = void (*)(const RowFormat& format, const std::byte* codes,
                                   const std::byte* side, uint32_t first, uint32_t count,
                                   std::byte* out);

// The decoder of a row codec.
DecodeRowFunction RowDecoder(RowCodec codec, FloatType out_type);

// Bodies of RowDecoder, one a file in cpu/.
DecodeRowFunction F32RowDecoder(FloatType out_type);
DecodeRowFunction F16RowDecoder(FloatType out_type);
DecodeRowFunction BF16RowDecoder(FloatType out_type);
DecodeRowFunction Int8RowDecoder(FloatType out_type);
DecodeRowFunction F8RowDecoder(FloatType out_type);
DecodeRowFunction L4RowDecoder(FloatType out_type);
DecodeRowFunction L4Plus4RowDecoder(FloatType out_type);
DecodeRowFunction ProfileRowDecoder(RowCodec codec, FloatType out_type);
DecodeRowFunction PQRowDecoder(FloatType out_type);
DecodeRowFunction RotatedPQRowDecoder(FloatType out_type);
DecodeRowFunction RQRowDecoder(FloatType out_type);

// Floats to another type: what a decoder that works in floats ends with.
void StoreFloats(const float* values, uint32_t count, FloatType type, std::byte* out);

}  // namespace edo::kernels
