// The codecs below INT8, each with every kind of row that is hard for one: zeros, constants, tiny
// and huge magnitudes, one row, rows that are all alike, fewer rows than centroids, dims from 1 to
// 4096. Then the goals that the ladder was chosen by, on tables from a seed; errors of codecs that
// learn are of rows that they have not seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "storage/codec.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::HasSubstr;

CodecSpec SpecOf(const std::string& word) {
  const auto spec = CodecSpec::Parse(word);
  EXPECT_TRUE(spec.ok()) << spec.status().ToString();
  return *spec;
}

// Codecs for rows of `dim`: about 4 and 2 bits a value, 4- and 8-bit codes, a last part that is
// shorter.
std::vector<std::string> Words(uint32_t dim) {
  const auto pq = [&](uint32_t width) {
    uint32_t parts = (dim + width - 1) / width;
    while (!SpecOf("PQ" + std::to_string(parts) + "x8").Check(dim).ok()) ++parts;
    return std::to_string(parts);
  };
  return {"F8",
          "L4",
          "L4+4",
          "P,INT8",
          "P,L4",
          "P,L4+4",
          "PQ" + pq(2) + "x8",
          "PQ" + pq(7) + "x4",
          "OPQ" + pq(4) + ",PQ" + pq(4) + "x8",
          "RQ3x8",
          "RQ4x4"};
}

std::unique_ptr<Codec> LearnAndMake(const CodecSpec& spec, uint32_t dim,
                                    std::span<const float> sample, uint32_t threads = 1) {
  LearnOptions options;
  options.threads = threads;
  const auto learned = Codec::Learn(spec, dim, sample, options);
  EXPECT_TRUE(learned.ok()) << learned.status().ToString();
  auto codec = Codec::Make(spec, dim, *learned);
  EXPECT_TRUE(codec.ok()) << codec.status().ToString();
  return std::move(*codec);
}

std::vector<float> RoundTrip(const Codec& codec, std::span<const float> rows) {
  const size_t count = rows.size() / codec.dim();
  std::vector<std::byte> codes(count * codec.row_bytes());
  EDO_EXPECT_OK(codec.Encode(rows.data(), count, codes.data()));
  std::vector<float> out(rows.size());
  codec.Decode(codes.data(), count, {out.data(), FloatType::kF32, 0, 0});
  return out;
}

double RelError(std::span<const float> x, std::span<const float> y) {
  double error = 0, energy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    energy += double{x[i]} * x[i];
  }
  return energy == 0 ? (error == 0 ? 0 : HUGE_VAL) : error / energy;
}

double MeanRelError(std::span<const float> x, std::span<const float> y, uint32_t dim) {
  double sum = 0;
  for (size_t at = 0; at < x.size(); at += dim) {
    sum += RelError(x.subspan(at, dim), y.subspan(at, dim));
  }
  return sum / static_cast<double>(x.size() / dim);
}

double P1Cosine(std::span<const float> x, std::span<const float> y, uint32_t dim) {
  std::vector<double> cosines;
  for (size_t at = 0; at < x.size(); at += dim) {
    double xy = 0, xx = 0, yy = 0;
    for (uint32_t j = 0; j < dim; ++j) {
      xy += double{x[at + j]} * y[at + j];
      xx += double{x[at + j]} * x[at + j];
      yy += double{y[at + j]} * y[at + j];
    }
    cosines.push_back(yy > 0 ? xy / std::sqrt(xx * yy) : 0);
  }
  std::sort(cosines.begin(), cosines.end());
  return cosines[cosines.size() / 100];
}

std::vector<float> Gaussian(size_t rows, uint32_t dim, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> gauss(0, 1);
  std::vector<float> values(rows * dim);
  for (float& v : values) v = gauss(random);
  return values;
}

