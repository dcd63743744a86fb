// Device decoders of the row codecs, and how decoded values are written. Same bits as the CPU's
// (kernels/float_convert.h is the meaning), NaN included.
//
// A decoder is a small functor. It has
//   kValuesAWord           how many values four bytes of codes hold
//   kRaw                   the float type whose values the codes are, or kNotRaw: then a row of
//                          that type is copied, not converted
//   Decoder(SideData)      from a row's side data
//   Value(word, i)         value i of four bytes of codes
// A new codec adds one and a line in DispatchCodec(); the kernels do not change.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/dialect.h"

namespace edo::kernels::GPU_BACKEND_NS {

// ---- conversions
// ---------------------------------------------------------------------------------

__device__ __forceinline__ float DecodeF16(uint32_t half) {
  const float value = __half2float(__ushort_as_half(static_cast<unsigned short>(half)));
  if ((half & 0x7fffu) <= 0x7c00u) return value;
  // The hardware's NaN forgets sign and payload.
  return __uint_as_float((half & 0x8000u) << 16 | 0x7fc00000u | (half & 0x3ffu) << 13);
}
__device__ __forceinline__ float DecodeBF16(uint32_t bits) { return __uint_as_float(bits << 16); }

__device__ __forceinline__ uint32_t EncodeF16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return (bits >> 16 & 0x8000u) | 0x7e00u | (bits >> 13 & 0x1ffu);
  }
  return __half_as_ushort(__float2half_rn(value));
}
__device__ __forceinline__ uint32_t EncodeBF16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

// ---- decoders
// ------------------------------------------------------------------------------------

// A row's side data: the first two bytes, which a slot's entry holds beside its tag and score, and
// where the rest lies.
struct SideData {
  uint32_t head;
  const std::byte* rest;
};

enum class Raw : uint8_t { kF32, kF16, kBF16, kNotRaw };
static_assert(static_cast<int>(Raw::kF32) == static_cast<int>(FloatType::kF32) &&
              static_cast<int>(Raw::kF16) == static_cast<int>(FloatType::kF16) &&
              static_cast<int>(Raw::kBF16) == static_cast<int>(FloatType::kBF16));

struct F32Decoder {
  static constexpr uint32_t kValuesAWord = 1;
  static constexpr Raw kRaw = Raw::kF32;
  __device__ explicit F32Decoder(const SideData&) {}
  __device__ float Value(uint32_t word, uint32_t) const { return __uint_as_float(word); }
};

struct F16Decoder {
  static constexpr uint32_t kValuesAWord = 2;
  static constexpr Raw kRaw = Raw::kF16;
  __device__ explicit F16Decoder(const SideData&) {}
  __device__ float Value(uint32_t word, uint32_t i) const {
    return DecodeF16(word >> 16 * i & 0xffffu);
  }
};

struct BF16Decoder {
  static constexpr uint32_t kValuesAWord = 2;
  static constexpr Raw kRaw = Raw::kBF16;
  __device__ explicit BF16Decoder(const SideData&) {}
  __device__ float Value(uint32_t word, uint32_t i) const {
    return DecodeBF16(word >> 16 * i & 0xffffu);
  }
};

struct Int8Decoder {
  static constexpr uint32_t kValuesAWord = 4;
  static constexpr Raw kRaw = Raw::kNotRaw;
  float scale;
  __device__ explicit Int8Decoder(const SideData& side) : scale(DecodeBF16(side.head)) {}
  __device__ float Value(uint32_t word, uint32_t i) const {
    return __fmul_rn(static_cast<float>(static_cast<int8_t>(word >> 8 * i & 0xffu)), scale);
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
      break;
  }
  return call(Tag<Int8Decoder>{});
}

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

// ---- words
// ---------------------------------------------------------------------------------------

// 4, 8 or 16 bytes as 32-bit words.
template <uint32_t kWords>
struct VectorOf;
template <>
struct VectorOf<1> {
  using Type = uint32_t;
};
template <>
struct VectorOf<2> {
  using Type = uint2;
};
template <>
struct VectorOf<4> {
  using Type = uint4;
};

template <uint32_t kWords>
struct Words {
  static constexpr uint32_t kBytes = 4 * kWords;
  uint32_t at[kWords];

