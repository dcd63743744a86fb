// Codec: turns rows of floats into codes and back, as a CodecSpec says. The engine knows this class
// only; one file in storage/codecs/ holds each kind (bytes and formulas: docs/codecs.md).
//
// A Codec belongs to one table's dim. Codecs that learn from the data (profile, PQ, OPQ, RQ) keep
// what they learned as bytes, which the table stores beside its rows: Learn makes them, Make takes
// them. A Codec does not change: every const method is safe from many threads at once; decoding
// allocates nothing.
//
// A further codec adds a CodecKind and its spec in codec_spec.cc, a class in codecs/ and a line in
// Codec::Make, and its kernels (kernels/row_format.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "edo/codec_spec.h"
#include "edo/options.h"
#include "edo/status.h"
#include "kernels/row_format.h"

namespace edo::storage {

// Where decoded rows go: row i at `out` + i * stride values of `type`.
struct DecodeTarget {
  void* out = nullptr;
  FloatType type = FloatType::kF32;
  uint64_t stride = 0;  // values from one row to the next; 0 = as many as are decoded
  uint32_t values = 0;  // decode only so many leading values of a row; 0 = all
};

struct LearnOptions {
  uint64_t seed = 1;
  uint32_t threads = 1;  // what is learned does not depend on it
  // Asked now and then; an error ends Learn with it.
  std::function<Status()> step{};
};

// Rows that Learn looks at, at most; the first ones of a sample.
inline constexpr uint64_t kMostLearningRows = 65536;
// Rows of a sample that is worth drawing: 256 MiB at most.
inline uint64_t SampleRows(uint32_t dim) {
  const uint64_t fit = (uint64_t{256} << 20) / (uint64_t{dim} * sizeof(float));
  return fit < kMostLearningRows ? fit : kMostLearningRows;
}

class Codec {
 public:
  // kInvalidArgument when dim is 0 or above kMaxDim, or does not fit the codec; kCorruption when
  // `learned` is not what such a codec learns: spec.LearnedBytes(dim) bytes of finite numbers.
  // `learned_elsewhere`: see TableOptions; of PQ and OPQ, and of encoding only.
  static Result<std::unique_ptr<Codec>> Make(const CodecSpec& spec, uint32_t dim,
                                             std::span<const std::byte> learned = {},
                                             bool learned_elsewhere = false);
  // Reads the rows of a codec that refines L4 (L4+4, P,L4+4) by their L4 half alone, as L4 or P,L4
  // would: row_bytes and learned are those of the refined codec, spec is that of the half. It does
  // not encode.
  static std::unique_ptr<Codec> BaseOf(const Codec& refined);
  // Learns from sample rows (n, dim) of finite values, drawn at random from the table; n may be 0.
  // Equal for equal samples, whatever the machine's thread count. Nothing to learn: no bytes.
  static Result<std::vector<std::byte>> Learn(const CodecSpec& spec, uint32_t dim,
                                              std::span<const float> sample,
                                              const LearnOptions& options);
  // What Encode would say of these rows' values; without a codec that has learned.
  static Status CheckValues(const CodecSpec& spec, uint32_t dim, const float* rows, size_t count,
                            uint64_t* bad_value = nullptr);
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  const CodecSpec& spec() const { return spec_; }
  uint32_t dim() const { return format_.dim; }
  uint64_t row_bytes() const { return format_.row_bytes(); }  // one encoded row, side data included
  // How kernels decode a row: the same codes in the cache as on disk. `learned` points to this
  // codec's own copy.
  const kernels::RowFormat& row_format() const { return format_; }
  std::span<const std::byte> learned() const { return learned_; }

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
  Codec(const CodecSpec& spec, uint32_t dim, std::span<const std::byte> learned);
  Codec(const CodecSpec& spec, const kernels::RowFormat& format,
        std::span<const std::byte> learned);

 private:
  CodecSpec spec_;
  std::vector<std::byte> learned_;
  kernels::RowFormat format_;
};

}  // namespace edo::storage
