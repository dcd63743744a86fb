// Body of the clone tests. The including file compiles the kernels once more for one fixed
// processor level, in a namespace of its own, and this compares their bytes with the library's, so
// that a machine with AVX-512 also tests what one without it would run.
// No include guard of the project's headers may be open in another namespace: the functions of the
// library are declared here by hand.
#pragma once

namespace edo {
enum class FloatType : unsigned char;
namespace kernels {
enum class RowCodec : unsigned char;
struct RowFormat;
struct Profile;
using DecodeRowFunction = void (*)(const RowFormat&, const std::byte*, const std::byte*, uint32_t,
                                   uint32_t, std::byte*);
void EncodeF16(const float*, size_t, std::byte*);
void EncodeBF16(const float*, size_t, std::byte*);
void EncodeInt8Row(const float*, uint32_t, std::byte*);
void EncodeF8Row(const float*, uint32_t, std::byte*);
void EncodeL4Row(const float*, uint32_t, std::byte*);
void EncodeL4Plus4Row(const float*, uint32_t, std::byte*);
void EncodeProfileRow(RowCodec, const Profile&, const float*, uint32_t, float*, std::byte*);
void FillCentroidTable(const float*, uint32_t, uint32_t, float*);
void NearestCentroids(const float*, size_t, size_t, uint32_t, const float*, uint32_t, uint32_t*,
                      float*);
void CentroidProducts(const float*, uint32_t, const float*, uint32_t, float*);
DecodeRowFunction RowDecoder(RowCodec, FloatType);
}  // namespace kernels
}  // namespace edo