  __device__ void Take(uint32_t v) { at[0] = v; }
  __device__ void Take(const uint2& v) {
    at[0] = v.x;
    at[1] = v.y;
  }
  __device__ void Take(const uint4& v) {
    at[0] = v.x;
    at[1] = v.y;
    at[2] = v.z;
    at[3] = v.w;
  }
  __device__ auto Vector() const {
    if constexpr (kWords == 1) {
      return at[0];
    } else if constexpr (kWords == 2) {
      return make_uint2(at[0], at[1]);
    } else {
      return make_uint4(at[0], at[1], at[2], at[3]);
    }
  }
  // Past the L1 cache; the address is aligned to all of it.
  __device__ void LoadL2(const std::byte* p) {
    Take(gpu::LoadVecL2<typename VectorOf<kWords>::Type>(p));
  }
  __device__ void LoadWhole(const std::byte* p) {
    Take(gpu::LoadVec<typename VectorOf<kWords>::Type>(p));
  }
  // The first `bytes` from any address; the rest zeros. Touches no byte beyond.
  __device__ void LoadBytes(const std::byte* p, uint32_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(p);
    if (bytes == kBytes && address % kBytes == 0) return LoadWhole(p);
#pragma unroll
    for (uint32_t w = 0; w < kWords; ++w) {
      at[w] = 0;
      if (bytes >= 4 * w + 4 && address % 4 == 0) {
        at[w] = gpu::LoadVec<uint32_t>(p + 4 * w);
      } else if (bytes >= 4 * w + 4 && address % 2 == 0) {
        at[w] = gpu::LoadVec<uint16_t>(p + 4 * w) |
                static_cast<uint32_t>(gpu::LoadVec<uint16_t>(p + 4 * w + 2)) << 16;
      } else {
#pragma unroll
        for (uint32_t b = 0; b < 4; ++b) {
          if (4 * w + b < bytes) at[w] |= static_cast<uint32_t>(p[4 * w + b]) << 8 * b;
        }
      }
    }
  }
};

// ---- a lane's piece of a row
// ---------------------------------------------------------------------

// What a lane decodes at once: 16 bytes of output, or of codes where those are the longer. So the
// stores of neighbouring lanes meet, whatever the ratio of codes to values, and fill whole sectors.
template <class Decoder, FloatType kOut>
struct Piece {
  static constexpr uint32_t kOutBytes = kOut == FloatType::kF32 ? 4 : 2;  // of a value
  static constexpr bool kCopies = static_cast<int>(Decoder::kRaw) == static_cast<int>(kOut);
  static constexpr uint32_t kMostByOut = 16 / kOutBytes;
  static constexpr uint32_t kMostByCodes = 4 * Decoder::kValuesAWord;
  static constexpr uint32_t kValues = kMostByOut < kMostByCodes ? kMostByOut : kMostByCodes;
  static constexpr uint32_t kCodeWords = kValues / Decoder::kValuesAWord;
  static constexpr uint32_t kOutWords = kValues * kOutBytes / 4;
  using Codes = Words<kCodeWords>;
  using Output = Words<kOutWords>;

  __device__ static Output Decode(const Codes& codes, const SideData& side) {
    Output out;
    if constexpr (kCopies) {
#pragma unroll
      for (uint32_t w = 0; w < kOutWords; ++w) out.at[w] = codes.at[w];
    } else {
      const Decoder decoder(side);
      const auto value = [&](uint32_t i) {
        return decoder.Value(codes.at[i / Decoder::kValuesAWord], i % Decoder::kValuesAWord);
      };
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
    }
    return out;
  }

  // Whether every piece of every row is whole and aligned, so that StoreWhole may write it.
  __device__ static bool AreWhole(const OutputRows& out, uint32_t dim) {
    return reinterpret_cast<uintptr_t>(out.values) % Output::kBytes == 0 &&
           out.stride * kOutBytes % Output::kBytes == 0 && dim % kValues == 0;
  }
  __device__ static void StoreWhole(const Output& out, std::byte* to) {
    gpu::StoreVecStreaming(to, out.Vector());
  }
  // Writes the first `values` of them; at any address that is a multiple of a value.
  __device__ static void Store(const Output& out, std::byte* to, uint32_t values) {
    if (values >= kValues && reinterpret_cast<uintptr_t>(to) % Output::kBytes == 0) {
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
