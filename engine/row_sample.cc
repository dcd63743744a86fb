#include "engine/row_sample.h"

#include "engine/table_impl.h"

namespace edo::engine {

Result<std::vector<float>> SampleOf(const TableImpl& table, uint64_t first, uint64_t of,
                                    uint64_t seed) {
  const TableInfo& info = table.info();
  const uint64_t count = std::min(of, storage::SampleRows(info.dim));
  std::mt19937_64 random(seed);
  std::vector<uint64_t> rows;
  if (count == of) {
    for (uint64_t r = 0; r < of; ++r) rows.push_back(first + r);
  } else {
    // Floyd's way to draw without repeats would need a set; twice as many, sorted and made unique,
    // are enough for any table that is much larger than its sample.
    while (rows.size() < count) {
      while (rows.size() < count + count / 8) rows.push_back(first + random() % of);
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    }
  }
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    std::swap(rows[i], rows[i + random() % (rows.size() - i)]);
  }
  rows.resize(count);
  std::vector<float> sample(count * info.dim);
  constexpr uint64_t kAtOnce = 4096;
  for (uint64_t done = 0; done < count; done += kAtOnce) {
    const uint64_t n = std::min(kAtOnce, count - done);
    EDO_RETURN_IF_ERROR(
        table.ReadValues(std::span(rows).subspan(done, n), sample.data() + done * info.dim));
  }
  return sample;
}

}  // namespace edo::engine