namespace {

namespace lib = edo::kernels;
namespace clone = edo_clone::kernels;
using Bytes = std::vector<std::byte>;

// The clone's types have the library's layouts.
const lib::RowFormat& Twin(const clone::RowFormat& format) {
  return reinterpret_cast<const lib::RowFormat&>(format);
}
const lib::Profile& Twin(const clone::Profile& profile) {
  return reinterpret_cast<const lib::Profile&>(profile);
}

std::vector<float> CloneRow(uint32_t dim, std::mt19937& random) {
  std::vector<float> row(dim);
  const int magnitude = static_cast<int>(random() % 240) - 130;
  for (float& x : row) {
    x = std::ldexp(static_cast<float>(static_cast<int32_t>(random())), magnitude - 31);
  }
  return row;
}

// A row of any bits, side data as well; what is learned are finite numbers.
void CompareDecoders(clone::RowCodec codec, uint32_t dim, std::mt19937& random) {
  uint32_t parts = 0, bits = 0;
  if (codec == clone::RowCodec::kPQ || codec == clone::RowCodec::kRotatedPQ) {
    const uint32_t width = 1 + random() % std::min(dim, 9u);
    parts = (dim + width - 1) / width;
    // The widest cut into as many parts is the one that the format knows.
    while ((dim + (dim + parts - 1) / parts - 1) / ((dim + parts - 1) / parts) != parts) ++parts;
    bits = random() % 2 == 0 ? 4 : 8;
  } else if (codec == clone::RowCodec::kRQ) {
    parts = 1 + random() % 5;
    bits = random() % 2 == 0 ? 4 : 8;
  }
  clone::RowFormat format = clone::MakeRowFormat(codec, dim, parts, bits);
  Bytes learned(format.learned_bytes());
  const size_t floats = format.has_profile() ? learned.size() / 4 : format.rotation_bytes() / 4;
  for (size_t i = 0; i < floats; ++i) {
    const float value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-30f;
    std::memcpy(&learned[4 * i], &value, 4);
  }
  for (size_t at = 4 * floats; at < learned.size(); at += 2) {
    const uint16_t half = static_cast<uint16_t>(random() & 0x807fu) | 0x3f00u;
    std::memcpy(&learned[at], &half, 2);
  }
  format.learned = learned.data();
  Bytes row(format.row_bytes());
  for (std::byte& byte : row) byte = static_cast<std::byte>(random());
  const uint32_t first = dim < 3 ? 0 : random() % (dim / 2) * 2;
  const uint32_t count = 1 + random() % (dim - first);
  for (unsigned char type = 0; type < 3; ++type) {
    Bytes a(dim * 4), b(dim * 4);
    const std::byte* const side = row.data() + format.side_at();
    lib::RowDecoder(static_cast<lib::RowCodec>(codec), static_cast<edo::FloatType>(type))(
        Twin(format), row.data(), side, first, count, a.data());
    clone::RowDecoder(codec, static_cast<edo_clone::FloatType>(type))(format, row.data(), side,
                                                                      first, count, b.data());
    ASSERT_EQ(a, b) << "codec " << static_cast<int>(codec) << " dim " << dim;
    // A piece has the bits of the whole.
    Bytes whole(dim * 4);
    clone::RowDecoder(codec, static_cast<edo_clone::FloatType>(type))(format, row.data(), side, 0,
                                                                      dim, whole.data());
    const size_t value_bytes = type == 0 ? 4 : 2;
    ASSERT_EQ(std::memcmp(b.data(), whole.data() + first * value_bytes, count * value_bytes), 0);
  }
}

void CompareEncoders(uint32_t dim, std::mt19937& random) {
  const auto row = CloneRow(dim, random);
  const auto compare = [&](size_t bytes, const auto& ours, const auto& theirs) {
    Bytes a(bytes), b(bytes);
    ours(a.data());
    theirs(b.data());
    ASSERT_EQ(a, b) << dim;
  };
  const auto both = [&](size_t bytes, auto ours, auto theirs) {
    compare(
        bytes, [&](std::byte* out) { ours(row.data(), dim, out); },
        [&](std::byte* out) { theirs(row.data(), dim, out); });
  };
  both(size_t{dim} * 2, lib::EncodeF16, clone::EncodeF16);
  both(size_t{dim} * 2, lib::EncodeBF16, clone::EncodeBF16);
  both(size_t{dim} + 2, lib::EncodeInt8Row, clone::EncodeInt8Row);
  both(size_t{dim} + 2, lib::EncodeF8Row, clone::EncodeF8Row);
  both(size_t{dim} / 2 + 3, lib::EncodeL4Row, clone::EncodeL4Row);
  both(size_t{dim} + 3, lib::EncodeL4Plus4Row, clone::EncodeL4Plus4Row);

  std::vector<float> arrays(size_t{5} * dim);
  clone::Profile profile;
  profile.mean = arrays.data();
  profile.deviation = profile.mean + dim;
  profile.inverse = profile.deviation + dim;
  profile.weight = profile.inverse + dim;
  profile.pull = profile.weight + dim;
  for (uint32_t i = 0; i < dim; ++i) {
    const float mean = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
    const float deviation = static_cast<float>(random() % 1000 + 1) * 0x1p-10f;
    arrays[i] = mean;
    arrays[dim + i] = deviation;
    arrays[2 * dim + i] = 1 / deviation;
    arrays[3 * dim + i] = deviation * deviation;
    arrays[4 * dim + i] = mean / (deviation * deviation);
    profile.mean_pull += mean * arrays[4 * dim + i];
    profile.mean_square += mean * mean;
  }
  for (const auto codec :
       {clone::RowCodec::kPInt8, clone::RowCodec::kPL4, clone::RowCodec::kPL4Plus4}) {
    std::vector<float> scratch(size_t{3} * dim + 2);
    compare(
        clone::MakeRowFormat(codec, dim).row_bytes(),
        [&](std::byte* out) {
          lib::EncodeProfileRow(static_cast<lib::RowCodec>(codec), Twin(profile), row.data(), dim,
                                scratch.data(), out);
        },
        [&](std::byte* out) {
          clone::EncodeProfileRow(codec, profile, row.data(), dim, scratch.data(), out);
        });
  }
}

void CompareSearches(uint32_t values, std::mt19937& random) {
  const uint32_t count = 1 + random() % 40;
  const auto make = [&](size_t n) {
    std::vector<float> floats(n);
    for (float& x : floats) x = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
    return floats;
  };
  const auto centroids = make(size_t{count} * values);
  const auto vectors = make(size_t{7} * values);
  std::vector<float> a(clone::CentroidTableFloats(count, values)), b(a.size());
  lib::FillCentroidTable(centroids.data(), count, values, a.data());
  clone::FillCentroidTable(centroids.data(), count, values, b.data());
  ASSERT_EQ(a, b);
  std::vector<uint32_t> near_a(7), near_b(7);
  std::vector<float> score_a(7), score_b(7), product_a(count), product_b(count);
  lib::NearestCentroids(vectors.data(), 7, values, values, a.data(), count, near_a.data(),
                        score_a.data());
  clone::NearestCentroids(vectors.data(), 7, values, values, a.data(), count, near_b.data(),
                          score_b.data());
  ASSERT_EQ(near_a, near_b);
  ASSERT_EQ(score_a, score_b);
  lib::CentroidProducts(vectors.data(), values, a.data(), count, product_a.data());
  clone::CentroidProducts(vectors.data(), values, a.data(), count, product_b.data());
  ASSERT_EQ(product_a, product_b);
}

void CompareClones() {
  std::mt19937 random(7);
  for (uint32_t dim = 1; dim <= 300; ++dim) {
    CompareEncoders(dim, random);
    for (int codec = 0; codec < clone::kRowCodecs; ++codec) {
      CompareDecoders(static_cast<clone::RowCodec>(codec), dim, random);
    }
    CompareSearches(1 + dim % 33, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
