// RowQuality against a naive model in long double over seeded random rows of norms from 1e-40 to
// 1e38, rows of zeros and rows with inf and nan among them. Sums may differ in their last bits, so
// figures are compared to 1e-9 of themselves; percentiles over bins to 1/128, in one direction.
#include "engine/row_quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/test_util.h"

namespace edo::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Rows {
  uint32_t dim;
  std::vector<float> original, decoded;
  size_t count() const { return original.size() / dim; }
};

// Rows as a coarse codec gives them back; every 17th of zeros, every 40th exact.
Rows RandomRows(size_t count, uint32_t dim, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> power(-40, 37);
  Rows rows{dim, {}, {}};
  for (size_t r = 0; r < count; ++r) {
    const double norm = r % 17 == 3 ? 0 : std::pow(10, r % 2 ? power(random) : 0.0);
    const double noise = r % 40 == 7 ? 0 : std::pow(10, -1 - static_cast<double>(random() % 5));
    for (uint32_t c = 0; c < dim; ++c) {
      const double x = norm * normal(random) / std::sqrt(dim);
      rows.original.push_back(static_cast<float>(x));
      rows.decoded.push_back(
          noise == 0 ? rows.original.back()
                     : static_cast<float>(x + noise * norm * normal(random) / std::sqrt(dim)));
    }
  }
  return rows;
}

struct Naive {
  long double mean = 0, cosine = 0, errors = 0, energies = 0, largest = 0;
  std::vector<long double> rel, losses;
  explicit Naive(const Rows& rows) {
    for (size_t r = 0; r < rows.count(); ++r) {
      long double xx = 0, yy = 0, xy = 0, ee = 0;
      for (uint32_t c = 0; c < rows.dim; ++c) {
        const long double x = rows.original[r * rows.dim + c], y = rows.decoded[r * rows.dim + c];
        xx += x * x, yy += y * y, xy += x * y, ee += (x - y) * (x - y);
        largest = std::max(largest, std::fabs(x - y));
      }
      errors += ee;
      energies += xx;
      if (xx == 0) continue;
      rel.push_back(ee / xx);
      losses.push_back(yy == 0 ? 1 : 1 - xy / std::sqrt(xx) / std::sqrt(yy));
      mean += rel.back();
      cosine += 1 - losses.back();
    }
    mean /= static_cast<long double>(rel.size());
    cosine /= static_cast<long double>(rel.size());
    std::sort(rel.rbegin(), rel.rend());
    std::sort(losses.rbegin(), losses.rend());
  }
  size_t rank() const { return (rel.size() + 99) / 100 - 1; }
};

void ExpectNear(double found, long double expected, const char* what) {
  EXPECT_NEAR(found, static_cast<double>(expected), 1e-9 * std::fabs(static_cast<double>(expected)))
      << what;
}

RowQuality TallyOf(const Rows& rows, size_t pieces) {
  RowQuality all(rows.dim, {});
  const size_t step = rows.count() / pieces + 1;
  for (size_t first = 0; first < rows.count(); first += step) {
    RowQuality part(rows.dim, {});
    part.Add(rows.original.data() + first * rows.dim, rows.decoded.data() + first * rows.dim,
             std::min(step, rows.count() - first), first);
    all.Merge(part);
  }
  return all;
}

class RowQualityModel : public ::testing::TestWithParam<std::pair<size_t, uint32_t>> {};

