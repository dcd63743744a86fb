// RowCodec: base of the codecs whose encoded rows decode by themselves, with one kernel call a row
// and nothing beside the row's own bytes (F32, F16, BF16, INT8).
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
  RowCodec(const CodecSpec& spec, uint32_t dim, kernels::RowCodec codec);

  // kBadInput for the first value whose magnitude bits lie in [low, high) (codec_kernels.h), else
  // OK. `rule` ends the message: "value 3 of 100, inf ..."
  Status RefuseMagnitudes(const float* rows, size_t count, uint32_t low, uint32_t high,
                          const char* rule, uint64_t* bad_value) const;

 private:
  std::array<kernels::DecodeRowFunction, 3> decoders_;  // by FloatType
};

}  // namespace edo::storage
