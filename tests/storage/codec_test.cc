// Codecs through their class: specs, row sizes, strides and gathers against single rows (equal to
// the bit), refusal of values that do not fit, and the quality of INT8 on whole tables: relative
// squared error <= 5e-5 and mean cosine >= 0.9999 at any overall scale of the table, which an 8-bit
// row scale reaches on Gaussian rows of 100 values with a fifth to spare (7e-5 where the values
// within a row are heavy-tailed: the largest value of the row sets the step of all of them).
#include "storage/codec.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/kernels/codec_oracle.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::HasSubstr;
constexpr CodecKind kAllKinds[] = {CodecKind::kF32, CodecKind::kF16, CodecKind::kBF16,
                                   CodecKind::kInt8};
constexpr FloatType kAllTypes[] = {FloatType::kF32, FloatType::kF16, FloatType::kBF16};

std::unique_ptr<Codec> Make(CodecKind kind, uint32_t dim) {
  auto codec = Codec::Make({kind}, dim);
  EXPECT_TRUE(codec.ok()) << codec.status().ToString();
  return std::move(codec).value();
}

std::vector<float> GaussianRows(size_t count, uint32_t dim, std::mt19937& random) {
  std::normal_distribution<float> gauss(0, 1);
  std::vector<float> rows(count * dim);
  for (float& x : rows) x = gauss(random);
  return rows;
}

TEST(CodecSpecTest, NamesGoBothWays) {
  for (const char* name : {"F32", "F16", "BF16", "INT8"}) {
    auto spec = CodecSpec::Parse(name);
    ASSERT_TRUE(spec.ok()) << name;
    EXPECT_EQ(spec->ToString(), name);
  }
  for (const char* name : {"", "int8", "INT8 ", "F64"}) {
    const auto spec = CodecSpec::Parse(name);
    EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr("F32, F16, BF16, INT8"));
    EXPECT_THAT(std::string(spec.status().message()),
                HasSubstr(std::string("codec '").append(name).append("'")));
  }
}

TEST(CodecSpecTest, RowBytes) {
  EXPECT_EQ(CodecSpec{CodecKind::kF32}.RowBytes(300), 1200u);
  EXPECT_EQ(CodecSpec{CodecKind::kF16}.RowBytes(300), 600u);
  EXPECT_EQ(CodecSpec{CodecKind::kBF16}.RowBytes(300), 600u);
  EXPECT_EQ(CodecSpec{CodecKind::kInt8}.RowBytes(300), 302u);
}

TEST(CodecTest, DimMustBeInRange) {
  EXPECT_EQ(Codec::Make({}, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Codec::Make({}, kMaxDim + 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Codec::Make({}, kMaxDim).ok());
}

TEST(CodecTest, DecodeAndGatherAgreeWithSingleRows) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(21)));
  for (CodecKind kind : kAllKinds) {
    for (uint32_t dim : test::kDims) {
      for (size_t count : {0, 1, 3, 1000}) {
        if (count * dim > 200000) continue;
        const auto codec = Make(kind, dim);
        const auto rows = GaussianRows(count, dim, random);
        std::vector<std::byte> codes(count * codec->row_bytes());
        EDO_ASSERT_OK(codec->Encode(rows.data(), count, codes.data()));
        for (FloatType type : kAllTypes) {
          SCOPED_TRACE(codec->spec().ToString() + " dim " + std::to_string(dim) + " count " +
                       std::to_string(count) + " as " + std::string(FloatTypeName(type)));
          const uint64_t stride = dim + 3, bytes = stride * FloatTypeBytes(type);
          std::vector<std::byte> strided(count * bytes, std::byte{0x77});
          auto gathered = strided, expected = strided;
          codec->Decode(codes.data(), count, {strided.data(), type, stride});
          std::vector<const std::byte*> pointers(count);
          std::vector<uint64_t> places(count);
          for (size_t i = 0; i < count; ++i) {
            pointers[i] = codes.data() + i * codec->row_bytes();
            places[i] = count - 1 - i;
          }
          codec->DecodeGather(pointers.data(), places.data(), count,
                              {gathered.data(), type, stride});
          for (size_t i = 0; i < count; ++i) {
            codec->Decode(pointers[i], 1, {expected.data() + i * bytes, type});
            ASSERT_EQ(std::memcmp(gathered.data() + places[i] * bytes, expected.data() + i * bytes,
                                  bytes),
                      0)
                << i;
          }
          ASSERT_TRUE(strided == expected);
        }
      }
    }
  }
}

TEST(CodecTest, F32KeepsEveryBit) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(22)));
  std::vector<uint32_t> bits(4096);
  for (auto& b : bits) b = static_cast<uint32_t>(random());
  std::vector<float> rows(bits.size());
  std::memcpy(rows.data(), bits.data(), bits.size() * 4);
  const auto codec = Make(CodecKind::kF32, 64);
  std::vector<std::byte> codes(bits.size() * 4);
  std::vector<uint32_t> out(bits.size());
  EDO_ASSERT_OK(codec->Encode(rows.data(), 64, codes.data()));
  codec->Decode(codes.data(), 64, {out.data(), FloatType::kF32});
  EXPECT_EQ(out, bits);
}

