// Compares the codec kernels with plain loops over every dim of kDims, at every byte alignment of
// the codes, for rows from the smallest denormal to FLT_MAX. Equality is to the bit everywhere: the
// oracle's formulas are exact or rounded once. The INT8 error bound is checked in double.
#include "kernels/codec_kernels.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/kernels/codec_oracle.h"
#include "tests/support/test_util.h"

namespace edo::kernels {
namespace {

using test::kDims;
using test::RowKind;

template <typename T>
std::vector<T> DecodeAs(DecodeRowFunction decode, const std::byte* row, uint32_t dim) {
  std::vector<std::byte> bytes(dim * sizeof(T) + 1, std::byte{0xa5});
  decode({}, row, row + dim, 0, dim, bytes.data());
  EXPECT_EQ(bytes.back(), std::byte{0xa5}) << "wrote past the row, dim " << dim;
  std::vector<T> values(dim);
  std::memcpy(values.data(), bytes.data(), dim * sizeof(T));
  return values;
}

TEST(Int8Kernel, AgreesWithTheOracleAndKeepsItsBound) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(1)));
  for (uint32_t dim : kDims) {
    for (int kind = 0; kind < static_cast<int>(RowKind::kCount); ++kind) {
      for (int repeat = 0; repeat < 8; ++repeat) {
        SCOPED_TRACE("dim " + std::to_string(dim) + " kind " + std::to_string(kind));
        const auto row = test::MakeRow(static_cast<RowKind>(kind), dim, random);
        const auto expected = test::OracleInt8(row.data(), dim);
        const size_t shift = static_cast<size_t>(repeat);
        std::vector<std::byte> codes(dim + 2 + shift + 1, std::byte{0x5a});
        std::byte* const at = codes.data() + shift;
        EncodeInt8Row(row.data(), dim, at);
        ASSERT_EQ(codes.back(), std::byte{0x5a});
        ASSERT_EQ(std::memcmp(at + dim, &expected.side, 2), 0);
        ASSERT_EQ(std::memcmp(at, expected.codes.data(), dim), 0);

        const auto f32 = DecodeAs<float>(Int8RowDecoder(FloatType::kF32), at, dim);
        const auto f16 = DecodeAs<uint16_t>(Int8RowDecoder(FloatType::kF16), at, dim);
        const auto bf16 = DecodeAs<uint16_t>(Int8RowDecoder(FloatType::kBF16), at, dim);
        double largest = 0;
        for (float x : row) largest = std::max(largest, std::fabs(double{x}));
        for (uint32_t i = 0; i < dim; ++i) {
          const float value =
              static_cast<float>(expected.codes[i] + expected.offset) * BF16ToF32(expected.scale);
          ASSERT_EQ(std::bit_cast<uint32_t>(f32[i]), std::bit_cast<uint32_t>(value));
          ASSERT_EQ(f16[i], F32ToF16(value));
          ASSERT_EQ(bf16[i], F32ToBF16(value));
          ASSERT_TRUE(std::isfinite(f32[i]));
          ASSERT_LE(std::fabs(double{f32[i]} - double{row[i]}), test::Int8Bound(largest)) << i;
        }
      }
    }
  }
}

TEST(Int8Kernel, ScaleIsTheSmallestThatHoldsTheRow) {
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 4093) {
    const float largest = std::bit_cast<float>(bits);
    ASSERT_EQ(Int8ScaleBits(largest), test::OracleScale(largest)) << largest;
  }
  // Floats around every 127 * s, where rounding the quotient could go wrong.
  for (uint16_t scale = 0; scale <= 0x7c01; ++scale) {
    const float edge = 127.0f * BF16ToF32(scale);
    for (float largest : {edge, std::nextafter(edge, 0.0f), std::nextafter(edge, FLT_MAX)}) {
      ASSERT_EQ(Int8ScaleBits(largest), test::OracleScale(largest)) << largest;
    }
  }
}

// Rows that one reach above zero and another below, around the scales at which one more step of
// codes is needed.
TEST(Int8Kernel, OffsetIsTheOneOfTheSmallestScale) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(4)));
  std::set<uint16_t> offsets;
  for (int i = 0; i < 20000; ++i) {
    const float far = std::ldexp(static_cast<float>(random() % 65536 + 65536),
                                 static_cast<int>(random() % 250) - 150);
    const float near = random() % 4 == 0 ? far * static_cast<float>(random() % 255) / 255
                                         : far * (static_cast<float>(random()) * 0x1p-32f);
    for (const float sign : {1.0f, -1.0f}) {
      float row[3] = {sign * far, -sign * near, 0};
      for (const float edge : {0.0f, FLT_MAX}) {
        const auto expected = test::OracleInt8(row, 3);
        std::byte codes[5];
        EncodeInt8Row(row, 3, codes);
        ASSERT_EQ(std::memcmp(codes + 3, &expected.side, 2), 0) << row[0] << ", " << row[1];
        ASSERT_EQ(std::memcmp(codes, expected.codes.data(), 3), 0) << row[0] << ", " << row[1];
        float out[3];
        Int8RowDecoder(FloatType::kF32)({}, codes, codes + 3, 0, 3,
                                        reinterpret_cast<std::byte*>(out));
        ASSERT_EQ(std::bit_cast<uint32_t>(out[2]), 0u);  // a zero stays one
        if (expected.side >= 0x8000) offsets.insert(expected.side % 8);
        row[0] = std::nextafter(row[0], edge);
      }
    }
  }
  EXPECT_EQ(offsets.size(), 8u);
}

