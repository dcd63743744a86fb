#include "engine/row_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "engine/balanced_kd.h"
#include "engine/lookup.h"
#include "engine/row_projection.h"
#include "storage/readers/messages.h"

namespace edo::engine {
namespace {

constexpr uint64_t kSampleRows = 8192;        // that the projection learns from
constexpr uint64_t kSampleValues = 1u << 22;  // likewise; 16 MiB
constexpr uint64_t kUnseen = UINT64_MAX;

}  // namespace

Status CheckOrderFile(const RowOrder& order, KeyKind keys, const OrderStep& step) {
  EDO_RETURN_IF_ERROR(order.Validate());
  return order.file.empty() ? Status::Ok() : CountLines(order, keys, step).status();
}

Result<std::vector<uint64_t>> ReadCounts(const RowOrder& order, const RowSource& source,
                                         const OrderStep& step, OrderReport* report) {
  const bool trace = order.kind == OrderKind::kTrace;
  std::vector<uint64_t> counts(source.record->info.rows, trace ? 0 : kUnseen);
  KeyUses uses(order, source);
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, uses.Next());
    if (!more) break;
    if (uses.line() % 4096 == 0) EDO_RETURN_IF_ERROR(step());
    for (const uint64_t row : uses.rows()) {
      if (trace) {
        ++counts[row];
      } else if (counts[row] == kUnseen) {
        counts[row] = std::min(uses.count(), kUnseen - 1);
      } else {
        EDO_ASSIGN_OR_RETURN(const uint64_t first, uses.FirstLineOfKey());
        return storage::BadLine(order.file, uses.line_number(),
                                "found key " + uses.first_key() +
                                    " again, expected each key once; it is on line " +
                                    std::to_string(first) + " already");
      }
    }
  }
  *report = uses.report();
  if (report->keys == 0 && !counts.empty()) {
    return Status::BadInput(order.file + ": found no key, expected " +
                            (trace ? "lines of keys" : "lines of key TAB count"));
  }
  if (report->keys > 0 && report->keys == report->keys_unknown && !counts.empty()) {
    return Status::BadInput(report->first_unknown + " is no key of table '" +
                            source.record->info.name + "', nor is any other key of the file");
  }
  std::replace(counts.begin(), counts.end(), kUnseen, uint64_t{0});
  return counts;
}

std::vector<uint64_t> InverseOf(std::span<const uint64_t> order) {
  std::vector<uint64_t> inverse(order.size());
  for (uint64_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return inverse;
}

std::vector<uint64_t> OrderByCount(std::span<const uint64_t> counts,
                                   std::span<const uint64_t> places) {
  std::vector<uint64_t> order(counts.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    if (counts[a] != counts[b]) return counts[a] > counts[b];
    return places.empty() ? a < b : places[a] < places[b];
  });
  return order;
}

std::vector<uint8_t> TiersOfCounts(std::span<const uint64_t> counts) {
  std::vector<uint8_t> tiers(counts.size());
  // bit_width is 1 + floor(log2(count)), and 0 for 0.
  for (size_t r = 0; r < counts.size(); ++r)
    tiers[r] = static_cast<uint8_t>(std::bit_width(counts[r]));
  return tiers;
}

std::vector<uint8_t> TiersOfPlaces(uint64_t rows, std::span<const uint64_t> places) {
  std::vector<uint8_t> tiers(rows);
  for (uint64_t r = 0; r < rows; ++r) {
    tiers[r] = static_cast<uint8_t>(64 - std::bit_width((places.empty() ? r : places[r]) + 1));
  }
  return tiers;
}

namespace {

class TierOrder {
 public:
  TierOrder(const RowSource& source, const OrderLimits& limits, const OrderStep& step)
      : source_(source), limits_(limits), step_(step) {}

  Result<std::vector<uint64_t>> Run(std::span<const uint8_t> tiers,
                                    std::span<const uint64_t> places) {
    const uint64_t rows = tiers.size();
    // By tier, then by place: a counting sort.
    std::vector<uint64_t> begin(257);
    for (const uint8_t tier : tiers) ++begin[256 - tier];
    for (size_t t = 1; t < begin.size(); ++t) begin[t] += begin[t - 1];
    const std::vector<uint64_t> by_place =
        places.empty() ? std::vector<uint64_t>() : InverseOf(places);
    order_.resize(rows);
    {
      std::vector<uint64_t> next = begin;
      for (uint64_t p = 0; p < rows; ++p) {
        const uint64_t row = places.empty() ? p : by_place[p];
        order_[next[255 - tiers[row]]++] = row;
      }
    }
    position_of_ = InverseOf(order_);
    // Whole tiers together as far as the limit goes; a tier beyond it in parts.
    std::vector<std::pair<uint64_t, uint64_t>> round;
    uint64_t in_round = 0;
    for (size_t t = 0; t + 1 < begin.size(); ++t) {
      for (uint64_t first = begin[t]; first < begin[t + 1];) {
        const uint64_t last = std::min(begin[t + 1], first + limits_.projected_rows);
        if (in_round + (last - first) > limits_.projected_rows) {
          EDO_RETURN_IF_ERROR(OrderRound(round));
          round.clear();
          in_round = 0;
        }
        round.emplace_back(first, last);
        in_round += last - first;
        first = last;
      }
    }
    EDO_RETURN_IF_ERROR(OrderRound(round));
    return std::move(order_);
  }