TEST(CodecTest, ValuesThatDoNotFitAreNamed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  struct Case {
    CodecKind kind;
    float value;
    const char* says;  // null: it fits
  };
  const Case cases[] = {
      {CodecKind::kF32, kInf, nullptr},       {CodecKind::kF32, kNaN, nullptr},
      {CodecKind::kF16, kInf, nullptr},       {CodecKind::kF16, kNaN, nullptr},
      {CodecKind::kF16, 65519.996f, nullptr}, {CodecKind::kF16, 65520, "65520"},
      {CodecKind::kF16, -1e5f, "-1e+05"},     {CodecKind::kBF16, kInf, nullptr},
      {CodecKind::kBF16, 3.39e38f, nullptr},  {CodecKind::kBF16, FLT_MAX, "3.4028235e+38"},
      {CodecKind::kInt8, kInf, "inf"},        {CodecKind::kInt8, -kInf, "-inf"},
      {CodecKind::kInt8, kNaN, "nan"},        {CodecKind::kInt8, FLT_MAX, nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(CodecSpec{c.kind}.ToString() + " " + std::to_string(c.value));
    const auto codec = Make(c.kind, 5);
    std::vector<float> rows(5 * 7, 0.5f);
    rows[3 * 5 + 2] = c.value;
    std::vector<std::byte> codes(7 * codec->row_bytes());
    uint64_t bad = 999;
    const Status s = codec->Encode(rows.data(), 7, codes.data(), &bad);
    if (c.says == nullptr) {
      EDO_EXPECT_OK(s);
      EXPECT_EQ(bad, 999u);
      continue;
    }
    EXPECT_EQ(s.code(), StatusCode::kBadInput);
    EXPECT_EQ(bad, 3u * 5 + 2);
    EXPECT_THAT(std::string(s.message()), HasSubstr(std::string(c.says)));
    EXPECT_THAT(std::string(s.message()), HasSubstr("value 3 of 5"));
  }
}

TEST(CodecTest, ZeroRowsAreExactInEveryCodec) {
  for (CodecKind kind : kAllKinds) {
    const auto codec = Make(kind, 33);
    const std::vector<float> rows(33 * 2, 0.0f);
    std::vector<std::byte> codes(2 * codec->row_bytes(), std::byte{0xff});
    std::vector<float> out(66, 1.0f);
    EDO_ASSERT_OK(codec->Encode(rows.data(), 2, codes.data()));
    codec->Decode(codes.data(), 2, {out.data(), FloatType::kF32});
    for (float x : out) EXPECT_EQ(std::bit_cast<uint32_t>(x), 0u);
  }
}

// The worked example of docs/codecs.md.
TEST(CodecTest, Int8ExampleOfTheDocumentation) {
  const auto codec = Make(CodecKind::kInt8, 4);
  const float row[] = {0.5f, -1.25f, 3.0f, 0.125f};
  const uint8_t expected[] = {0xfa, 0xa0, 0x7a, 0xe6, 0xa7, 0xbc};
  std::byte codes[6];
  EDO_ASSERT_OK(codec->Encode(row, 1, codes));
  EXPECT_EQ(std::memcmp(codes, expected, 6), 0)
      << std::hex << int(codes[0]) << ' ' << int(codes[1]) << ' ' << int(codes[2]) << ' '
      << int(codes[3]) << ' ' << int(codes[4]) << ' ' << int(codes[5]);
}

struct Quality {
  double relative_squared_error = 0, mean_cosine = 0;
};
Quality MeasureInt8(const std::vector<float>& rows, uint32_t dim) {
  const size_t count = rows.size() / dim;
  const auto codec = Make(CodecKind::kInt8, dim);
  std::vector<std::byte> codes(count * codec->row_bytes());
  std::vector<float> out(rows.size());
  EXPECT_TRUE(codec->Encode(rows.data(), count, codes.data()).ok());
  codec->Decode(codes.data(), count, {out.data(), FloatType::kF32});
  double error = 0, energy = 0, cosines = 0;
  for (size_t r = 0; r < count; ++r) {
    double dot = 0, a = 0, b = 0;
    for (size_t i = r * dim; i < (r + 1) * dim; ++i) {
      const double x = rows[i], y = out[i];
      error += (x - y) * (x - y);
      energy += x * x;
      dot += x * y, a += x * x, b += y * y;
    }
    cosines += dot / std::sqrt(a * b);
  }
  return {error / energy, cosines / static_cast<double>(count)};
}

TEST(CodecTest, Int8KeepsTablesCloseAtAnyScale) {
  // A fixed seed: the bounds are those of these tables, not of every draw.
  std::mt19937 random(23);
  constexpr uint32_t kDim = 100;
  const auto gaussian = GaussianRows(5000, kDim, random);
  // Rows whose norms spread over four decades, as trained tables with rare words have.
  auto spread = gaussian;
  std::lognormal_distribution<float> norms(0, 2);
  for (size_t r = 0; r < 5000; ++r) {
    const float norm = norms(random);
    for (uint32_t i = 0; i < kDim; ++i) spread[r * kDim + i] *= norm;
  }
  // Heavy tails within the row: Student's t with 8 degrees of freedom.
  auto heavy = gaussian;
  std::student_t_distribution<float> tails(8);
  for (float& x : heavy) x = tails(random);
  for (float scale : {1e-6f, 1.0f, 1e6f}) {
    for (const std::vector<float>* table :
         {&gaussian, &std::as_const(spread), &std::as_const(heavy)}) {
      auto rows = *table;
      for (float& x : rows) x *= scale;
      const Quality q = MeasureInt8(rows, kDim);
      std::cout << "scale " << scale << ": error " << q.relative_squared_error << ", cosine "
                << q.mean_cosine << "\n";
      EXPECT_LE(q.relative_squared_error, table == &heavy ? 5e-5 : 3.7e-5);
      EXPECT_GE(q.mean_cosine, 0.9999);
    }
  }
}

}  // namespace
}  // namespace edo::storage
