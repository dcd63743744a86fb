#include "engine/row_quality.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>

#include "kernels/cpu/simd.h"

namespace edo::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Round numbers, ascending: some digits times every power of ten that a norm or a ratio of energies
// of floats can have.
class Steps {
 public:
  explicit Steps(std::initializer_list<const char*> digits) {
    for (int power = -180; power <= 180; ++power) {
      for (const char* digit : digits) {
        edges_.push_back(std::stod(std::string(digit) + "e" + std::to_string(power)));
      }
    }
  }
  // Place of the step at or below a positive, finite value.
  size_t Of(double value) const {
    const auto above = std::upper_bound(edges_.begin() + 1, edges_.end() - 1, value);
    return static_cast<size_t>(above - edges_.begin()) - 1;
  }
  double from(size_t step) const { return edges_[step]; }
  double to(size_t step) const { return edges_[step + 1]; }

 private:
  std::vector<double> edges_;
};
const Steps& NormSteps() {
  static const Steps steps{"1", "2", "5"};
  return steps;
}
const Steps& ErrorSteps() {
  static const Steps steps{"1", "1.25", "1.6", "2", "2.5", "3.15", "4", "5", "6.3", "8"};
  return steps;
}

// Eight sums side by side, in one register or a few; the order of summation is fixed, so results do
// not depend on the machine.
constexpr size_t kLanes = 8;
using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kLanes * sizeof(double))]] = double;

// out: energy of x, of y, their dot product, energy of the difference, largest difference.
EDO_SIMD_CLONES void SumRow(const float* x, const float* y, size_t dim, double* out) {
  Doubles energy{}, decoded{}, dot{}, error{}, largest{};
  for (size_t i = 0; i < dim; i += kLanes) {
    Floats xs{}, ys{};  // lanes beyond the row add zeros
    const size_t bytes = (dim - i < kLanes ? dim - i : kLanes) * sizeof(float);
    if (bytes == sizeof xs) {
      std::memcpy(&xs, x + i, sizeof xs);
      std::memcpy(&ys, y + i, sizeof ys);
    } else {
      std::memcpy(&xs, x + i, bytes);
      std::memcpy(&ys, y + i, bytes);
    }
    const Doubles a = __builtin_convertvector(xs, Doubles);
    const Doubles b = __builtin_convertvector(ys, Doubles);
    const Doubles difference = a - b;
    energy += a * a;
    decoded += b * b;
    dot += a * b;
    error += difference * difference;
    const Doubles size = difference < 0 ? -difference : difference;
    largest = size > largest ? size : largest;
  }
  for (size_t s = 0; s < 5; ++s) out[s] = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    out[0] += energy[lane];
    out[1] += decoded[lane];
    out[2] += dot[lane];
    out[3] += error[lane];
    out[4] = out[4] > largest[lane] ? out[4] : largest[lane];
  }
}

bool ComesBack(float x, float y) {
  if (std::isnan(x)) return std::isnan(y);
  return std::isinf(x) ? x == y : std::isfinite(y);
}

bool IsWorse(const WorstRow& a, const WorstRow& b) {
  return a.rel_error != b.rel_error ? a.rel_error > b.rel_error : a.row < b.row;
}

}  // namespace

// ---- TopPercentile -----------------------------------------------------------------------------

namespace {
// The first bin is for 0, the second for what is less than 2^-100, the last for what is more than
// 2^100; between, each octave is cut in 128.
constexpr int kBinBits = 7, kLowestOctave = -100, kHighestOctave = 100;
constexpr size_t kBins = (size_t{kHighestOctave - kLowestOctave} << kBinBits) + 3;
constexpr uint64_t kFirstBinBits = uint64_t{1023 + kLowestOctave} << kBinBits;
}  // namespace

size_t TopPercentile::BinOf(double value) {
  const uint64_t leading = std::bit_cast<uint64_t>(value) >> (52 - kBinBits);
  if (leading < kFirstBinBits) return value == 0 ? 0 : 1;
  return static_cast<size_t>(std::min<uint64_t>(leading - kFirstBinBits + 2, kBins - 1));
}

