// CUDA bodies of ProbePool and Pool: a tile of 16 or 32 lanes a bag, each lane with columns of
// its own, so that every sum goes over the ids in their order, in binary32: acc = acc + x, with
// weights acc = acc + (w * x), every step rounded, as on the CPU (cpu/pool.cc). Rows longer than a
// tile holds columns for are summed in panels.
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/probe_rows.cuh"

namespace edo::kernels::GPU_BACKEND_NS {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kValues = 4;  // neighbouring columns that a lane sums

__device__ __forceinline__ void StoreValue(const OutputRows& out, uint64_t at, float value) {
  if (out.type == FloatType::kF32) {
    static_cast<float*>(out.values)[at] = value;
  } else {
    static_cast<uint16_t*>(out.values)[at] =
        static_cast<uint16_t>(out.type == FloatType::kF16 ? EncodeF16(value) : EncodeBF16(value));
  }
}

// Writes `count` of four sums to columns from `column` on.
__device__ __forceinline__ void StoreSums(const OutputRows& out, uint64_t row, uint32_t column,
                                          const float* sums, uint32_t count) {
  const uint64_t at = row * out.stride + column;
  if (count >= kValues && out.type == FloatType::kF32) {
    float* const to = static_cast<float*>(out.values) + at;
    if (reinterpret_cast<uintptr_t>(to) % 16 == 0) {
      gpu::StoreVecStreaming(to, make_uint4(__float_as_uint(sums[0]), __float_as_uint(sums[1]),
                                            __float_as_uint(sums[2]), __float_as_uint(sums[3])));
      return;
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < kValues; ++i) {
    if (i < count) StoreValue(out, at + i, sums[i]);
  }
}

// The codes of kValues neighbouring columns of a slot.
template <class Decoder, bool kWholeRow = Decoder::kWholeRow>
struct PoolPiece {
  static constexpr uint32_t kCodeBytes = 4 * kValues / Decoder::kValuesAWord;
  static constexpr uint32_t kAhead = kCodeBytes <= 4 ? 8 : 4;
  static constexpr uint32_t kMostPieces = Decoder::kProfile ? 2 : 4;  // of a lane
  static constexpr uint32_t kBlocks = Decoder::kProfile ? 2 : 3;      // of short rows, on an SM
  Words<kCodeBytes / 4 == 0 ? 1 : kCodeBytes / 4> codes;

  __device__ void Fetch(const RowFormat&, const BlockView& blocks, uint32_t slot, uint32_t column) {
    const uint32_t at = column / Decoder::kValuesAWord * 4;
    codes.LoadL2(CodesAt(blocks, slot, at));
    // Half a word: the values are its first ones, or are moved there.
    if constexpr (kCodeBytes < 4) {
      codes.at[0] >>= column % Decoder::kValuesAWord * (32 / Decoder::kValuesAWord);
    }
  }
  template <class Columns>
  __device__ void Values(const Decoder& decoder, const RowFormat&, const BlockView&, uint32_t,
                         uint32_t, const Columns& columns, float* out) const {
#pragma unroll
    for (uint32_t v = 0; v < kValues; ++v) {
      out[v] =
          decoder.Value(codes.at[v / Decoder::kValuesAWord], v % Decoder::kValuesAWord, columns, v);
    }
  }
};
template <class Decoder>
struct PoolPiece<Decoder, true> {
  static constexpr uint32_t kAhead = Decoder::kAhead;
  static constexpr uint32_t kMostPieces = 2;
  static constexpr uint32_t kBlocks = 2;
  typename Decoder::template Codes<kValues> codes;

  __device__ void Fetch(const RowFormat& format, const BlockView& blocks, uint32_t slot,
                        uint32_t column) {
    codes.Fetch(format, CachedCodes{CodesOf(blocks, slot)}, column);
  }
  template <class Columns>
  __device__ void Values(const Decoder& decoder, const RowFormat& format, const BlockView& blocks,
                         uint32_t slot, uint32_t column, const Columns& columns, float* out) const {
    decoder.Values(codes, format, CachedCodes{CodesOf(blocks, slot)}, column, columns, out);
  }
};

// N lanes a bag, kPieces pieces of four columns a lane in one panel.
template <class Decoder, unsigned N, uint32_t kPieces>
__global__ void __launch_bounds__(kThreads, (kPieces == 1 ? PoolPiece<Decoder>::kBlocks : 2))
    ProbePoolKernel(ProbePoolArgs args) {
  constexpr uint32_t kPanel = N * kPieces * kValues;  // columns
  // Ids whose codes are under way.
  constexpr uint32_t kMost = PoolPiece<Decoder>::kAhead;
  constexpr uint32_t kAhead = kPieces > 1 && kMost > 2 ? 2 : kMost;
  SHARED_ARRAY(Found, all_found, kThreads);
  const gpu::Tile<N> tile;
  Found* const found = all_found + tile.Rank() * N;
  const uint32_t lane = tile.Lane();
  const BlockView& blocks = args.blocks;
  const uint32_t dim = args.format.dim;

  for (uint64_t bag = uint64_t{blockIdx.x} * tile.Count() + tile.Rank(); bag < args.bags.count;
       bag += uint64_t{gridDim.x} * tile.Count()) {
    const uint64_t begin = args.bags.offsets[bag];
    const uint64_t end = args.bags.offsets[bag + 1];
    uint32_t missed = 0;
    uint32_t absent = 0;
    for (uint32_t panel = 0; panel < dim && missed == 0; panel += kPanel) {
      float sums[kPieces][kValues] = {};
      typename Decoder::template Columns<kValues> columns[kPieces];
#pragma unroll
      for (uint32_t k = 0; k < kPieces; ++k) {
        const uint32_t column = panel + (k * N + lane) * kValues;
        if (column < dim) columns[k].Load(args.format, column);
      }
      for (uint64_t base = begin; base < end; base += N) {
        const uint32_t count = end - base < N ? static_cast<uint32_t>(end - base) : N;
        if (panel == 0 || end - begin > N) {  // else `found` still holds the whole bag
          ProbeRows<N>(blocks, args.query, base, count, panel == 0, args.clock, found);
        }
        // A row may have lost its tag to a fill since the last panel: then it is missed now.
        const RowMark mark = MarkOf(found[lane]);
        const bool mine = lane < count;
        const uint32_t lost = tile.Ballot(mine && mark == RowMark::kMissed);
        missed += static_cast<uint32_t>(__popc(lost));
        if (panel == 0) {
          absent += static_cast<uint32_t>(__popc(tile.Ballot(mine && mark == RowMark::kAbsent)));
        }
        if (mine && args.marks != nullptr && (panel == 0 || (lost >> lane & 1) != 0)) {
          args.marks[base + lane] = mark;
        }
        for (uint32_t i = 0; i < count && missed == 0; i += kAhead) {
          PoolPiece<Decoder> codes[kAhead][kPieces];
          uint32_t more[kAhead];  // of the side data, where there is a profile
#pragma unroll
          for (uint32_t a = 0; a < kAhead; ++a) {
            if (i + a >= count) break;
            const Found place = found[i + a];
            if (MarkOf(place) != RowMark::kFound) continue;
            if constexpr (Decoder::kProfile) more[a] = MoreSideOf(blocks, place);
#pragma unroll
            for (uint32_t k = 0; k < kPieces; ++k) {
              const uint32_t column = panel + (k * N + lane) * kValues;
              if (column >= dim) break;
              codes[a][k].Fetch(args.format, blocks, place.x, column);
            }
          }
#pragma unroll
          for (uint32_t a = 0; a < kAhead; ++a) {
            if (i + a >= count) break;
            const Found place = found[i + a];
            if (MarkOf(place) != RowMark::kFound) continue;
            SideData side{HeadSideOf(place), 0};
            if constexpr (Decoder::kProfile) side.more = more[a];
            const Decoder decoder(side, args.format);
            const bool weighted = args.bags.weights != nullptr;
            const float weight = weighted ? args.bags.weights[base + i + a] : 1.0f;
#pragma unroll
            for (uint32_t k = 0; k < kPieces; ++k) {
              const uint32_t column = panel + (k * N + lane) * kValues;
              if (column >= dim) break;
              float values[kValues] = {};
              codes[a][k].Values(decoder, args.format, blocks, place.x, column, columns[k], values);
#pragma unroll
              for (uint32_t v = 0; v < kValues; ++v) {
                const float value = values[v];
                sums[k][v] = __fadd_rn(sums[k][v], weighted ? __fmul_rn(weight, value) : value);
              }
            }
          }
        }
        tile.Sync();  // `found` is written again
      }
      if (missed != 0) break;
      const uint64_t present = end - begin - absent;
      const bool divide = args.bags.mode == PoolMode::kMean && present > 0;
#pragma unroll
      for (uint32_t k = 0; k < kPieces; ++k) {
        const uint32_t column = panel + (k * N + lane) * kValues;
        if (column >= dim) break;
#pragma unroll
        for (uint32_t v = 0; v < kValues; ++v) {
          if (divide) sums[k][v] = __fdiv_rn(sums[k][v], static_cast<float>(present));
        }
        StoreSums(args.out, bag, column, sums[k], dim - column);
      }
    }
    if (lane == 0 && absent != 0) atomicAdd(&args.counts->absent, absent);
    if (lane == 0 && missed != 0) {
      atomicAdd(&args.counts->misses, static_cast<uint32_t>(end - begin) - absent);
      args.incomplete[atomicAdd(&args.counts->bags, 1u)] = static_cast<uint32_t>(bag);
    }
  }
}

// A warp a bag; a lane's columns lie 32 apart, so that rows of any dimension are read in whole
// sectors.
__global__ void __launch_bounds__(kThreads) PoolKernel(PoolArgs args) {
  constexpr uint32_t kColumns = 4;
  const gpu::Tile<32> warp;
  const uint32_t lane = warp.Lane();
  for (uint64_t bag = uint64_t{blockIdx.x} * warp.Count() + warp.Rank(); bag < args.bags.count;
       bag += uint64_t{gridDim.x} * warp.Count()) {
    const uint64_t begin = args.bags.offsets[bag];
    const uint64_t end = args.bags.offsets[bag + 1];
    const uint64_t to = args.out_bags != nullptr ? args.out_bags[bag] : bag;
    for (uint32_t panel = 0; panel < args.dim; panel += 32 * kColumns) {
      float sums[kColumns] = {};
      uint64_t present = 0;
      for (uint64_t i = begin; i < end; ++i) {
        if (args.marks != nullptr && args.marks[i] != RowMark::kFound) continue;
        ++present;
        const float* const row = args.rows + i * args.dim + panel + lane;
        const bool weighted = args.bags.weights != nullptr;
        const float weight = weighted ? args.bags.weights[i] : 1.0f;
#pragma unroll
        for (uint32_t k = 0; k < kColumns; ++k) {
          if (panel + lane + 32 * k >= args.dim) break;
          const float value = row[32 * k];
          sums[k] = __fadd_rn(sums[k], weighted ? __fmul_rn(weight, value) : value);
        }
      }
      const bool divide = args.bags.mode == PoolMode::kMean && present > 0;
#pragma unroll
      for (uint32_t k = 0; k < kColumns; ++k) {
        const uint32_t column = panel + lane + 32 * k;
        if (column >= args.dim) break;
        StoreValue(args.out, to * args.out.stride + column,
                   divide ? __fdiv_rn(sums[k], static_cast<float>(present)) : sums[k]);
      }
    }
  }
}

}  // namespace

int ProbePool(const ProbePoolArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  if (args.bags.count == 0) return 0;
  return DispatchCodec(args.format.codec, [&](auto decoder) {
    using Decoder = typename decltype(decoder)::Type;
    const auto launch = [&](auto kernel, uint32_t lanes) {
      return gpu::Launch(
          kernel, dim3(GridBlocks(uint64_t{args.bags.count} * lanes, kThreads, shape.most_blocks)),
          dim3(kThreads), 0, stream, args);
    };
    const uint32_t dim = args.format.dim;
    if (dim <= 16 * kValues) return launch(ProbePoolKernel<Decoder, 16, 1>, 16);
    if (dim <= 32 * kValues) return launch(ProbePoolKernel<Decoder, 32, 1>, 32);
    return launch(ProbePoolKernel<Decoder, 32, PoolPiece<Decoder>::kMostPieces>, 32);
  });
}

int Pool(const PoolArgs& args, const LaunchShape& shape, gpu::StreamHandle stream) {
  if (args.bags.count == 0) return 0;
  return gpu::Launch(PoolKernel,
                     dim3(GridBlocks(uint64_t{args.bags.count} * 32, kThreads, shape.most_blocks)),
                     dim3(kThreads), 0, stream, args);
}

}  // namespace edo::kernels::GPU_BACKEND_NS
