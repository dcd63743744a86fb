// CUDA body of ProbeGather: row numbers in, decoded rows out, in one kernel. A warp takes 8 to 32
// rows at a time: it probes them together (probe_rows.cuh), writes down what is missing, and then
// deals out the pieces of all their rows to its lanes, end to end, so that no lane idles whatever
// the dimension; several loads of codes are under way before the first is decoded.
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/probe_rows.cuh"

namespace edo::kernels::GPU_BACKEND_NS {
namespace {

constexpr uint32_t kThreads = 256;

// Appends the rows that are not resident to the list and counts those that are not the tier's.
__device__ __forceinline__ void ListMisses(const ProbeGatherArgs& args, RowMark mark, bool mine,
                                           uint32_t row) {
  const gpu::Tile<32> warp;
  const uint32_t missed = warp.Ballot(mine && mark == RowMark::kMissed);
  const uint32_t absent = warp.Ballot(mine && mark == RowMark::kAbsent);
  const uint32_t elsewhere = warp.Ballot(mine && mark == RowMark::kElsewhere);
  if (absent != 0 && warp.Lane() == 0) {
    atomicAdd(&args.counts->absent, static_cast<unsigned>(__popc(absent)));
  }
  if (elsewhere != 0 && warp.Lane() == 0) {
    atomicAdd(&args.counts->elsewhere, static_cast<unsigned>(__popc(elsewhere)));
  }
  if (missed == 0) return;
  uint32_t place = 0;
  if (warp.Lane() == 0) {
    place = atomicAdd(&args.counts->misses, static_cast<unsigned>(__popc(missed)));
  }
  place = warp.Shfl(place, 0);
  if ((missed >> warp.Lane() & 1) != 0) {
    args.misses[place + static_cast<uint32_t>(__popc(missed & ((1u << warp.Lane()) - 1)))] = row;
  }
}

// Decodes the rows that were found, and zeroes those beyond the table, a piece a lane at a time
// with the codes of kAhead pieces under way.
template <class Decoder, class P, uint32_t kAhead, bool kWhole>
__device__ __forceinline__ void WriteRows(const ProbeGatherArgs& args, const PieceDivider& divider,
                                          const Found* found, uint64_t first, uint32_t count) {
  const BlockView& blocks = args.blocks;
  auto* const out = static_cast<std::byte*>(args.out.values);
  const uint32_t pieces = count * divider.pieces;
  for (uint32_t base = gpu::Tile<32>().Lane(); base < pieces; base += 32 * kAhead) {
    typename P::Codes codes[kAhead];
    uint32_t more[kAhead];  // of the side data, where there is a profile
#pragma unroll
    for (uint32_t a = 0; a < kAhead; ++a) {
      const uint32_t t = base + 32 * a;
      if (t >= pieces) break;
      const uint32_t row = divider.Row(t);
      const uint32_t piece = t - row * divider.pieces;
      const Found place = found[row];
      if (MarkOf(place) != RowMark::kFound) continue;
      if constexpr (Decoder::kProfile) more[a] = MoreSideOf(blocks, place);
      if constexpr (Decoder::kWholeRow) {
        codes[a].Fetch(args.format, CachedCodes{CodesOf(blocks, place.x)}, piece * P::kValues);
      } else {
        const uint32_t at = piece * P::kCodeBytes;
        codes[a].LoadL2(kWhole ? CodesOf(blocks, place.x) + at : CodesAt(blocks, place.x, at));
      }
    }
#pragma unroll
    for (uint32_t a = 0; a < kAhead; ++a) {
      const uint32_t t = base + 32 * a;
      if (t >= pieces) break;
      const uint32_t row = divider.Row(t);
      const uint32_t value = (t - row * divider.pieces) * P::kValues;
      const Found place = found[row];
      typename P::Output decoded{};
      if (MarkOf(place) == RowMark::kFound) {
        SideData side{HeadSideOf(place), 0};
        if constexpr (Decoder::kProfile) side.more = more[a];
        if constexpr (Decoder::kWholeRow) {
          decoded =
              P::Decode(codes[a], side, args.format, value, CachedCodes{CodesOf(blocks, place.x)});
        } else {
          decoded = P::Decode(codes[a], side, args.format, value);
        }
      } else if (MarkOf(place) != RowMark::kAbsent || !args.zero_absent) {
        continue;
      }
      std::byte* const to = out + ((first + row) * args.out.stride + value) * P::kOutBytes;
      if constexpr (kWhole) {
        P::StoreWhole(decoded, to);
      } else {
        P::Store(decoded, to, args.format.dim - value);
      }
    }
  }
}

template <class Decoder, FloatType kOut>
__global__ void __launch_bounds__(kThreads, (Piece<Decoder, kOut>::kBlocks))
    ProbeGatherKernel(ProbeGatherArgs args, PieceDivider divider, uint32_t rows_a_warp) {
  using P = Piece<Decoder, kOut>;
  SHARED_ARRAY(Found, all_found, kThreads);
  const gpu::Tile<32> warp;
  Found* const found = all_found + warp.Rank() * kRowsAWarp;
  const uint32_t lane = warp.Lane();
  const BlockView& blocks = args.blocks;
  const uint64_t step = uint64_t{gridDim.x} * warp.Count() * rows_a_warp;
  const bool whole = P::AreWhole(args.out, args.format.dim) && blocks.shape.columns == 1;

  for (uint64_t first = (uint64_t{blockIdx.x} * warp.Count() + warp.Rank()) * rows_a_warp;
       first < args.query.count; first += step) {
    const uint64_t left = args.query.count - first;
    const uint32_t count = left < rows_a_warp ? static_cast<uint32_t>(left) : rows_a_warp;
    ProbeRows<32>(blocks, args.query, first, count, true, args.clock, found);

    const RowMark mark = MarkOf(found[lane]);
    const bool mine = lane < count;
    ListMisses(args, mark, mine, static_cast<uint32_t>(first) + lane);
    if (mine && args.marks != nullptr && mark != RowMark::kElsewhere) {
      args.marks[first + lane] = mark;
    }

    // Two loops, because single values and cells would make the usual one many times as long.
    if (whole) {
      WriteRows<Decoder, P, P::kAhead, true>(args, divider, found, first, count);
    } else {
      WriteRows<Decoder, P, (P::kAhead < 2 ? P::kAhead : 2), false>(args, divider, found, first,
                                                                    count);
    }
    warp.Sync();  // `found` is written again
  }
}

}  // namespace

int ProbeGather(const ProbeGatherArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  if (args.query.count == 0) return 0;
  return DispatchCodec(args.format.codec, [&](auto decoder) {
    return DispatchFloatType(args.out.type, [&](auto out_type) {
      using Decoder = typename decltype(decoder)::Type;
      constexpr FloatType kOut = decltype(out_type)::value;
      constexpr uint32_t kValues = Piece<Decoder, kOut>::kValues;
      const uint32_t pieces = (args.format.dim + kValues - 1) / kValues;
      const uint32_t rows = RowsAWarp(args.query.count, pieces, shape.rows_a_warp);
      const uint64_t warps = (uint64_t{args.query.count} + rows - 1) / rows;
      return gpu::Launch(ProbeGatherKernel<Decoder, kOut>,
                         dim3(GridBlocks(warps * 32, kThreads, shape.most_blocks)), dim3(kThreads),
                         0, stream, args, PieceDivider::Make(pieces), rows);
    });
  });
}

}  // namespace edo::kernels::GPU_BACKEND_NS
