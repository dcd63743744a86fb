// Workload `quality`: what a codec does to a real table. Imports --file, then compares every row of
// INT8, F16 and BF16 tables with the F32 one, at scale 1, 1e-6 and 1e6: relative squared error,
// mean and first-percentile cosine, and how many of the ten nearest rows (by cosine) stay the same.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/store/bench_util.h"
#include "edo/store.h"
#include "edo/transfer.h"

namespace edo::bench {
namespace {

struct Matrix {
  uint64_t rows = 0;
  uint32_t dim = 0;
  std::vector<float> values;
  const float* row(uint64_t r) const { return values.data() + r * dim; }
};

Matrix ReadAll(const Table& table) {
  Matrix m{table.info().rows, table.info().dim, {}};
  m.values.reserve(m.rows * m.dim);
  const auto scan = Take(table.Scan({}));
  ScanBatch batch;
  while (Take(scan->Next(&batch))) {
    m.values.insert(m.values.end(), batch.values.begin(), batch.values.end());
  }
  return m;
}

Matrix ThroughCodec(Store* store, const std::string& codec, const Matrix& from) {
  TableOptions options;
  options.dim = from.dim;
  options.codec = Take(CodecSpec::Parse(codec));
  options.replace = true;
  auto writer = Take(store->CreateTable("coded", options));
  for (uint64_t r = 0; r < from.rows; r += 4096) {
    const uint64_t n = std::min<uint64_t>(4096, from.rows - r);
    Check(writer->Append({.values = std::span(from.values).subspan(r * from.dim, n * from.dim)}));
  }
  Take(writer->Commit());
  return ReadAll(*Take(store->OpenTable("coded")));
}

double Dot(const float* a, const float* b, uint32_t dim) {
  double sum = 0;
  for (uint32_t i = 0; i < dim; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Unit rows, in floats scaled so that tiny tables do not underflow.
Matrix Unit(const Matrix& m) {
  Matrix unit = m;
  for (uint64_t r = 0; r < m.rows; ++r) {
    const double norm = std::sqrt(Dot(m.row(r), m.row(r), m.dim));
    for (uint32_t i = 0; i < m.dim && norm > 0; ++i) {
      unit.values[r * m.dim + i] = static_cast<float>(m.row(r)[i] / norm);
    }
  }
  return unit;
}

std::vector<uint32_t> Nearest(const Matrix& unit, uint64_t query, size_t k) {
  std::vector<std::pair<float, uint32_t>> best;
  for (uint64_t r = 0; r < unit.rows; ++r) {
    if (r == query) continue;
    float sum = 0;
    for (uint32_t i = 0; i < unit.dim; ++i) sum += unit.row(query)[i] * unit.row(r)[i];
    best.push_back({-sum, static_cast<uint32_t>(r)});
  }
  k = std::min(k, best.size());
  std::partial_sort(best.begin(), best.begin() + static_cast<ptrdiff_t>(k), best.end());
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < k; ++i) rows.push_back(best[i].second);
  std::sort(rows.begin(), rows.end());
  return rows;
}

double Overlap(const Matrix& a, const Matrix& b) {
  const Matrix ua = Unit(a), ub = Unit(b);
  Random random(9);
  double same = 0;
  double all = 0;
  for (int q = 0; q < 300; ++q) {
    const uint64_t query = random.Next() % a.rows;
    const std::vector<uint32_t> x = Nearest(ua, query, 10), y = Nearest(ub, query, 10);
    std::vector<uint32_t> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    same += static_cast<double>(both.size());
    all += static_cast<double>(x.size());
  }
  return all > 0 ? same / all : 1;
}

void Compare(const std::string& name, const Matrix& exact, const Matrix& coded) {
  double error = 0, energy = 0, cosines = 0;
  std::vector<double> all;
  for (uint64_t r = 0; r < exact.rows; ++r) {
    const float* a = exact.row(r);
    const float* b = coded.row(r);
    for (uint32_t i = 0; i < exact.dim; ++i) {
      const double d = static_cast<double>(a[i]) - b[i];
      error += d * d;
    }
    const double aa = Dot(a, a, exact.dim), bb = Dot(b, b, exact.dim);
    energy += aa;
    if (aa == 0) continue;
    all.push_back(bb > 0 ? Dot(a, b, exact.dim) / std::sqrt(aa * bb) : 0);
    cosines += all.back();
  }
  std::sort(all.begin(), all.end());
  std::printf(
      "  %-16s rel. squared error %.3e   cosine mean %.6f, 1st percentile %.6f   "
      "top-10 overlap %.4f\n",
      name.c_str(), energy > 0 ? error / energy : 0,
      cosines / static_cast<double>(std::max<size_t>(1, all.size())),
      all.empty() ? 1 : all[all.size() / 100], Overlap(exact, coded));
  std::fflush(stdout);
}

}  // namespace

void BenchQuality(const Settings& settings) {
  if (settings.file.empty()) {
    std::printf("\nquality: needs --file=TABLE (any format that `edo import` reads)\n");
    return;
  }
  const std::string directory = settings.directory + "/quality";
  std::filesystem::remove_all(directory);
  const auto store = Take(Store::Create(directory));
  ImportOptions options;
  options.source.path = settings.file;
  options.table = "exact";
  options.codec = Take(CodecSpec::Parse("F32"));
  Take(Import(store.get(), options));
  const Matrix exact = ReadAll(*Take(store->OpenTable("exact")));
  std::printf("\nquality: %s, %llu x %u\n", settings.file.c_str(),
              static_cast<unsigned long long>(exact.rows), exact.dim);
  for (const float scale : {1.0f, 1e-6f, 1e6f}) {
    Matrix scaled = exact;
    for (float& v : scaled.values) v *= scale;
    char name[32];
    std::snprintf(name, sizeof name, "INT8 x %g", static_cast<double>(scale));
    Compare(name, scaled, ThroughCodec(store.get(), "INT8", scaled));
  }
  Compare("F16", exact, ThroughCodec(store.get(), "F16", exact));
  Compare("BF16", exact, ThroughCodec(store.get(), "BF16", exact));
}

}  // namespace edo::bench
