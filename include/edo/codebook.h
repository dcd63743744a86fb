// Codebooks that were learned elsewhere: product quantisers of faiss and its like, as tables keep
// them.
//
//   auto book = edo::ReadCodebook(*edo::CodecSpec::Parse("PQ25x8"), "centroids.npy");
//   edo::ImportOptions options;
//   options.codec = edo::CodecSpec::Parse("PQ25x8").value();
//   options.codebook = std::move(*book);
//   // rows: a file of codes, taken over without decoding; without it rows are encoded
//   options.source = {.path = "codes.npy", .codes = options.codec};
//
// docs/codecs.md, "Codebooks of others", has formulas and measured errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "edo/codec_spec.h"
#include "edo/status.h"

namespace edo {

struct Codebook {
  uint32_t parts = 0;  // sub-quantisers
  uint32_t ksub = 0;   // centroids of each: 16 or 256
  uint32_t width = 0;  // values of each: ceil(dim / parts)
  // (parts, ksub, width). The last part of a row may be shorter than `width`: its centroids are
  // padded with zeros.
  std::vector<float> centroids;
  // OPQ: (rotation_dim, rotation_dim), row by row; a row x is coded as the product matrix * x.
  uint32_t rotation_dim = 0;
  std::vector<float> rotation;

  // Of rows without padding; with a rotation, its own.
  uint32_t dim() const { return rotation_dim != 0 ? rotation_dim : parts * width; }
};

// Reads .npy arrays of f16, f32 or f64, also compressed: `centroids` of shape (m, 2^b, width) for
// PQ{m}x{b}, `rotation` of shape (dim, dim) for OPQ; empty: none. What does not fit `codec` is
// kInvalidArgument (an array too many or too few) or kBadInput naming the file, with found and
// expected.
Result<Codebook> ReadCodebook(const CodecSpec& codec, const std::string& centroids,
                              const std::string& rotation = "");

// The book as TableOptions::learned takes it: centroids rounded to bfloat16, so that a value that
// the book's own decoder gives as v is decoded within 2^-8 |v| of it (denormals: 2^-134), and
// exactly when the centroids are bfloat16 already; behind a rotation the norm of a row's error is
// within about 2^-8 of the row's norm.
// kInvalidArgument: a codec without a codebook; kBadInput: the book does not fit the codec or dim,
// holds values that are not finite or beyond bfloat16, padding that is not zero, or a matrix that
// is no rotation; kUnsupported: a rotation that turns columns together which the codec turns apart
// (dims above 512).
Result<std::vector<std::byte>> MakeLearned(const CodecSpec& codec, uint32_t dim,
                                           const Codebook& book);

}  // namespace edo
