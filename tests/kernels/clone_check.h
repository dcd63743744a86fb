// Body of the clone tests. The including file compiles the kernels once more for one fixed
// processor level, in a namespace of its own, and this compares their bytes with the library's, so
// that a machine with AVX-512 also tests what one without it would run.
// No include guard of the project's headers may be open in another namespace: the functions of the
// library are declared here by hand.
#pragma once

namespace edo {
enum class FloatType : unsigned char;
namespace kernels {
using DecodeRowFunction = void (*)(const std::byte*, const std::byte*, uint32_t, std::byte*);
void EncodeF16(const float*, size_t, std::byte*);
void EncodeBF16(const float*, size_t, std::byte*);
void EncodeInt8Row(const float*, uint32_t, std::byte*);
DecodeRowFunction F32RowDecoder(FloatType);
DecodeRowFunction F16RowDecoder(FloatType);
DecodeRowFunction BF16RowDecoder(FloatType);
DecodeRowFunction Int8RowDecoder(FloatType);
}  // namespace kernels
}  // namespace edo

namespace {

namespace lib = edo::kernels;
namespace clone = edo_clone::kernels;
using Bytes = std::vector<std::byte>;

std::vector<float> CloneRow(uint32_t dim, bool finite, std::mt19937& random) {
  std::vector<float> row(dim);
  const int magnitude = static_cast<int>(random() % 250) - 130;
  for (float& x : row) {
    x = finite ? std::ldexp(static_cast<float>(static_cast<int32_t>(random())), magnitude - 31)
               : std::bit_cast<float>(static_cast<uint32_t>(random()));
  }
  return row;
}

Bytes Decoded(lib::DecodeRowFunction decode, const Bytes& codes, uint32_t dim) {
  Bytes out(dim * 4);
  decode(codes.data(), codes.data() + dim, dim, out.data());
  return out;
}

void CompareClones() {
  std::mt19937 random(7);
  for (uint32_t dim = 1; dim <= 300; ++dim) {
    const auto row = CloneRow(dim, false, random);
    const auto finite = CloneRow(dim, true, random);
    Bytes f32(dim * 4), a16(dim * 2), b16(dim * 2), abf(dim * 2), bbf(dim * 2), a8(dim + 2),
        b8(dim + 2);
    std::memcpy(f32.data(), row.data(), f32.size());
    lib::EncodeF16(row.data(), dim, a16.data());
    clone::EncodeF16(row.data(), dim, b16.data());
    ASSERT_EQ(a16, b16) << dim;
    lib::EncodeBF16(row.data(), dim, abf.data());
    clone::EncodeBF16(row.data(), dim, bbf.data());
    ASSERT_EQ(abf, bbf) << dim;
    lib::EncodeInt8Row(finite.data(), dim, a8.data());
    clone::EncodeInt8Row(finite.data(), dim, b8.data());
    ASSERT_EQ(a8, b8) << dim;
    for (unsigned char type = 0; type < 3; ++type) {
      const auto a = static_cast<edo::FloatType>(type);
      const auto b = static_cast<edo_clone::FloatType>(type);
      ASSERT_EQ(Decoded(lib::F32RowDecoder(a), f32, dim),
                Decoded(clone::F32RowDecoder(b), f32, dim));
      ASSERT_EQ(Decoded(lib::F16RowDecoder(a), a16, dim),
                Decoded(clone::F16RowDecoder(b), a16, dim));
      ASSERT_EQ(Decoded(lib::BF16RowDecoder(a), abf, dim),
                Decoded(clone::BF16RowDecoder(b), abf, dim));
      ASSERT_EQ(Decoded(lib::Int8RowDecoder(a), a8, dim),
                Decoded(clone::Int8RowDecoder(b), a8, dim));
    }
  }
}

}  // namespace