TEST(LadderSpec, WordsGoBothWays) {
  for (const char* word : {"F8", "L4", "L4+4", "P,INT8", "P,L4", "P,L4+4", "PQ25x8", "PQ12x4",
                           "OPQ25,PQ25x8", "RQ12x8", "RQ1x4"}) {
    const auto spec = CodecSpec::Parse(word);
    ASSERT_TRUE(spec.ok()) << word;
    EXPECT_EQ(spec->ToString(), word);
  }
  for (const char* word : {"P,",    "P,F16", "P,F8",       "P,PQ4x8",         "PQ",     "PQx8",
                           "PQ0x8", "PQ4",   "PQ4x",       "PQ4x7",           "PQ04x8", "PQ4x8 ",
                           "OPQ4",  "OPQ4,", "OPQ4,PQ5x8", "OPQ4,RQ4x8",      "RQ",     "RQ4x9",
                           "L5",    "l4",    "L4+",        "PQ99999999999x8", "PQ-4x8", "P,P,L4"}) {
    EXPECT_EQ(CodecSpec::Parse(word).status().code(), StatusCode::kInvalidArgument) << word;
  }
}

TEST(LadderSpec, BytesOfRowsAndOfWhatIsLearned) {
  const auto bytes = [](const char* word, uint32_t dim) {
    return std::pair(SpecOf(word).RowBytes(dim), SpecOf(word).LearnedBytes(dim));
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(bytes("F8", 100), Pair(102, 0));
  EXPECT_EQ(bytes("L4", 100), Pair(52, 0));
  EXPECT_EQ(bytes("L4", 101), Pair(53, 0));
  EXPECT_EQ(bytes("L4+4", 101), Pair(104, 0));
  EXPECT_EQ(bytes("P,INT8", 100), Pair(104, 800));
  EXPECT_EQ(bytes("P,L4", 100), Pair(54, 800));
  EXPECT_EQ(bytes("PQ25x8", 100), Pair(27, 256 * 100 * 2));
  EXPECT_EQ(bytes("PQ25x4", 100), Pair(15, 16 * 100 * 2));
  EXPECT_EQ(bytes("OPQ25,PQ25x8", 100), Pair(27, 100 * 100 * 4 + 256 * 100 * 2));
  EXPECT_EQ(bytes("RQ12x8", 100), Pair(14, 12 * 256 * 100 * 2));
}

TEST(LadderSpec, PartsMustFitTheRow) {
  EXPECT_TRUE(SpecOf("PQ13x8").Check(100).ok());  // 12 of 8 values, one of 4
  const Status empty = SpecOf("PQ30x8").Check(100);
  EXPECT_EQ(empty.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(empty.message()), HasSubstr("m = 25 or 34 would do"));
  EXPECT_EQ(SpecOf("PQ101x8").Check(100).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SpecOf("RQ65x8").Check(100).code(), StatusCode::kInvalidArgument);
  for (uint32_t dim : {1u, 3u, 100u, 300u, 4096u}) {
    for (const std::string& word : Words(dim)) EDO_EXPECT_OK(SpecOf(word).Check(dim));
  }
}

// Hard rows, each with the largest relative squared error that is right for any codec: never above
// 1, and what comes back is finite.
TEST(Ladder, HardRowsOfEveryDim) {
  for (const uint32_t dim : {1u, 3u, 100u, 300u, 4096u}) {
    const size_t sample_rows = dim > 1000 ? 20 : 300;
    const std::vector<float> sample = Gaussian(sample_rows, dim, 3);
    std::vector<std::vector<float>> hard(8, std::vector<float>(dim, 0.0f));
    std::fill(hard[1].begin(), hard[1].end(), 0.7f);
    for (uint32_t j = 0; j < dim; ++j) {
      hard[2][j] = sample[j] * 1e-30f;
      hard[3][j] = sample[j] * 1e-39f;  // denormals
      hard[4][j] = std::copysign(8.4e37f, sample[j]);
      hard[5][j] = sample[j] * 1e30f;
      hard[7][j] = j % 2 == 0 ? std::numeric_limits<float>::denorm_min() : -0.0f;
    }
    hard[6][dim / 2] = -3e20f;  // one value alone
    for (const std::string& word : Words(dim)) {
      SCOPED_TRACE(word + " of dim " + std::to_string(dim));
      const auto codec = LearnAndMake(SpecOf(word), dim, sample);
      for (size_t i = 0; i < hard.size(); ++i) {
        const std::vector<float> back = RoundTrip(*codec, hard[i]);
        for (const float v : back) ASSERT_TRUE(std::isfinite(v)) << "row " << i;
        if (i == 0) {
          for (const float v : back) ASSERT_EQ(v, 0.0f);
        } else {
          ASSERT_LE(RelError(hard[i], back), 1.0001) << "row " << i;
        }
      }
    }
  }
}

TEST(Ladder, ScalesOfManyMagnitudesCostNothing) {
  const uint32_t dim = 100;
  const std::vector<float> sample = Gaussian(2000, dim, 4);
  for (const std::string& word : Words(dim)) {
    SCOPED_TRACE(word);
    const auto codec = LearnAndMake(SpecOf(word), dim, sample);
    const std::vector<float> rows = Gaussian(200, dim, 5);
    const double error = MeanRelError(rows, RoundTrip(*codec, rows), dim);
    for (const float factor : {1e-30f, 1e-6f, 1e6f, 1e30f}) {
      std::vector<float> scaled = rows;
      for (float& v : scaled) v *= factor;
      EXPECT_NEAR(MeanRelError(scaled, RoundTrip(*codec, scaled), dim) / error, 1, 0.03) << factor;
    }
  }
}

TEST(Ladder, ValuesThatDoNotFitAreNamed) {
  const uint32_t dim = 10;
  const std::vector<float> sample = Gaussian(50, dim, 6);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const char* word :
       {"F8", "L4", "L4+4", "P,INT8", "P,L4", "P,L4+4", "PQ5x8", "OPQ5,PQ5x8", "RQ2x8"}) {
    SCOPED_TRACE(word);
    const auto codec = LearnAndMake(SpecOf(word), dim, sample);
    std::vector<std::byte> codes(3 * codec->row_bytes());
    std::vector<float> rows = Gaussian(3, dim, 7);
    for (const float bad : {std::nanf(""), kInf, -kInf, 8.6e37f}) {
      if (bad == 8.6e37f && std::string(word) == "F8") continue;  // holds it
      rows[17] = bad;
      uint64_t at = 0;
      const Status s = codec->Encode(rows.data(), 3, codes.data(), &at);
      EXPECT_EQ(s.code(), StatusCode::kBadInput) << bad;
      EXPECT_EQ(at, 17u);
      EXPECT_THAT(std::string(s.message()), HasSubstr("value 8 of 10"));
      EXPECT_THAT(std::string(s.message()), HasSubstr(word));
    }
  }
}

