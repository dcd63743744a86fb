// RowCodec: base of all codecs whose rows decode with one kernel call a row.
#pragma once

#include <array>

#include "kernels/codec_kernels.h"
#include "storage/codec.h"

namespace edo::storage {

class RowCodec : public Codec {
 public:
  void Decode(const std::byte* codes, size_t count, const DecodeTarget& target) const override;
  void DecodeGather(const std::byte* const* rows, const uint64_t* out_rows, size_t count,
                    const DecodeTarget& target) const override;

 protected:
  RowCodec(const CodecSpec& spec, uint32_t dim, std::span<const std::byte> learned = {});
  RowCodec(const CodecSpec& spec, const kernels::RowFormat& format,
           std::span<const std::byte> learned);

  // Codec::CheckValues for this codec.
  Status Check(const float* rows, size_t count, uint64_t* bad_value) const {
    return CheckValues(spec(), dim(), rows, count, bad_value);
  }

 private:
  void FindDecoders();
  std::array<kernels::DecodeRowFunction, 3> decoders_;  // by FloatType
};

}  // namespace edo::storage
