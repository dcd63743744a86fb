// Workload `zorder`: what the layout of a block of 32 slots does to the bytes that an L2 cache
// (lines of 128 bytes, sectors of 32, 16 ways, LRU) reads from memory for gathers. Groups of
// neighbouring rows are drawn by Zipf's law with exponent 0.99, the rows of a group one after the
// other. All figures are relative to row-major, in the same cache.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "bench/cache/cache_bench.h"
#include "bench/cache/traces.h"
#include "kernels/morton.h"

namespace edo::bench {
namespace {

using kernels::kBlockSlots;
using kernels::kLineBytes;
using kernels::kSectorBytes;

class L2 {
 public:
  // `fetch_bytes`, 32, 64 or 128: what a missing sector brings from memory, aligned to itself.
  L2(uint64_t bytes, uint32_t fetch_bytes)
      : sets_(std::max<uint64_t>(1, bytes / kLineBytes / kWays)),
        fetch_sectors_(fetch_bytes / kSectorBytes),
        lines_(sets_ * kWays) {}

  void Read(uint64_t sector) {
    const uint64_t tag = sector / kSectors + 1;
    const uint64_t within = sector % kSectors;
    // Sets are chosen by a hash, as in the hardware: no stride falls into few sets.
    const uint64_t set = (tag * 0x9e3779b97f4a7c15u >> 32) % sets_;
    Line* const first = &lines_[set * kWays];
    Line* line = std::find_if(first, first + kWays, [tag](const Line& l) { return l.tag == tag; });
    if (line == first + kWays) {
      line = std::min_element(first, first + kWays,
                              [](const Line& a, const Line& b) { return a.used < b.used; });
      *line = {.tag = tag};
    }
    line->used = ++clock_;
    if (line->sectors >> within & 1) return;
    const uint64_t first_fetched = within / fetch_sectors_ * fetch_sectors_;
    const uint32_t wanted = ((1u << fetch_sectors_) - 1) << first_fetched & ~line->sectors;
    sectors_read_ += static_cast<uint64_t>(std::popcount(wanted));
    line->sectors |= wanted;
  }
  uint64_t bytes_read() const { return sectors_read_ * kSectorBytes; }

