#include "bench/cache/traces.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/store/bench_util.h"

namespace edo::bench {
namespace {

class Ranks {  // draws ranks by Zipf's law
 public:
  Ranks(uint32_t rows, double exponent) : sums_(rows) {
    double sum = 0;
    for (uint32_t i = 0; i < rows; ++i) sums_[i] = sum += std::pow(i + 1.0, -exponent);
  }
  uint32_t Draw(Random& random) const {
    const double at = static_cast<double>(random.Next() >> 11) * 0x1p-53 * sums_.back();
    const auto found = std::upper_bound(sums_.begin(), sums_.end() - 1, at);
    return static_cast<uint32_t>(found - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

Trace ZipfTrace(uint32_t rows, uint64_t accesses, const ZipfOptions& options) {
  const Ranks ranks(rows, options.exponent);
  Random random(7);
  std::vector<uint32_t> row_of(rows);
  std::iota(row_of.begin(), row_of.end(), 0u);
  for (uint32_t i = rows - 1; i > 0 && !options.by_rank; --i) {
    std::swap(row_of[i], row_of[random.Next() % (i + 1)]);
  }
  Trace trace(accesses);
  for (uint64_t i = 0; i < accesses; ++i) {
    if (options.drift_every != 0 && i != 0 && i % options.drift_every == 0) {
      for (uint32_t swap = 0; swap < options.drift_swaps; ++swap) {
        const uint32_t rank = ranks.Draw(random);
        std::swap(row_of[rank], row_of[random.Next() % rows]);
      }
    }
    trace[i] = row_of[ranks.Draw(random)];
  }
  return trace;
}

NamedTrace PolicyTrace(size_t i, uint32_t rows, uint64_t accesses) {
  switch (i) {
    case 0:
      return {"Zipf 0.85", ZipfTrace(rows, accesses, {.exponent = 0.85})};
    case 1:
      return {"Zipf 0.99", ZipfTrace(rows, accesses, {.exponent = 0.99})};
    case 2:
      return {"Zipf 1.05", ZipfTrace(rows, accesses, {.exponent = 1.05})};
    case 3:
      return {"Zipf 1.2", ZipfTrace(rows, accesses, {.exponent = 1.2})};
    case 4:
      return {"uniform", ZipfTrace(rows, accesses, {.exponent = 0})};
    case 5:
      return {
          "Zipf 0.99, drift",
          ZipfTrace(rows, accesses,
                    {.exponent = 0.99, .drift_every = accesses / 40, .drift_swaps = rows / 2000})};
    case 6:
      return {
          "Zipf 1.05, heavy drift",
          ZipfTrace(rows, accesses,
                    {.exponent = 1.05, .drift_every = accesses / 40, .drift_swaps = rows / 200})};
    case 7: {  // every fourth access, on average, is the next row of a scan
      NamedTrace made{"Zipf 0.99, a quarter scan", ZipfTrace(rows, accesses, {.exponent = 0.99})};
      Random random(4);
      uint32_t next = 0;
      for (uint32_t& row : made.rows) {
        if ((random.Next() >> 62) == 0) row = next++ % rows;
      }
      return made;
    }
    case 8: {  // in turns: 80 % of the time Zipf, 20 % scan
      NamedTrace made{"Zipf 0.99, bursts of scan", ZipfTrace(rows, accesses, {.exponent = 0.99})};
      uint32_t next = 0;
      for (uint64_t at = 0; at < accesses; ++at) {
        if (at / (accesses / 40) % 5 == 4) made.rows[at] = next++ % rows;
      }
      return made;
    }
    case 9:
      return {"Zipf 0.99, row = rank",
              ZipfTrace(rows, accesses, {.exponent = 0.99, .by_rank = true})};
    default:
      return {};
  }
}

}  // namespace edo::bench