void TopPercentile::Add(double value) {
  ++count_;
  if (!bins_.empty()) {
    ++bins_[BinOf(value)];
    return;
  }
  values_.push_back(value);
  if (values_.size() > kExactPercentileRows) Spill();
}

void TopPercentile::Spill() {
  bins_.resize(kBins);
  for (const double value : values_) ++bins_[BinOf(value)];
  values_ = {};
}

void TopPercentile::Merge(const TopPercentile& other) {
  count_ += other.count_;
  if (bins_.empty() && other.bins_.empty()) {
    values_.insert(values_.end(), other.values_.begin(), other.values_.end());
    if (values_.size() > kExactPercentileRows) Spill();
    return;
  }
  if (bins_.empty()) Spill();
  for (const double value : other.values_) ++bins_[BinOf(value)];
  for (size_t b = 0; b < other.bins_.size(); ++b) bins_[b] += other.bins_[b];
}

double TopPercentile::Get() const {
  if (count_ == 0) return 0;
  const uint64_t rank = (count_ + 99) / 100;
  if (bins_.empty()) {
    std::vector<double> values = values_;
    const auto place = values.begin() + static_cast<ptrdiff_t>(rank - 1);
    std::nth_element(values.begin(), place, values.end(), std::greater<>());
    return *place;
  }
  uint64_t seen = 0;
  size_t bin = kBins;
  while (seen < rank) seen += bins_[--bin];
  if (bin == kBins - 1) return kInfinity;
  // The bin's upper end: never better than the truth.
  return bin == 0 ? 0 : std::bit_cast<double>((kFirstBinBits + bin - 1) << (52 - kBinBits));
}

// ---- RowQuality --------------------------------------------------------------------------------

struct RowQuality::Sums {
  double energy, decoded_energy, dot, error, largest;
};

RowQuality::RowQuality(uint32_t dim, const QualityOptions& options)
    : dim_(dim), options_(options) {}

void RowQuality::Add(const float* original, const float* decoded, size_t count,
                     uint64_t first_row) {
  counts_.rows += count;
  for (size_t r = 0; r < count; ++r) {
    const float* x = original + r * dim_;
    const float* y = decoded + r * dim_;
    double sums[5];
    SumRow(x, y, dim_, sums);
    if (!std::isfinite(sums[0])) {  // squares of finite floats never overflow a double
      AddNonFinite(x, y);
    } else {
      Score({sums[0], sums[1], sums[2], sums[3], sums[4]}, first_row + r);
    }
  }
}

void RowQuality::AddNonFinite(const float* x, const float* y) {
  ++counts_.rows_non_finite;
  for (uint32_t c = 0; c < dim_; ++c) {
    if (ComesBack(x[c], y[c])) continue;
    ++counts_.rows_non_finite_wrong;
    return;
  }
}

void RowQuality::Score(const Sums& sums, uint64_t row) {
  const bool broken = !std::isfinite(sums.decoded_energy);
  const double error = broken ? kInfinity : sums.error;
  error_sum_ += error;
  energy_sum_ += sums.energy;
  counts_.abs_error_worst = std::max(counts_.abs_error_worst, broken ? kInfinity : sums.largest);
  if (sums.energy == 0) {
    ++counts_.rows_zero;
    counts_.rows_zero_wrong += error != 0;
    return;
  }
  const double rel_error = error / sums.energy;
  double cosine = -1;
  if (!broken) {
    cosine = sums.decoded_energy == 0
                 ? 0
                 : sums.dot / (std::sqrt(sums.energy) * std::sqrt(sums.decoded_energy));
    cosine = std::clamp(error == 0 ? 1 : cosine, -1.0, 1.0);
  }
  counts_.rows_exact += error == 0;
  counts_.rows_broken += broken;
  rel_error_sum_ += rel_error;
  cosine_loss_sum_ += 1 - cosine;
  rel_errors_.Add(rel_error);
  cosine_losses_.Add(1 - cosine);
  counts_.rel_error_worst = std::max(counts_.rel_error_worst, rel_error);
  counts_.cosine_worst = std::min(counts_.cosine_worst, cosine);
  if (error != 0 && !broken) ++histogram_[ErrorSteps().Of(rel_error)];

  const double norm = std::sqrt(sums.energy);
  Bucket& bucket = norms_[NormSteps().Of(norm)];
  ++bucket.rows;
  bucket.error_sum += rel_error;
  bucket.error_worst = std::max(bucket.error_worst, rel_error);
  bucket.cosine_sum += cosine;
  bucket.cosine_worst = std::min(bucket.cosine_worst, cosine);
  OfferWorst({row, norm, rel_error, cosine});
}