TEST_P(RowQualityModel, AgreesWithTheNaiveModel) {
  const uint64_t seed = test::Seed(811);
  const auto [count, dim] = GetParam();
  const Rows rows = RandomRows(count, dim, seed);
  const Naive naive(rows);
  for (const size_t pieces : {size_t{1}, size_t{7}}) {
    SCOPED_TRACE(pieces);
    const QualityReport report = TallyOf(rows, pieces).Report();
    EXPECT_EQ(report.rows, count);
    EXPECT_EQ(report.rows - report.rows_zero, naive.rel.size());
    EXPECT_EQ(report.rows_zero_wrong, 0u);
    ExpectNear(report.rel_error_mean, naive.mean, "mean");
    ExpectNear(report.rel_error_global, naive.errors / naive.energies, "global");
    ExpectNear(report.rel_error_worst, naive.rel[0], "worst");
    ExpectNear(report.cosine_mean, naive.cosine, "cosine");
    ExpectNear(report.cosine_worst, 1 - naive.losses[0], "worst cosine");
    ExpectNear(report.abs_error_worst, naive.largest, "largest");
    const double p99 = static_cast<double>(naive.rel[naive.rank()]);
    const double loss = static_cast<double>(naive.losses[naive.rank()]);
    const double slack = naive.rel.size() > kExactPercentileRows ? 1.0 / 128 : 0;
    EXPECT_GE(report.rel_error_p99, p99 * (1 - 1e-9));
    EXPECT_LE(report.rel_error_p99, p99 * (1 + slack + 1e-9));
    EXPECT_GE(1 - report.cosine_p1, loss - 1e-12);
    EXPECT_LE(1 - report.cosine_p1, loss * (1 + slack) + 1e-12);
    uint64_t in_norms = 0, in_histogram = report.rows_exact;
    for (const NormBucket& bucket : report.norms) in_norms += bucket.rows;
    for (const ErrorBin& bin : report.histogram) in_histogram += bin.rows;
    EXPECT_EQ(in_norms, naive.rel.size());
    EXPECT_EQ(in_histogram, naive.rel.size());
    ASSERT_EQ(report.worst.size(), std::min<size_t>(20, naive.rel.size()));
    for (size_t i = 0; i < report.worst.size(); ++i) {
      ExpectNear(report.worst[i].rel_error, naive.rel[i], "worst row");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowQualityModel,
                         ::testing::Values(std::pair<size_t, uint32_t>{1, 1},
                                           std::pair<size_t, uint32_t>{50, 31},
                                           std::pair<size_t, uint32_t>{8000, 33},
                                           std::pair<size_t, uint32_t>{20000, 8}));

TEST(RowQuality, NoRowsAreAPerfectReport) {
  const QualityReport report = RowQuality(3, {}).Report();
  EXPECT_EQ(report.rows, 0u);
  EXPECT_EQ(report.rel_error_p99, 0);
  EXPECT_EQ(report.cosine_p1, 1);
  EXPECT_TRUE(report.worst.empty());
  EXPECT_TRUE(MissedOf({.max_rel_error = 0, .min_cosine = 1}, report).empty());
}

TEST(RowQuality, ExtremeNormsNeitherUnderflowNorOverflow) {
  const float tiny = 1.4e-45f, huge = 3.4e38f;
  const float original[] = {tiny, tiny, huge, -huge};
  const float decoded[] = {tiny, 0, huge, -huge / 2};
  RowQuality tally(2, {});
  tally.Add(original, decoded, 2, 10);
  const QualityReport report = tally.Report();
  EXPECT_DOUBLE_EQ(report.rel_error_worst, 0.5);
  EXPECT_DOUBLE_EQ(report.rel_error_mean, (0.5 + 0.125) / 2);
  EXPECT_NEAR(report.cosine_worst, std::sqrt(0.5), 1e-15);
  ASSERT_EQ(report.worst.size(), 2u);
  EXPECT_EQ(report.worst[0].row, 10u);
  EXPECT_NEAR(report.worst[1].norm / (std::sqrt(2) * huge), 1, 1e-7);
}

TEST(RowQuality, RowsOfZerosAreCountedApart) {
  const float original[] = {0, -0.0f, 0, 0, 1, 1};
  const float decoded[] = {0, 0, 0, 1e-9f, 0, 0};
  RowQuality tally(2, {});
  tally.Add(original, decoded, 3, 0);
  const QualityReport report = tally.Report();
  EXPECT_EQ(report.rows_zero, 2u);
  EXPECT_EQ(report.rows_zero_wrong, 1u);
  EXPECT_EQ(report.rel_error_mean, 1);  // the row that came back as zeros
  EXPECT_EQ(report.cosine_worst, 0);
  EXPECT_TRUE(MissedOf({.max_rel_error = 1.0}, report).empty());
  EXPECT_EQ(MissedOf({.max_rel_error = 1.0, .at = QualityBudget::At::kWorst}, report),
            std::vector<std::string>{"1 row of zeros not back as zeros"});
}

TEST(RowQuality, InfAndNanAreCountedApartAndMustComeBack) {
  const float original[] = {kInf, 1, kNan, 1, -kInf, 1, 1, 1};
  const float decoded[] = {kInf, 1, -kNan, 1, kInf, 1, kNan, 1};
  RowQuality tally(2, {});
  tally.Add(original, decoded, 4, 0);
  const QualityReport report = tally.Report();
  EXPECT_EQ(report.rows_non_finite, 3u);
  EXPECT_EQ(report.rows_non_finite_wrong, 1u);
  EXPECT_EQ(report.rows_broken, 1u);  // a finite row that came back with a nan
  EXPECT_EQ(report.rel_error_mean, kInf);
  EXPECT_EQ(report.rel_error_p99, kInf);
  EXPECT_EQ(report.cosine_worst, -1);
  EXPECT_EQ(MissedOf({.max_rel_error = 1e30}, report).size(), 1u);
}

TEST(RowQuality, ManyBrokenRowsGiveAnInfinitePercentile) {
  const std::vector<float> original(20000, 1), decoded(20000, kNan);
  RowQuality tally(1, {});
  tally.Add(original.data(), decoded.data(), original.size(), 0);
  EXPECT_EQ(tally.Report().rel_error_p99, kInf);
  EXPECT_EQ(tally.Report().cosine_p1, -1);
}

TEST(RowQuality, WorstRowsAreTheSameHoweverTheyAreSplit) {
  const Rows rows = RandomRows(3000, 4, test::Seed(5));
  const auto numbers = [](const QualityReport& report) {
    std::vector<uint64_t> out;
    for (const WorstRow& row : report.worst) out.push_back(row.row);
    return out;
  };
  EXPECT_EQ(numbers(TallyOf(rows, 1).Report()), numbers(TallyOf(rows, 11).Report()));
}

TEST(QualityBudget, SaysWhatIsMissedInWords) {
  QualityReport report;
  report.rel_error_p99 = 0.02;
  report.cosine_mean = 0.999;
  report.cosine_p1 = 0.9871;
  report.cosine_worst = 0.5;
  report.overlap = 0.8;
  EXPECT_EQ(MissedOf({.min_cosine = 0.99}, report),
            std::vector<std::string>{"p1 cosine 0.9871 is below 0.99"});
  EXPECT_TRUE(MissedOf({.min_cosine = 0.99, .at = QualityBudget::At::kMean}, report).empty());
  EXPECT_EQ(MissedOf({.max_rel_error = 0.01, .min_overlap = 0.9}, report),
            (std::vector<std::string>{"p99 relative error 0.02 is above 0.01",
                                      "overlap of neighbours 0.8 is below 0.9"}));
  // With as many digits as tell the two apart.
  report.cosine_p1 = 0.98999999;
  report.overlap = 0.9 - 1e-16;
  EXPECT_EQ(MissedOf({.min_cosine = 0.99}, report),
            std::vector<std::string>{"p1 cosine 0.98999999 is below 0.99"});
  EXPECT_EQ(MissedOf({.min_overlap = 0.9}, report),
            std::vector<std::string>{"overlap of neighbours 0.8999999999999999 is below 0.9"});
  report.overlap.reset();
  EXPECT_EQ(MissedOf({.min_overlap = 0.9}, report).size(), 1u);
}

TEST(QualityBudget, RefusesNumbersThatNothingCanReach) {
  EDO_EXPECT_OK(QualityBudget{.max_rel_error = 0.1}.Validate());
  EXPECT_FALSE(QualityBudget{.max_rel_error = -1.0}.Validate().ok());
  EXPECT_FALSE(QualityBudget{.max_rel_error = std::nan("")}.Validate().ok());
  EXPECT_FALSE(QualityBudget{.min_cosine = 1.1}.Validate().ok());
  EXPECT_FALSE(QualityBudget{.min_overlap = 2.0}.Validate().ok());
}

}  // namespace
}  // namespace edo::engine