// What is left of L4+4 is the row that L4 itself would write, down to the last bit.
TEST(L4Kernel, WithoutItsRefinementARowIsOneOfL4) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(5)));
  for (const uint32_t dim : {1u, 2u, 33u, 100u}) {
    const RowFormat both = MakeRowFormat(RowCodec::kL4Plus4, dim);
    std::vector<std::byte> refined(both.row_bytes()), dropped((dim + 1) / 2 + 2), l4(dropped);
    int nearer = 0;
    for (int i = 0; i < 200; ++i) {
      const auto row = test::MakeRow(RowKind::kGaussian, dim, random);
      EncodeL4Plus4Row(row.data(), dim, refined.data());
      EncodeL4Row(row.data(), dim, l4.data());
      uint16_t scale = 0;
      std::memcpy(&scale, refined.data() + both.side_at(), 2);
      nearer += scale >= 0x8000;
      DropL4Refinement(both, refined.data(), dropped.data());
      ASSERT_EQ(dropped, l4);
    }
    EXPECT_GT(nearer, 100);
  }
}

// Rows that were written before there were offsets mean what they meant.
TEST(Int8Kernel, RowsWithoutOffsetReadAsEver) {
  for (uint32_t scale = 0; scale < 0x7f80; ++scale) {
    const int8_t codes[] = {127, -127, 1, 0};
    const auto bits = static_cast<uint16_t>(scale);
    float out[4];
    Int8RowDecoder(FloatType::kF32)({}, reinterpret_cast<const std::byte*>(codes),
                                    reinterpret_cast<const std::byte*>(&bits), 0, 4,
                                    reinterpret_cast<std::byte*>(out));
    for (int i = 0; i < 4; ++i) ASSERT_EQ(out[i], codes[i] * BF16ToF32(bits)) << scale;
  }
}

TEST(Int8Kernel, ErrorBoundHoldsForEveryExponentOfTheLargestValue) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(2)));
  std::vector<float> row(64);
  std::vector<std::byte> codes(66);
  std::vector<float> out(64);
  for (uint32_t bits = 1; bits < 0x7f800000u; bits += 70001) {
    const float largest = std::bit_cast<float>(bits);
    for (float& x : row) x = largest * std::ldexp(static_cast<float>(random()), -32);
    row[5] = -largest;
    double actual = 0;
    for (float x : row) actual = std::max(actual, std::fabs(double{x}));
    EncodeInt8Row(row.data(), 64, codes.data());
    Int8RowDecoder(FloatType::kF32)({}, codes.data(), codes.data() + 64, 0, 64,
                                    reinterpret_cast<std::byte*>(out.data()));
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_LE(std::fabs(double{out[i]} - double{row[i]}), test::Int8Bound(actual)) << largest;
    }
  }
}

// Floats of every kind, NaN and infinities among them.
std::vector<float> AnyFloats(size_t count, std::mt19937& random) {
  std::vector<float> values(count);
  for (float& x : values) {
    x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (random() % 4 == 0)
      x = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 1000,
                     static_cast<int>(random() % 40) - 25);
  }
  return values;
}

TEST(FloatKernels, EncodeAndDecodeAgreeWithTheFormulas) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(3)));
  for (uint32_t dim : kDims) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    const auto row = AnyFloats(dim, random);
    std::vector<std::byte> f16(dim * 2 + 1), bf16(dim * 2 + 1), f32(dim * 4 + 1);
    EncodeF16(row.data(), dim, f16.data() + 1);  // odd address on purpose
    EncodeBF16(row.data(), dim, bf16.data() + 1);
    std::memcpy(f32.data() + 1, row.data(), dim * 4);
    const auto from = [&](auto decoder_of, const std::vector<std::byte>& codes, auto expected) {
      const auto a = DecodeAs<uint32_t>(decoder_of(FloatType::kF32), codes.data() + 1, dim);
      const auto b = DecodeAs<uint16_t>(decoder_of(FloatType::kF16), codes.data() + 1, dim);
      const auto c = DecodeAs<uint16_t>(decoder_of(FloatType::kBF16), codes.data() + 1, dim);
      for (uint32_t i = 0; i < dim; ++i) {
        const float value = expected(row[i]);
        ASSERT_EQ(a[i], std::bit_cast<uint32_t>(value)) << i;
        ASSERT_EQ(b[i], F32ToF16(value)) << i;
        ASSERT_EQ(c[i], F32ToBF16(value)) << i;
      }
    };
    from(F32RowDecoder, f32, [](float x) { return x; });
    from(F16RowDecoder, f16, [](float x) { return F16ToF32(F32ToF16(x)); });
    from(BF16RowDecoder, bf16, [](float x) { return BF16ToF32(F32ToBF16(x)); });
  }
}

TEST(FloatKernels, FirstMagnitudeInFindsTheFirst) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (size_t count :
       {size_t{0}, size_t{1}, size_t{31}, size_t{4096}, size_t{4097}, size_t{10000}}) {
    std::vector<float> values(count, 65519.0f);
    EXPECT_EQ(FirstMagnitudeIn(values.data(), count, kF16OverflowBits, kInfinityBits), count);
    for (size_t at : {size_t{0}, count / 2, count - 1}) {
      if (at >= count) continue;
      auto bad = values;
      bad[at] = bad[count - 1] = -65520.0f;
      EXPECT_EQ(FirstMagnitudeIn(bad.data(), count, kF16OverflowBits, kInfinityBits), at);
      EXPECT_EQ(FirstMagnitudeIn(bad.data(), count, kInfinityBits, kMagnitudeEnd), count);
      bad[at] = -kInf;
      EXPECT_EQ(FirstMagnitudeIn(bad.data(), count, kInfinityBits, kMagnitudeEnd), at);
      bad[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(FirstMagnitudeIn(bad.data(), count, kInfinityBits, kMagnitudeEnd), at);
    }
  }
}

}  // namespace
}  // namespace edo::kernels