 private:
  // Puts ranges of order_ that lie behind each other in kd order, each for itself.
  Status OrderRound(const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
    if (ranges.empty()) return Status::Ok();
    const uint64_t first = ranges.front().first;
    const uint64_t last = ranges.back().second;
    EDO_ASSIGN_OR_RETURN(const RowProjection projection, LearnProjection(first, last));
    std::vector<float> points((last - first) * kPointDims);
    EDO_RETURN_IF_ERROR(ProjectRows(projection, first, last, &points));
    std::vector<uint64_t> rows;
    for (const auto& [begin, end] : ranges) {
      EDO_RETURN_IF_ERROR(step_());
      const auto of_range =
          std::span(points).subspan((begin - first) * kPointDims, (end - begin) * kPointDims);
      const std::vector<uint32_t> order =
          BalancedKdOrder(of_range, begin, source_.record->info.chunk_rows);
      rows.assign(order_.begin() + static_cast<ptrdiff_t>(begin),
                  order_.begin() + static_cast<ptrdiff_t>(end));
      for (uint64_t i = 0; i < order.size(); ++i) order_[begin + i] = rows[order[i]];
    }
    return Status::Ok();
  }

  Result<RowProjection> LearnProjection(uint64_t first, uint64_t last) const {
    const uint32_t dim = source_.record->info.dim;
    const uint64_t most = std::max<uint64_t>(16, std::min(kSampleRows, kSampleValues / dim));
    const uint64_t count = std::min(last - first, most);
    std::vector<uint64_t> rows(count);
    for (uint64_t i = 0; i < count; ++i) rows[i] = order_[first + i * (last - first) / count];
    std::vector<float> sample(count * dim);
    Status failed;
    ChunkRead read;
    std::vector<uint64_t> out_rows;
    read.rows = [&](std::span<const uint32_t> places, std::span<const std::byte* const> codes) {
      out_rows.assign(places.begin(), places.end());
      source_.codec->DecodeGather(codes.data(), out_rows.data(), codes.size(),
                                  {sample.data(), FloatType::kF32, dim, dim});
    };
    read.failed = [&](std::span<const uint32_t>, ReadFailure failure) {
      if (failed.ok()) failed = failure.status;
    };
    ReadRowsByChunk(*source_.rows, nullptr, *source_.record, rows, std::nullopt, read);
    if (!failed.ok()) return failed;
    return RowProjection(std::move(sample), dim);
  }

  // Points of the rows order_[first, last), by one walk over all chunks.
  Status ProjectRows(const RowProjection& projection, uint64_t first, uint64_t last,
                     std::vector<float>* points) const {
    const TableInfo& info = source_.record->info;
    const auto cursor =
        source_.rows->ScanPages(storage::PageKind::kChunk, info.generation, 0, info.chunk_count);
    std::vector<float> values(uint64_t{info.chunk_rows} * info.dim);
    for (;;) {
      uint64_t number = 0;
      storage::PageView page;
      EDO_ASSIGN_OR_RETURN(const bool more, cursor->Next(&number, &page));
      if (!more) return Status::Ok();
      EDO_RETURN_IF_ERROR(CheckChunk(*source_.record, number, page));
      if (number % 1024 == 0) EDO_RETURN_IF_ERROR(step_());
      const uint64_t* const positions = position_of_.data() + number * info.chunk_rows;
      const auto wanted = [&](uint64_t position) { return position >= first && position < last; };
      if (std::none_of(positions, positions + page.count, wanted)) continue;
      source_.codec->Decode(reinterpret_cast<const std::byte*>(page.payload.data()), page.count,
                            {values.data(), FloatType::kF32, 0});
      for (uint64_t i = 0; i < page.count; ++i) {
        if (!wanted(positions[i])) continue;
        projection.Project(values.data() + i * info.dim,
                           points->data() + (positions[i] - first) * kPointDims);
      }
    }
  }

  const RowSource source_;
  const OrderLimits limits_;
  const OrderStep& step_;
  std::vector<uint64_t> order_;        // row numbers
  std::vector<uint64_t> position_of_;  // of each row in order_ as it was sorted by tier
};

}  // namespace

Result<std::vector<uint64_t>> OrderByTier(const RowSource& source, std::span<const uint8_t> tiers,
                                          std::span<const uint64_t> places,
                                          const OrderLimits& limits, const OrderStep& step) {
  return TierOrder(source, limits, step).Run(tiers, places);
}

}  // namespace edo::engine
