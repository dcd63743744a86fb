// Device decoders of the row codecs, and how decoded values are written. Same bits as the CPU's,
// NaN included.
//
// A decoder is a small functor. It has
//   kWholeRow              whether it is one of whole_rows.cuh, which says what those have
//   kProfile               whether it needs SideData::more
//   Columns<kCount>        what it keeps of neighbouring columns (scales.cuh)
//   Decoder(SideData, RowFormat)  from a row's side data
// and if values stand alone, that is kWholeRow is false,
//   kValuesAWord           how many values four bytes of codes hold: 1, 2, 4 or 8
//   kRaw                   the float type whose values the codes are, or kNotRaw: then a row of
//                          that type is copied, not converted
//   Value(word, i, columns, v)  value i of four bytes of codes, which is column v of `columns`
// A new codec adds one and a line in DispatchCodec(); the kernels do not change.
#pragma once

#include "kernels/cuda/levels.cuh"
#include "kernels/cuda/scales.cuh"
#include "kernels/cuda/whole_rows.cuh"
#include "kernels/cuda/words.cuh"

namespace edo::kernels::GPU_BACKEND_NS {

// ---- decoders
// ------------------------------------------------------------------------------------

enum class Raw : uint8_t { kF32, kF16, kBF16, kNotRaw };
static_assert(static_cast<int>(Raw::kF32) == static_cast<int>(FloatType::kF32) &&
              static_cast<int>(Raw::kF16) == static_cast<int>(FloatType::kF16) &&
              static_cast<int>(Raw::kBF16) == static_cast<int>(FloatType::kBF16));

// Of codes that are floats.
template <uint32_t kInAWord, Raw kType>
struct FloatDecoder {
  static constexpr bool kWholeRow = false;
  static constexpr bool kProfile = false;
  static constexpr uint32_t kValuesAWord = kInAWord;
  static constexpr Raw kRaw = kType;
  template <uint32_t kCount>
  using Columns = NoColumns<kCount>;
  __device__ FloatDecoder(const SideData&, const RowFormat&) {}
  template <uint32_t kCount>
  __device__ float Value(uint32_t word, uint32_t i, const NoColumns<kCount>&, uint32_t) const {
    if constexpr (kType == Raw::kF32) {
      return __uint_as_float(word);
    } else {
      const uint32_t half = word >> 16 * i & 0xffffu;
      return kType == Raw::kF16 ? DecodeF16(half) : DecodeBF16(half);
    }
  }
};
using F32Decoder = FloatDecoder<1, Raw::kF32>;
using F16Decoder = FloatDecoder<2, Raw::kF16>;
using BF16Decoder = FloatDecoder<2, Raw::kBF16>;

// Of codes that are levels.
template <class Levels, class Scale>
struct LevelDecoder : Scale {
  static constexpr bool kWholeRow = false;
  static constexpr uint32_t kValuesAWord = Levels::kAWord;
  static constexpr Raw kRaw = Raw::kNotRaw;
  __device__ LevelDecoder(const SideData& side, const RowFormat&) : Scale(side) {}
  template <class SomeColumns>
  __device__ float Value(uint32_t word, uint32_t i, const SomeColumns& columns, uint32_t v) const {
    return Scale::Value(Levels::Of(word, i), columns, v);
  }
};

// Calls call(Tag<Decoder>) for the codec, on the host.
template <class T>
struct Tag {
  using Type = T;
};
template <class Call>
int DispatchCodec(RowCodec codec, Call call) {
  switch (codec) {
    case RowCodec::kF32:
      return call(Tag<F32Decoder>{});
    case RowCodec::kF16:
      return call(Tag<F16Decoder>{});
    case RowCodec::kBF16:
      return call(Tag<BF16Decoder>{});
    case RowCodec::kInt8:
      return call(Tag<LevelDecoder<ByteLevels, ByScaleAndOffset>>{});
    case RowCodec::kF8:
      return call(Tag<LevelDecoder<E4M3Levels, ByScale>>{});
    case RowCodec::kL4:
      return call(Tag<LevelDecoder<L4Levels, ByScale>>{});
    case RowCodec::kL4Plus4:
      return call(Tag<L4Plus4Decoder<ByScale>>{});
    case RowCodec::kPInt8:
      return call(Tag<LevelDecoder<ByteLevels, ByProfile<ByScaleAndOffset>>>{});
    case RowCodec::kPL4:
      return call(Tag<LevelDecoder<L4Levels, ByProfile<ByScale>>>{});
    case RowCodec::kPL4Plus4:
      return call(Tag<L4Plus4Decoder<ByProfile<ByScale>>>{});
    case RowCodec::kPQ:
      return call(Tag<PQDecoder>{});
    case RowCodec::kRotatedPQ:
      return call(Tag<RotatedPQDecoder>{});
    case RowCodec::kRQ:
      break;
  }
  return call(Tag<RQDecoder>{});
}
static_assert(kRowCodecs == 13);

// Likewise for the type of the output, as a std::integral_constant.
template <class Call>
int DispatchFloatType(FloatType type, Call call) {
  switch (type) {
    case FloatType::kF16:
      return call(std::integral_constant<FloatType, FloatType::kF16>{});
    case FloatType::kBF16:
      return call(std::integral_constant<FloatType, FloatType::kBF16>{});
    case FloatType::kF32:
      break;
  }
  return call(std::integral_constant<FloatType, FloatType::kF32>{});
}

// ---- a lane's piece of a row
// ---------------------------------------------------------------------

// Values of a piece as they are written: the stores of neighbouring lanes meet and fill whole
// sectors.
template <FloatType kOut, uint32_t kPieceValues>
struct PieceOutput {
  static constexpr uint32_t kOutBytes = kOut == FloatType::kF32 ? 4 : 2;  // of a value
  static constexpr uint32_t kValues = kPieceValues;
  static constexpr uint32_t kOutWords = kValues * kOutBytes / 4;
  static constexpr uint32_t kAlignment = kOutWords * 4 < 16 ? kOutWords * 4 : 16;  // of a store
  using Output = Words<kOutWords>;

