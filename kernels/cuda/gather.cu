// CUDA body of Gather: rows of an array as they lie on disk, at any address. Work is dealt out as
// in ProbeGather: the pieces of up to 32 rows end to end.
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/row_decoders.cuh"

namespace edo::kernels::GPU_BACKEND_NS {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kAhead = 4;  // pieces a lane has under way

// Where a row comes from and goes, in shared memory: x = source, y = output row, z = first two
// bytes of side data.
using Move = uint4;

template <class Decoder, FloatType kOut>
__global__ void __launch_bounds__(kThreads)
    GatherKernel(GatherArgs args, PieceDivider divider, uint32_t rows_a_warp) {
  using P = Piece<Decoder, kOut>;
  SHARED_ARRAY(Move, all_moves, kThreads);
  const gpu::Tile<32> warp;
  Move* const moves = all_moves + warp.Rank() * kRowsAWarp;
  const uint32_t lane = warp.Lane();
  const uint64_t step = uint64_t{gridDim.x} * warp.Count() * rows_a_warp;
  const uint32_t code_bytes = args.format.code_bytes;
  auto* const out = static_cast<std::byte*>(args.out.values);

  for (uint64_t first = (uint64_t{blockIdx.x} * warp.Count() + warp.Rank()) * rows_a_warp;
       first < args.count; first += step) {
    const uint64_t left = args.count - first;
    const uint32_t count = left < rows_a_warp ? static_cast<uint32_t>(left) : rows_a_warp;
    if (lane < count) {
      const auto i = static_cast<uint32_t>(first) + lane;
      const uint32_t source = args.sources != nullptr ? args.sources[i] : i;
      const uint32_t to = args.out_rows != nullptr ? args.out_rows[i] : i;
      Words<1> side{};
      const uint32_t side_bytes = args.format.side_bytes < 2 ? args.format.side_bytes : 2;
      side.LoadBytes(args.rows + source * args.row_stride + code_bytes, side_bytes);
      moves[lane] = make_uint4(source, to, side.at[0], 0);
    }
    warp.Sync();

    const uint32_t pieces = count * divider.pieces;
    for (uint32_t base = lane; base < pieces; base += 32 * kAhead) {
      typename P::Codes codes[kAhead];
#pragma unroll
      for (uint32_t a = 0; a < kAhead; ++a) {
        const uint32_t t = base + 32 * a;
        if (t >= pieces) break;
        const uint32_t row = divider.Row(t);
        const uint32_t at = (t - row * divider.pieces) * P::Codes::kBytes;
        const uint32_t bytes =
            code_bytes - at < P::Codes::kBytes ? code_bytes - at : P::Codes::kBytes;
        codes[a].LoadBytes(args.rows + moves[row].x * args.row_stride + at, bytes);
      }
#pragma unroll
      for (uint32_t a = 0; a < kAhead; ++a) {
        const uint32_t t = base + 32 * a;
        if (t >= pieces) break;
        const uint32_t row = divider.Row(t);
        const uint32_t value = (t - row * divider.pieces) * P::kValues;
        const Move move = moves[row];
        const SideData side{move.z, args.rows + move.x * args.row_stride + code_bytes + 2};
        P::Store(P::Decode(codes[a], side), out + (move.y * args.out.stride + value) * P::kOutBytes,
                 args.format.dim - value);
      }
    }
    warp.Sync();  // `moves` is written again
  }
}

}  // namespace

int Gather(const GatherArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  if (args.count == 0) return 0;
  return DispatchCodec(args.format.codec, [&](auto decoder) {
    return DispatchFloatType(args.out.type, [&](auto out_type) {
      using Decoder = typename decltype(decoder)::Type;
      constexpr FloatType kOut = decltype(out_type)::value;
      constexpr uint32_t kValues = Piece<Decoder, kOut>::kValues;
      const uint32_t pieces = (args.format.dim + kValues - 1) / kValues;
      const uint32_t rows = RowsAWarp(args.count, pieces, shape.rows_a_warp);
      const uint64_t warps = (uint64_t{args.count} + rows - 1) / rows;
      return gpu::Launch(GatherKernel<Decoder, kOut>,
                         dim3(GridBlocks(warps * 32, kThreads, shape.most_blocks)), dim3(kThreads),
                         0, stream, args, PieceDivider::Make(pieces), rows);
    });
  });
}

}  // namespace edo::kernels::GPU_BACKEND_NS
