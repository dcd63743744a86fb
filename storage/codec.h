// Codec: turns rows of floats into codes and back, as a CodecSpec says. The engine knows this class
// only; one file in storage/codecs/ holds each kind (bytes and formulas: docs/codecs.md).
//
// A Codec belongs to one table's dim. After Make (and Train, for codecs that learn from the data)
// it does not change: every const method is safe from many threads at once and allocates nothing.
//
// A later codec (L4, PQ, ...) adds a CodecKind and its spec in codec_spec.cc, a class here in
// codecs/ and a line in Codec::Make. One that learns (levels, codebooks) overrides Train, keeps
// what it learned as bytes that the table stores beside its rows, and is made again from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "edo/codec_spec.h"
#include "edo/options.h"
#include "edo/status.h"
#include "kernels/row_layout.h"

namespace edo::storage {

// Where decoded rows go: row i at `out` + i * stride values of `type`.
struct DecodeTarget {
  void* out = nullptr;
  FloatType type = FloatType::kF32;
  uint64_t stride = 0;  // values from one row to the next; 0 = as many as are decoded
  uint32_t values = 0;  // decode only so many leading values of a row; 0 = all
};

class Codec {
 public:
  // kInvalidArgument when dim is 0 or above kMaxDim, or does not fit the codec.
  static Result<std::unique_ptr<Codec>> Make(const CodecSpec& spec, uint32_t dim);
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  const CodecSpec& spec() const { return spec_; }
  uint32_t dim() const { return format_.dim; }
  uint64_t row_bytes() const { return format_.row_bytes(); }  // one encoded row, side data included
  // How kernels decode a row: the same codes in the cache as on disk.
  const kernels::RowFormat& row_format() const { return format_; }

  // Learns from sample rows (n, dim) before the first Encode. Nothing to learn: OK.
  virtual Status Train(std::span<const float> sample);

  // Encodes rows (count, dim) to codes (count, row_bytes). When a value does not fit the codec:
  // kBadInput that names the value, with its index in `rows` in *bad_value when that is not null
  // (row index / dim, column index % dim; the caller adds key and place); `codes` is then
  // unspecified.
  virtual Status Encode(const float* rows, size_t count, std::byte* codes,
                        uint64_t* bad_value = nullptr) const = 0;

  // Decodes codes (count, row_bytes) that lie one after the other into rows 0..count-1 of `target`.
  virtual void Decode(const std::byte* codes, size_t count, const DecodeTarget& target) const = 0;

  // Decodes encoded row rows[i] into row out_rows[i] of `target`, for i < count.
  virtual void DecodeGather(const std::byte* const* rows, const uint64_t* out_rows, size_t count,
                            const DecodeTarget& target) const = 0;

 protected:
  Codec(const CodecSpec& spec, const kernels::RowFormat& format) : spec_(spec), format_(format) {}

 private:
  CodecSpec spec_;
  kernels::RowFormat format_;
};

}  // namespace edo::storage