  // From value(0), value(1), ...
  template <class Value>
  __device__ static Output Encode(const Value& value) {
    Output out;
#pragma unroll
    for (uint32_t w = 0; w < kOutWords; ++w) {
      if constexpr (kOut == FloatType::kF32) {
        out.at[w] = __float_as_uint(value(w));
      } else if constexpr (kOut == FloatType::kF16) {
        out.at[w] = EncodeF16(value(2 * w)) | EncodeF16(value(2 * w + 1)) << 16;
      } else {
        out.at[w] = EncodeBF16(value(2 * w)) | EncodeBF16(value(2 * w + 1)) << 16;
      }
    }
    return out;
  }

  // Whether every piece of every row is whole and aligned, so that StoreWhole may write it.
  __device__ static bool AreWhole(const OutputRows& out, uint32_t dim) {
    return reinterpret_cast<uintptr_t>(out.values) % kAlignment == 0 &&
           out.stride * kOutBytes % kAlignment == 0 && dim % kValues == 0;
  }
  __device__ static void StoreWhole(const Output& out, std::byte* to) {
    if constexpr (kOutWords <= 4) {
      gpu::StoreVecStreaming(to, out.Vector());
    } else {
#pragma unroll
      for (uint32_t w = 0; w < kOutWords; w += 4) {
        gpu::StoreVecStreaming(to + 4 * w,
                               make_uint4(out.at[w], out.at[w + 1], out.at[w + 2], out.at[w + 3]));
      }
    }
  }
  // Writes the first `values` of them; at any address that is a multiple of a value.
  __device__ static void Store(const Output& out, std::byte* to, uint32_t values) {
    if (values >= kValues && reinterpret_cast<uintptr_t>(to) % kAlignment == 0) {
      return StoreWhole(out, to);
    }
#pragma unroll
    for (uint32_t i = 0; i < kValues; ++i) {
      if (i >= values) break;
      if constexpr (kOut == FloatType::kF32) {
        gpu::StoreVec<uint32_t>(to + 4 * i, out.at[i]);
      } else {
        gpu::StoreVec<uint16_t>(to + 2 * i, static_cast<uint16_t>(out.at[i / 2] >> 16 * (i % 2)));
      }
    }
  }
};

// What a lane decodes at once, where values stand alone: 16 bytes of output, or of codes where
// those are the longer; but at least a word of codes.
template <class Decoder, FloatType kOut>
constexpr uint32_t ValuesOfPiece() {
  if constexpr (Decoder::kWholeRow) {
    return 8;
  } else {
    constexpr uint32_t kByOut = kOut == FloatType::kF32 ? 4 : 8;
    constexpr uint32_t kByCodes = 4 * Decoder::kValuesAWord;
    constexpr uint32_t kMost = kByOut < kByCodes ? kByOut : kByCodes;
    return kMost < Decoder::kValuesAWord ? Decoder::kValuesAWord : kMost;
  }
}

// kAhead: pieces whose codes are under way at once; kBlocks: of a kernel that an SM should hold.
template <class Decoder, FloatType kOut, bool kWholeRow = Decoder::kWholeRow>
struct Piece : PieceOutput<kOut, ValuesOfPiece<Decoder, kOut>()> {
  using Base = PieceOutput<kOut, ValuesOfPiece<Decoder, kOut>()>;
  static constexpr bool kCopies = static_cast<int>(Decoder::kRaw) == static_cast<int>(kOut);
  static constexpr uint32_t kCodeWords = Base::kValues / Decoder::kValuesAWord;
  static constexpr uint32_t kCodeBytes = 4 * kCodeWords;
  static constexpr uint32_t kAhead =
      kCodeWords == 1 && Base::kValues == 4 && !Decoder::kProfile ? 8 : 4;
  static constexpr uint32_t kBlocks = kCodeWords > 2 || Decoder::kProfile ? 3 : 4;
  using Codes = Words<kCodeWords>;