TEST(Ladder, NoRowsOneRowAndRowsAllAlike) {
  for (const uint32_t dim : {1u, 3u, 100u}) {
    for (const std::string& word : Words(dim)) {
      SCOPED_TRACE(word + " of dim " + std::to_string(dim));
      const CodecSpec spec = SpecOf(word);
      const std::vector<float> one = Gaussian(1, dim, 8);
      std::vector<float> alike;
      for (int i = 0; i < 400; ++i) alike.insert(alike.end(), one.begin(), one.end());
      for (const std::vector<float>& sample :
           {std::vector<float>(), std::vector<float>(size_t{dim} * 20), one, alike}) {
        const auto codec = LearnAndMake(spec, dim, sample);
        const std::vector<float> back = RoundTrip(*codec, one);
        ASSERT_LE(RelError(one, back), 1.0001);
        if (sample.empty() || sample[0] == 0) continue;
        // What was learned from the row itself gives it back, but for rounding of what is stored.
        if (spec.kind == CodecKind::kPQ || spec.kind == CodecKind::kRQ) {
          EXPECT_LE(RelError(one, back), 1e-4);
        }
      }
    }
  }
}

// With no more rows than centroids every row has its own.
TEST(Ladder, FewerRowsThanCentroidsComeBackNearlyExact) {
  const uint32_t dim = 24;
  const std::vector<float> rows = Gaussian(200, dim, 9);
  for (const char* word : {"PQ6x8", "OPQ6,PQ6x8", "RQ2x8"}) {
    const auto codec = LearnAndMake(SpecOf(word), dim, rows);
    EXPECT_LE(MeanRelError(rows, RoundTrip(*codec, rows), dim), 2e-5) << word;
  }
}