void RowQuality::OfferWorst(const WorstRow& row) {
  if (worst_.size() == options_.worst_rows) {
    if (worst_.empty() || !IsWorse(row, worst_.front())) return;
    std::pop_heap(worst_.begin(), worst_.end(), IsWorse);
    worst_.pop_back();
  }
  worst_.push_back(row);
  std::push_heap(worst_.begin(), worst_.end(), IsWorse);
}

void RowQuality::Merge(const RowQuality& other) {
  const QualityReport& more = other.counts_;
  counts_.rows += more.rows;
  counts_.rows_zero += more.rows_zero;
  counts_.rows_zero_wrong += more.rows_zero_wrong;
  counts_.rows_non_finite += more.rows_non_finite;
  counts_.rows_non_finite_wrong += more.rows_non_finite_wrong;
  counts_.rows_exact += more.rows_exact;
  counts_.rows_broken += more.rows_broken;
  counts_.rel_error_worst = std::max(counts_.rel_error_worst, more.rel_error_worst);
  counts_.cosine_worst = std::min(counts_.cosine_worst, more.cosine_worst);
  counts_.abs_error_worst = std::max(counts_.abs_error_worst, more.abs_error_worst);
  error_sum_ += other.error_sum_;
  energy_sum_ += other.energy_sum_;
  rel_error_sum_ += other.rel_error_sum_;
  cosine_loss_sum_ += other.cosine_loss_sum_;
  rel_errors_.Merge(other.rel_errors_);
  cosine_losses_.Merge(other.cosine_losses_);
  for (const WorstRow& row : other.worst_) OfferWorst(row);
  for (const auto& [step, rows] : other.histogram_) histogram_[step] += rows;
  for (const auto& [step, b] : other.norms_) {
    Bucket& bucket = norms_[step];
    bucket.rows += b.rows;
    bucket.error_sum += b.error_sum;
    bucket.error_worst = std::max(bucket.error_worst, b.error_worst);
    bucket.cosine_sum += b.cosine_sum;
    bucket.cosine_worst = std::min(bucket.cosine_worst, b.cosine_worst);
  }
}

QualityReport RowQuality::Report() const {
  QualityReport report = counts_;
  const uint64_t scored = report.rows - report.rows_zero - report.rows_non_finite;
  if (scored > 0) {
    const double n = static_cast<double>(scored);
    report.rel_error_mean = rel_error_sum_ / n;
    report.cosine_mean = 1 - cosine_loss_sum_ / n;
    report.rel_error_p99 = std::min(rel_errors_.Get(), report.rel_error_worst);
    report.cosine_p1 = std::max(1 - cosine_losses_.Get(), report.cosine_worst);
  }
  // Without energy there are only rows of zeros; what came back of them has no measure.
  report.rel_error_global = error_sum_ == 0 ? 0 : error_sum_ / energy_sum_;
  report.worst = worst_;
  std::sort_heap(report.worst.begin(), report.worst.end(), IsWorse);
  for (const auto& [step, b] : norms_) {
    const double n = static_cast<double>(b.rows);
    report.norms.push_back({NormSteps().from(step), NormSteps().to(step), b.rows, b.error_sum / n,
                            b.error_worst, b.cosine_sum / n, b.cosine_worst});
  }
  for (const auto& [step, rows] : histogram_) {
    report.histogram.push_back({ErrorSteps().from(step), ErrorSteps().to(step), rows});
  }
  return report;
}

}  // namespace edo::engine