  __device__ static typename Base::Output Decode(const Codes& codes, const SideData& side,
                                                 const RowFormat& format, uint32_t column) {
    if constexpr (kCopies) {
      typename Base::Output out;
#pragma unroll
      for (uint32_t w = 0; w < Base::kOutWords; ++w) out.at[w] = codes.at[w];
      return out;
    } else {
      const Decoder decoder(side, format);
      typename Decoder::template Columns<Base::kValues> columns;
      columns.Load(format, column);
      return Base::Encode([&](uint32_t i) {
        return decoder.Value(codes.at[i / Decoder::kValuesAWord], i % Decoder::kValuesAWord,
                             columns, i);
      });
    }
  }
};

template <class Decoder, FloatType kOut>
struct Piece<Decoder, kOut, true> : PieceOutput<kOut, ValuesOfPiece<Decoder, kOut>()> {
  using Base = PieceOutput<kOut, ValuesOfPiece<Decoder, kOut>()>;
  static constexpr uint32_t kAhead = Decoder::kAhead;
  static constexpr uint32_t kBlocks = kAhead == 1 ? 2 : 3;
  using Codes = typename Decoder::template Codes<Base::kValues>;

  template <class Row>
  __device__ static typename Base::Output Decode(const Codes& codes, const SideData& side,
                                                 const RowFormat& format, uint32_t column,
                                                 const Row& row) {
    const Decoder decoder(side, format);
    typename Decoder::template Columns<Base::kValues> columns;
    columns.Load(format, column);
    float values[Base::kValues] = {};
    decoder.Values(codes, format, row, column, columns, values);
    return Base::Encode([&](uint32_t i) { return values[i]; });
  }
};

// Which row and which piece of it stands at place `t` when the pieces of up to 32 rows are laid end
// to end: a division by a number that the host knows, as a product. Exact while t * pieces < 2^32.
struct PieceDivider {
  uint32_t pieces = 1;  // of a row
  uint32_t reciprocal = 0;

  static PieceDivider Make(uint32_t pieces) {
    return {pieces, pieces == 1 ? 0 : static_cast<uint32_t>((uint64_t{1} << 32) / pieces + 1)};
  }
  __device__ uint32_t Row(uint32_t t) const { return pieces == 1 ? t : __umulhi(t, reciprocal); }
};

inline constexpr uint32_t kRowsAWarp = 32;
// Rows that a warp takes at once: many for long queries, which gives each warp more loads to have
// in flight; few for short ones, which gives more warps. Few of long rows: the divider is exact up
// to kMaxDim / 4 pieces a row then.
inline uint32_t RowsAWarp(uint32_t count, uint32_t pieces, uint32_t wanted) {
  constexpr uint32_t kLongRow = 256;
  if (pieces > kLongRow) return 8;
  if (wanted != 0) return wanted < 8 ? 8 : wanted > kRowsAWarp ? kRowsAWarp : wanted / 8 * 8;
  return count >= 1u << 17 ? 32 : count >= 1u << 16 ? 16 : 8;
}

inline uint32_t GridBlocks(uint64_t threads, uint32_t block_threads, uint32_t most_blocks) {
  const uint64_t blocks = (threads + block_threads - 1) / block_threads;
  return static_cast<uint32_t>(blocks < most_blocks ? blocks : most_blocks);
}

}  // namespace edo::kernels::GPU_BACKEND_NS
