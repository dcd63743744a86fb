// CPU body of Gather: rows of an array, a few ahead asked for from memory.
#include "kernels/codec_kernels.h"
#include "kernels/cpu/block_access.h"
#include "kernels/cpu/bodies.h"

namespace edo::kernels::cpu {
namespace {

constexpr uint32_t kAhead = 12;

}  // namespace

void Gather(const GatherArgs& args) {
  const uint32_t value_bytes = FloatTypeBytes(args.out.type);
  const uint64_t out_stride = args.out.stride * value_bytes;
  const DecodeRowFunction decode = RowDecoder(args.format.codec, args.out.type);
  auto* const out = static_cast<std::byte*>(args.out.values);
  const RowFormat& format = args.format;
  const uint32_t code_bytes = format.CodeBytesOf(format.dim);
  const bool whole = code_bytes == format.code_bytes;  // the side data stands right behind
  const uint32_t read_bytes = whole ? format.row_bytes() : code_bytes;
  const auto source = [&](uint32_t i) {
    return args.rows + (args.sources ? args.sources[i] : i) * args.row_stride;
  };
  for (uint32_t i = 0; i < args.count; ++i) {
    if (i + kAhead < args.count) {
      PrefetchRow(source(i + kAhead), read_bytes);
      if (!whole) __builtin_prefetch(source(i + kAhead) + format.code_bytes);
    }
    const std::byte* const row = source(i);
    const uint64_t to = args.out_rows ? args.out_rows[i] : i;
    decode(format, row, row + format.code_bytes, 0, format.dim, out + to * out_stride);
  }
}

}  // namespace edo::kernels::cpu
