#include "engine/row_sample.h"

#include "engine/table_impl.h"

namespace edo::engine {

Result<std::vector<float>> SampleOf(const TableImpl& table, uint64_t seed) {
  const TableInfo& info = table.info();
  const uint64_t count = std::min(info.rows, storage::SampleRows(info.dim));
  std::mt19937_64 random(seed);
  std::vector<uint64_t> rows;
  if (count == info.rows) {
    for (uint64_t r = 0; r < info.rows; ++r) rows.push_back(r);
  } else {
    // Floyd's way to draw without repeats would need a set; twice as many, sorted and made unique,
    // are enough for any table that is much larger than its sample.
    while (rows.size() < count) {
      while (rows.size() < count + count / 8) rows.push_back(random() % info.rows);
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
  std::vector<std::byte> codes;
  for (uint64_t done = 0; done < count; done += kAtOnce) {
    const uint64_t n = std::min(kAtOnce, count - done);
    codes.resize(n * info.row_bytes);
    EDO_RETURN_IF_ERROR(table.ReadCodes(std::span(rows).subspan(done, n), codes.data()));
    table.codec().Decode(codes.data(), n, {sample.data() + done * info.dim, FloatType::kF32, 0, 0});
  }
  return sample;
}

}  // namespace edo::engine