 private:
  static constexpr uint64_t kWays = 16;
  static constexpr uint64_t kSectors = kLineBytes / kSectorBytes;
  struct Line {
    uint64_t tag = 0;  // 0: empty
    uint64_t used = 0;
    uint32_t sectors = 0;  // a bit each
  };
  const uint64_t sets_;
  const uint32_t fetch_sectors_;
  std::vector<Line> lines_;
  uint64_t clock_ = 0, sectors_read_ = 0;
};

enum class Layout { kRowMajor, kZOrder, kPlaneMajor };

struct Shape {
  uint32_t code_bytes = 128;
  uint32_t read_bytes = 128;
  bool any_shard = false;    // a random read_bytes-wide part of each row, else the first
  uint32_t together = 1;     // neighbouring rows used one after the other: 1, 2, 4, 32
  uint64_t l2_percent = 10;  // of the codes
  uint32_t fetch_bytes = 32;
};

uint64_t BytesRead(const Shape& shape, Layout layout, uint32_t cell_bytes, const Trace& trace,
                   uint64_t rows) {
  const uint32_t columns = shape.code_bytes / cell_bytes;
  L2 cache(rows * shape.code_bytes * shape.l2_percent / 100, shape.fetch_bytes);
  const auto address = [&](uint64_t row, uint32_t byte) {
    const uint32_t slot = static_cast<uint32_t>(row % kBlockSlots);
    const uint32_t column = byte / cell_bytes;
    uint64_t cell = slot * columns + column;
    if (layout == Layout::kZOrder) cell = kernels::MortonCell(slot, column, columns);
    if (layout == Layout::kPlaneMajor) cell = column * kBlockSlots + slot;
    return row / kBlockSlots * kBlockSlots * shape.code_bytes + cell * cell_bytes +
           byte % cell_bytes;
  };
  uint64_t warm = 0;
  for (size_t i = 0; i < trace.size(); ++i) {
    if (i == trace.size() / 4) warm = cache.bytes_read();
    const uint64_t first = uint64_t{trace[i]} * shape.together;
    const uint32_t shards = shape.code_bytes / shape.read_bytes;
    const uint32_t from =
        shape.any_shard ? static_cast<uint32_t>(i * 2654435761u >> 7) % shards * shape.read_bytes
                        : 0;
    for (uint64_t row = first; row < first + shape.together; ++row) {
      for (uint32_t byte = from; byte < from + shape.read_bytes; byte += kSectorBytes) {
        cache.Read(address(row, byte) / kSectorBytes);
      }
    }
  }
  return cache.bytes_read() - warm;
}

double Ratio(const Shape& shape, Layout layout, uint32_t cell_bytes, const Trace& trace,
             uint64_t rows) {
  return static_cast<double>(BytesRead(shape, layout, cell_bytes, trace, rows)) /
         static_cast<double>(BytesRead(shape, Layout::kRowMajor, shape.code_bytes, trace, rows));
}

std::string TogetherName(uint32_t together) {
  if (together == 1) return "alone";
  return together == kBlockSlots ? "whole blocks" : std::to_string(together) + " neighbours";
}

constexpr uint64_t kRows = 1 << 16;
constexpr uint32_t kTogether[] = {1, 2, 4, kBlockSlots};

struct ReadKind {
  const char* name;
  uint32_t part;
  bool any_shard;
};
constexpr ReadKind kReads[] = {{"whole row", 1, false},
                               {"half row", 2, false},
                               {"quarter row", 4, false},
                               {"any quarter", 4, true}};

Trace GroupTrace(uint32_t together) {
  return ZipfTrace(static_cast<uint32_t>(kRows / together), kRows * 8 / together, {});
}

// Every layout and cell size, with an L2 of a tenth of the codes that fetches single sectors.
void PrintCellSizes() {
  std::printf(
      "\nBytes read from memory against row-major: Z-order / plane-major. L2 10 %% of the codes, "
      "32-B fetches.\n\n"
      "| codes | read | rows used | 32-B cells | 64-B cells | 128-B cells | chosen |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const uint32_t together : kTogether) {
    const Trace trace = GroupTrace(together);
    for (const uint32_t code_bytes : {64u, 128u, 512u}) {
      for (const ReadKind& read : kReads) {
        if (code_bytes / read.part < kSectorBytes) continue;
        const Shape shape{code_bytes, code_bytes / read.part, read.any_shard, together};
        std::printf("| %u | %s | %s |", code_bytes, read.name, TogetherName(together).c_str());
        for (const uint32_t cell : {32u, 64u, 128u}) {
          if (cell > code_bytes) {
            std::printf(" |");
            continue;
          }
          std::printf(" %.2f / %.2f |", Ratio(shape, Layout::kZOrder, cell, trace, kRows),
                      Ratio(shape, Layout::kPlaneMajor, cell, trace, kRows));
        }
        std::printf(" %u |\n", kernels::ChooseCellBytes(code_bytes, shape.read_bytes));
        std::fflush(stdout);
      }
    }
  }
}

struct Target {
  std::string what;
  double ratio, most;
};

// Z-order with the cell size that is chosen, by how much of the codes the L2 holds and by what a
// missing sector fetches; 128 bytes is what cudaLimitMaxL2FetchGranularity can ask for. Targets are
// for whole-line fetches, and for an L2 of a quarter of the codes: a smaller one that fetches less
// holds less that is used again, whatever the layout.
std::vector<Target> PrintChosen() {
  constexpr uint64_t kPercents[] = {3, 10, 25};
  constexpr uint32_t kLineFetch = 128;
  std::printf(
      "\nZ-order with the chosen cell against row-major, 128 bytes of codes, by the L2's size in "
      "%% of the codes.\n\n"
      "| read | rows used | 3, 32-B fetch | 10 | 25 | 3, 64-B fetch | 10 | 25 | 3, 128-B fetch | "
      "10 | 25 "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Target> targets;
  for (const ReadKind& read : kReads) {
    for (const uint32_t together : kTogether) {
      const Trace trace = GroupTrace(together);
      std::printf("| %s | %s |", read.name, TogetherName(together).c_str());
      for (const uint32_t fetch : {32u, 64u, 128u}) {
        for (const uint64_t percent : kPercents) {
          const Shape shape{128, 128 / read.part, read.any_shard, together, percent, fetch};
          const uint32_t cell = kernels::ChooseCellBytes(shape.code_bytes, shape.read_bytes);
          const double ratio = Ratio(shape, Layout::kZOrder, cell, trace, kRows);
          std::printf(" %.2f |", ratio);
          std::string what = read.name;
          what += ", " + TogetherName(together) + ", L2 of " + std::to_string(percent) + " %, " +
                  std::to_string(fetch) + "-B fetches";
          if (read.part == 1) targets.push_back({what, ratio, 1.02});
          const bool checked = percent == 25 || fetch == kLineFetch;
          if (!checked || together == 1 || read.any_shard) continue;
          if (read.part == 2) targets.push_back({what, ratio, 0.70});
          if (read.part == 4) targets.push_back({what, ratio, 0.55});
        }
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  return targets;
}

}  // namespace

bool RunZorder(const CacheSettings& settings) {
  PrintCellSizes();
  bool passed = true;
  for (const auto& [what, ratio, most] : PrintChosen()) {
    if (!settings.check) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.3f is at most %.2f", what.c_str(), ratio, most);
    passed &= Verdict(ratio <= most, text);
  }
  return passed;
}

}  // namespace edo::bench
