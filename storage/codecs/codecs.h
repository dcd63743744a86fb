// Makers of the codecs, one a file in this folder; called by Codec::Make only.
#pragma once

#include <memory>

#include "storage/codec.h"

namespace edo::storage {

std::unique_ptr<Codec> MakeF32Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeF16Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeBF16Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeInt8Codec(const CodecSpec& spec, uint32_t dim);

}  // namespace edo::storage
