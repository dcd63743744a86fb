// CUDA body of Gather: rows of an array as they lie on disk, at any address. Work is dealt out as
// in ProbeGather: the pieces of up to 32 rows end to end.
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/row_decoders.cuh"

namespace edo::kernels::GPU_BACKEND_NS {
namespace {

constexpr uint32_t kThreads = 256;

// Where a row comes from and goes, in shared memory: x = source, y = output row, z = first two
// bytes of side data, w = the next two of codecs with a profile.
using Move = uint4;

// Decodes rows, a piece a lane at a time with the codes of kAhead pieces under way. kWhole: all
// codes and outputs are whole and aligned.
template <class Decoder, class P, uint32_t kAhead, bool kWhole>
__device__ __forceinline__ void WriteRows(const GatherArgs& args, const PieceDivider& divider,
                                          const Move* moves, uint32_t count) {
  const uint32_t code_bytes = args.format.code_bytes;
  auto* const out = static_cast<std::byte*>(args.out.values);
  const uint32_t pieces = count * divider.pieces;
  for (uint32_t base = gpu::Tile<32>().Lane(); base < pieces; base += 32 * kAhead) {
    typename P::Codes codes[kAhead];
#pragma unroll
    for (uint32_t a = 0; a < kAhead; ++a) {
      const uint32_t t = base + 32 * a;
      if (t >= pieces) break;
      const uint32_t row = divider.Row(t);
      const uint32_t piece = t - row * divider.pieces;
      const std::byte* const codes_at = args.rows + moves[row].x * args.row_stride;
      if constexpr (Decoder::kWholeRow) {
        codes[a].Fetch(args.format, ArrayCodes{codes_at}, piece * P::kValues);
      } else {
        const uint32_t at = piece * P::kCodeBytes;
        if constexpr (kWhole) {
          codes[a].LoadWhole(codes_at + at);
        } else {
          codes[a].LoadBytes(codes_at + at, min(code_bytes - at, P::kCodeBytes));
        }
      }
    }
#pragma unroll
    for (uint32_t a = 0; a < kAhead; ++a) {
      const uint32_t t = base + 32 * a;
      if (t >= pieces) break;
      const uint32_t row = divider.Row(t);
      const uint32_t value = (t - row * divider.pieces) * P::kValues;
      const Move move = moves[row];
      const SideData side{move.z, move.w};
      typename P::Output decoded;
      if constexpr (Decoder::kWholeRow) {
        decoded = P::Decode(codes[a], side, args.format, value,
                            ArrayCodes{args.rows + move.x * args.row_stride});
      } else {
        decoded = P::Decode(codes[a], side, args.format, value);
      }
      std::byte* const to = out + (move.y * args.out.stride + value) * P::kOutBytes;
      if constexpr (kWhole) {
        P::StoreWhole(decoded, to);
      } else {
        P::Store(decoded, to, args.format.dim - value);
      }
    }
  }
}

template <class Decoder, FloatType kOut>
__global__ void __launch_bounds__(kThreads)
    GatherKernel(GatherArgs args, PieceDivider divider, uint32_t rows_a_warp) {
  using P = Piece<Decoder, kOut>;
  SHARED_ARRAY(Move, all_moves, kThreads);
  const gpu::Tile<32> warp;
  Move* const moves = all_moves + warp.Rank() * kRowsAWarp;
  const uint32_t lane = warp.Lane();
  const uint64_t step = uint64_t{gridDim.x} * warp.Count() * rows_a_warp;
  const uint32_t side_at = args.format.side_at();
  bool whole = P::AreWhole(args.out, args.format.dim);
  if constexpr (!Decoder::kWholeRow) {
    whole = whole && reinterpret_cast<uintptr_t>(args.rows) % P::kCodeBytes == 0 &&
            args.row_stride % P::kCodeBytes == 0;
  }

  for (uint64_t first = (uint64_t{blockIdx.x} * warp.Count() + warp.Rank()) * rows_a_warp;
       first < args.count; first += step) {
    const uint64_t left = args.count - first;
    const uint32_t count = left < rows_a_warp ? static_cast<uint32_t>(left) : rows_a_warp;
    if (lane < count) {
      const auto i = static_cast<uint32_t>(first) + lane;
      const uint32_t source = args.sources != nullptr ? args.sources[i] : i;
      const uint32_t to = args.out_rows != nullptr ? args.out_rows[i] : i;
      Words<1> side{};
      constexpr uint32_t kSideBytes = Decoder::kProfile ? 4 : 2;
      side.LoadBytes(args.rows + source * args.row_stride + side_at,
                     min(args.format.side_bytes, kSideBytes));
      moves[lane] = make_uint4(source, to, side.at[0] & 0xffffu, side.at[0] >> 16);
    }
    warp.Sync();

    if (whole) {
      WriteRows<Decoder, P, P::kAhead, true>(args, divider, moves, count);
    } else {
      WriteRows<Decoder, P, (P::kAhead < 2 ? P::kAhead : 2), false>(args, divider, moves, count);
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
