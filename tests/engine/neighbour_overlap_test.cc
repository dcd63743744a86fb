// NeighbourOverlap and NearestRows against brute force. Coordinates are small whole numbers in one
// test, so that many cosines are exactly equal and ties matter; elsewhere they are random, and the
// brute force computes scores as floats in the same order, so that lists must be equal.
#include "engine/neighbour_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "engine/nearest_rows.h"
#include "tests/support/test_util.h"

namespace edo::engine {
namespace {

std::vector<float> Units(const std::vector<float>& values, uint32_t dim) {
  std::vector<float> units(values.size());
  for (size_t r = 0; r * dim < values.size(); ++r) {
    UnitRow(values.data() + r * dim, dim, units.data() + r * dim);
  }
  return units;
}

std::vector<NearRow> BruteForce(const std::vector<float>& units, const float* query, uint32_t dim,
                                const std::vector<size_t>& rows) {
  std::vector<NearRow> all;
  for (const size_t row : rows) {
    float score = 0;
    for (uint32_t c = 0; c < dim; ++c) score += query[c] * units[row * dim + c];
    all.push_back({score, row});
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<float> RandomValues(size_t count, uint64_t seed, bool whole) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) {
    v = whole ? static_cast<float>(static_cast<int>(random() % 3) - 1) : normal(random);
  }
  return values;
}

TEST(NearestRows, AgreesWithBruteForceForAllShapesAndThreads) {
  const uint64_t seed = test::Seed(31);
  for (const bool whole : {false, true}) {
    for (const uint32_t dim : {1u, 3u, 31u, 64u}) {
      for (const size_t count : {size_t{1}, size_t{15}, size_t{257}, size_t{1000}}) {
        SCOPED_TRACE(std::to_string(dim) + " x " + std::to_string(count));
        const auto values = RandomValues(count * dim, seed + dim, whole);
        const auto units = Units(values, dim);
        std::vector<size_t> rows;
        for (size_t r = 0; r < count; r += 1 + r % 2) rows.push_back(r);
        const std::vector<float> queries(units.begin(),
                                         units.begin() + std::min<size_t>(count, 6) * dim);
        for (const uint32_t threads : {1u, 3u}) {
          const auto near = NearestRows(values.data(), rows, dim, queries, 5, threads);
          ASSERT_EQ(near.size(), queries.size() / dim);
          for (size_t q = 0; q < near.size(); ++q) {
            auto expected = BruteForce(units, queries.data() + q * dim, dim, rows);
            expected.resize(std::min<size_t>(5, expected.size()));
            ASSERT_EQ(near[q].size(), expected.size());
            for (size_t i = 0; i < expected.size(); ++i) {
              EXPECT_EQ(near[q][i].row, expected[i].row);
              EXPECT_EQ(near[q][i].score, expected[i].score);
            }
          }
        }
      }
    }
  }
}

TEST(NearestRows, UnitRowTakesAnyNorm) {
  for (const float size : {1.4e-45f, 1e-30f, 1.0f, 1e38f}) {
    const float row[] = {size, 0, 0, -size};
    float unit[4];
    UnitRow(row, 4, unit);
    EXPECT_FLOAT_EQ(unit[0], static_cast<float>(std::sqrt(0.5)));
    EXPECT_FLOAT_EQ(unit[3], -unit[0]);
  }
  const float zeros[] = {0, 0}, nan[] = {std::nanf(""), 1};
  float unit[2] = {7, 7};
  UnitRow(zeros, 2, unit);
  EXPECT_EQ(unit[0], 0);
  UnitRow(nan, 2, unit);
  EXPECT_EQ(unit[1], 0);
}

double NaiveOverlap(const std::vector<float>& original, const std::vector<float>& decoded,
                    uint32_t dim, size_t k) {
  const auto a = Units(original, dim), b = Units(decoded, dim);
  std::vector<size_t> rows;
  for (size_t r = 0; r < original.size() / dim; ++r) {
    if (std::any_of(&a[r * dim], &a[r * dim] + dim, [](float v) { return v != 0; })) {
      rows.push_back(r);
    }
  }
  size_t same = 0;
  for (const size_t q : rows) {
    const auto list = [&](const std::vector<float>& units) {
      std::set<size_t> out;
      for (const NearRow& near : BruteForce(units, &units[q * dim], dim, rows)) {
        if (near.row != q && out.size() < k) out.insert(near.row);
      }
      return out;
    };
    const auto before = list(a), after = list(b);
    for (const size_t row : before) same += after.count(row);
  }
  return static_cast<double>(same) / static_cast<double>(rows.size() * k);
}

TEST(NeighbourOverlap, AgreesWithBruteForce) {
  const uint64_t seed = test::Seed(77);
  const uint32_t dim = 12;
  for (const bool whole : {false, true}) {
    auto original = RandomValues(600 * dim, seed, whole);
    for (size_t r = 0; r < 600; r += 50) std::fill_n(&original[r * dim], dim, 0.0f);
    original[77 * dim] = std::numeric_limits<float>::infinity();
    auto decoded = original;
    std::mt19937_64 random(seed + 1);
    std::normal_distribution<float> noise(0, 0.3f);
    for (float& v : decoded) v += noise(random);
    std::fill_n(&decoded[5 * dim], dim, 0.0f);  // a row that is lost
    OverlapOptions options;
    options.neighbours = 7;
    options.queries = 600;  // all rows
    options.threads = 2;
    const double overlap = NeighbourOverlap(original.data(), decoded.data(), 600, dim, options);
    EXPECT_DOUBLE_EQ(overlap, NaiveOverlap(original, decoded, dim, 7));
    EXPECT_LT(overlap, 0.95);
    EXPECT_GT(overlap, 0.2);
  }
}

TEST(NeighbourOverlap, RowsThatAreKeptHaveAllTheirNeighbours) {
  const auto values = RandomValues(3000 * 10, test::Seed(9), false);
  OverlapOptions options;
  options.queries = 100;
  EXPECT_EQ(NeighbourOverlap(values.data(), values.data(), 3000, 10, options), 1);
  std::vector<float> scaled = values;  // cosines are blind to norms
  for (float& v : scaled) v *= 1024;
  EXPECT_EQ(NeighbourOverlap(values.data(), scaled.data(), 3000, 10, options), 1);
  const std::vector<float> other = RandomValues(3000 * 10, 12345, false);
  EXPECT_LT(NeighbourOverlap(values.data(), other.data(), 3000, 10, options), 0.1);
}

TEST(NeighbourOverlap, TwoRowsHaveOneNeighbourAndOneRowHasNone) {
  const float two[] = {1, 2, 3, 4};
  EXPECT_EQ(NeighbourOverlap(two, two, 2, 2, {}), 1);
  EXPECT_TRUE(std::isnan(NeighbourOverlap(two, two, 1, 2, {})));
  const float zeros[] = {0, 0, 0, 0};
  EXPECT_TRUE(std::isnan(NeighbourOverlap(zeros, two, 2, 2, {})));
}

}  // namespace
}  // namespace edo::engine