TEST(Ladder, WhatIsLearnedDoesNotDependOnThreads) {
  const uint32_t dim = 20;
  const std::vector<float> sample = Gaussian(3000, dim, 10);
  for (const char* word : {"P,L4", "PQ7x4", "PQ10x8", "OPQ5,PQ5x8", "RQ3x8"}) {
    LearnOptions options;
    options.threads = 1;
    const auto one = Codec::Learn(SpecOf(word), dim, sample, options);
    options.threads = 5;
    const auto five = Codec::Learn(SpecOf(word), dim, sample, options);
    ASSERT_TRUE(one.ok() && five.ok());
    EXPECT_EQ(*one, *five) << word;
    options.seed = 2;
    const auto other = Codec::Learn(SpecOf(word), dim, sample, options);
    if (!SpecOf(word).profile) {
      EXPECT_NE(*one, *other) << word;
    }
  }
}

TEST(Ladder, LearningCanBeStopped) {
  const std::vector<float> sample = Gaussian(2000, 16, 11);
  for (const char* word : {"PQ4x8", "OPQ4,PQ4x8", "RQ4x8"}) {
    LearnOptions options;
    options.threads = 2;
    options.step = [] { return Status::Cancelled("enough"); };
    EXPECT_EQ(Codec::Learn(SpecOf(word), 16, sample, options).status().code(),
              StatusCode::kCancelled)
        << word;
  }
}

