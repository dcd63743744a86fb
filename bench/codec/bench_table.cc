#include "bench/codec/bench_table.h"

#include <cmath>
#include <functional>
#include <random>

#include "storage/row_reader.h"

namespace edo::bench {
namespace {

constexpr uint64_t kRows = 40000;
constexpr uint32_t kDim = 100;

// The standard's distributions differ between libraries, its engines do not.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  double Uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  double Normal() {  // Box and Muller
    return std::sqrt(-2 * std::log(Uniform())) * std::cos(6.283185307179586 * Uniform());
  }
  double Student3() {
    const double a = Normal(), b = Normal(), c = Normal();
    return Normal() / std::sqrt((a * a + b * b + c * c) / 3);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

Result<BenchTable> ReadTable(const std::string& path, const std::string& tensor) {
  SourceOptions source;
  source.path = path;
  source.tensor = tensor;
  EDO_ASSIGN_OR_RETURN(const auto reader, storage::OpenRowReader(source));
  if (reader->info().codec) return Status::Unsupported(path + ": an archive holds codes already");
  BenchTable table{path.substr(path.rfind('/') + 1), reader->info().dim, {}};
  storage::RowBatch batch;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&batch));
    if (!more) break;
    table.values.insert(table.values.end(), batch.values.begin(),
                        batch.values.begin() + static_cast<ptrdiff_t>(batch.row_count * batch.dim));
  }
  if (table.rows() == 0) return Status::BadInput(path + ": no rows to measure on");
  return table;
}

Result<BenchTable> MakeTable(const std::string& kind, uint64_t seed) {
  BenchTable table{kind, kDim, std::vector<float>(kRows * kDim)};
  Draws draws(seed);
  double size = 1;
  std::function<double(uint32_t)> value;
  if (kind == "heavy") {
    value = [&](uint32_t column) {
      if (column == 0) size = std::pow(10.0, 4 * draws.Uniform() - 2);
      return size * draws.Student3();
    };
  } else if (kind == "uniform") {
    value = [&](uint32_t) { return 2 * draws.Uniform() - 1; };
  } else if (kind == "outlier") {
    value = [&](uint32_t column) {
      if (column % 25 != 7) return draws.Normal();
      return (column % 2 == 0 ? 20 : -20) + 5 * draws.Normal();
    };
  } else {
    return Status::InvalidArgument("no synthetic table is called '" + kind +
                                   "'; known: heavy, uniform, outlier");
  }
  for (size_t i = 0; i < table.values.size(); ++i) {
    table.values[i] = static_cast<float>(value(static_cast<uint32_t>(i % kDim)));
  }
  return table;
}

}  // namespace edo::bench