TEST(Ladder, LearnedBytesThatCannotBeAreRefused) {
  const CodecSpec profile = SpecOf("P,L4");
  const std::vector<float> sample = Gaussian(100, 4, 12);
  auto learned = *Codec::Learn(profile, 4, sample, {});
  EXPECT_EQ(Codec::Make(profile, 4, std::span(learned).first(31)).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(Codec::Make(profile, 4).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(Codec::Make(SpecOf("L4"), 4, learned).status().code(), StatusCode::kCorruption);
  const float zero = 0, nan = std::nanf("");
  std::memcpy(learned.data() + 20, &zero, 4);  // a deviation
  EXPECT_EQ(Codec::Make(profile, 4, learned).status().code(), StatusCode::kCorruption);
  auto books = *Codec::Learn(SpecOf("OPQ2,PQ2x4"), 4, sample, {});
  std::memcpy(books.data() + 8, &nan, 4);
  EXPECT_EQ(Codec::Make(SpecOf("OPQ2,PQ2x4"), 4, books).status().code(), StatusCode::kCorruption);
}

// ---- goals

double Int4Error(std::span<const float> rows, uint32_t dim) {
  std::vector<float> back(rows.size());
  for (size_t at = 0; at < rows.size(); at += dim) {
    float largest = 0;
    for (uint32_t j = 0; j < dim; ++j) largest = std::max(largest, std::fabs(rows[at + j]));
    for (uint32_t j = 0; j < dim; ++j) {
      back[at + j] = std::nearbyint(rows[at + j] / (largest / 7)) * (largest / 7);
    }
  }
  return MeanRelError(rows, back, dim);
}

TEST(LadderGoals, L4AndItsRefinement) {
  const uint32_t dim = 100;
  const std::vector<float> rows = Gaussian(2000, dim, 13);
  const auto l4 = LearnAndMake(SpecOf("L4"), dim, {});
  const auto both = LearnAndMake(SpecOf("L4+4"), dim, {});
  const auto int8 = LearnAndMake(SpecOf("INT8"), dim, {});
  const std::vector<float> coarse = RoundTrip(*l4, rows);
  const double error = MeanRelError(rows, coarse, dim);
  EXPECT_LE(error, 0.65 * Int4Error(rows, dim));
  EXPECT_GE(P1Cosine(rows, coarse, dim), 0.990);
  EXPECT_LE(MeanRelError(rows, RoundTrip(*both, rows), dim),
            1.1 * MeanRelError(rows, RoundTrip(*int8, rows), dim));
  // The first half of L4+4 is L4 with (nearly) the same scale.
  std::vector<std::byte> codes(2000 * both->row_bytes()), halves(2000 * l4->row_bytes());
  EDO_ASSERT_OK(both->Encode(rows.data(), 2000, codes.data()));
  for (size_t i = 0; i < 2000; ++i) {
    std::memcpy(&halves[i * 52], &codes[i * 102], 50);
    std::memcpy(&halves[i * 52 + 50], &codes[i * 102 + 100], 2);
  }
  std::vector<float> base(rows.size());
  l4->Decode(halves.data(), 2000, {base.data(), FloatType::kF32, 0, 0});
  EXPECT_LE(MeanRelError(rows, base, dim), 1.03 * error);
}

TEST(LadderGoals, TheProfile) {
  const uint32_t dim = 100;
  const std::vector<float> alike = Gaussian(6000, dim, 14);
  std::vector<float> outliers = alike;
  for (size_t at = 0; at < outliers.size(); at += dim) {
    for (uint32_t j = 0; j < 4; ++j) outliers[at + 25 * j] = 40.0f + 3 * outliers[at + 25 * j];
  }
  const auto errors = [&](const std::vector<float>& table, const char* word) {
    const std::span<const float> all(table);
    const auto codec = LearnAndMake(SpecOf(word), dim, all.first(4000 * dim));
    const auto held_out = all.last(2000 * dim);
    return MeanRelError(held_out, RoundTrip(*codec, held_out), dim);
  };
  EXPECT_LE(errors(alike, "P,L4"), 1.02 * errors(alike, "L4"));
  EXPECT_LE(errors(outliers, "P,L4"), 0.1 * errors(outliers, "L4"));
  EXPECT_LE(errors(outliers, "P,INT8"), 0.1 * errors(outliers, "INT8"));
}

// A row that the profile does not suit is coded without it.
TEST(LadderGoals, NoRowIsWorseWithTheProfileThanWithout) {
  const uint32_t dim = 32;
  std::vector<float> sample = Gaussian(2000, dim, 15);
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = 5 + 0.1f * sample[i];
  const std::vector<float> others = Gaussian(500, dim, 16);
  for (const auto& [with, without] :
       {std::pair("P,L4", "L4"), std::pair("P,INT8", "INT8"), std::pair("P,L4+4", "L4+4")}) {
    const auto p = LearnAndMake(SpecOf(with), dim, sample);
    const auto plain = LearnAndMake(SpecOf(without), dim, {});
    const std::vector<float> a = RoundTrip(*p, others), b = RoundTrip(*plain, others);
    for (size_t at = 0; at < others.size(); at += dim) {
      const auto of = [&](const std::vector<float>& v) { return std::span(v).subspan(at, dim); };
      EXPECT_LE(RelError(of(others), of(a)), RelError(of(others), of(b)) * 1.0001) << with;
    }
  }
}

// Rows of tiny norm survive beside rows of large norm, and more parts are never worse.
TEST(LadderGoals, QuantisersKeepRowsOfTinyNorm) {
  const uint32_t dim = 32;
  std::vector<float> rows = Gaussian(6000, dim, 17);
  std::mt19937_64 random(18);
  for (size_t at = 0; at < rows.size(); at += dim) {
    const float norm = std::ldexp(1.0f, -static_cast<int>(random() % 40));
    for (uint32_t j = 0; j < dim; ++j) rows[at + j] *= norm;
  }
  const std::span<const float> all(rows);
  double last = 1;
  for (const char* word : {"PQ4x8", "PQ8x8", "PQ16x8"}) {
    const auto codec = LearnAndMake(SpecOf(word), dim, all.first(5000 * dim));
    const auto held_out = all.last(1000 * dim);
    const double error = MeanRelError(held_out, RoundTrip(*codec, held_out), dim);
    EXPECT_LT(error, 0.75 * last) << word;
    last = error;
  }
  EXPECT_LT(last, 0.03);
}

// A rotation gains where columns go together.
TEST(LadderGoals, TheRotationGainsOnCorrelatedColumns) {
  const uint32_t dim = 16;
  std::vector<float> rows = Gaussian(6000, dim, 19);
  for (size_t at = 0; at < rows.size(); at += dim) {
    for (uint32_t j = 8; j < dim; ++j) rows[at + j] = rows[at + j - 8] + 0.2f * rows[at + j];
  }
  const std::span<const float> all(rows);
  const auto error = [&](const char* word) {
    const auto codec = LearnAndMake(SpecOf(word), dim, all.first(5000 * dim));
    const auto held_out = all.last(1000 * dim);
    return MeanRelError(held_out, RoundTrip(*codec, held_out), dim);
  };
  EXPECT_LT(error("OPQ4,PQ4x8"), 0.7 * error("PQ4x8"));
  EXPECT_LT(error("RQ4x8"), error("PQ4x8"));
}

}  // namespace
}  // namespace edo::storage
