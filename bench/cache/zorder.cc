// Workload `zorder`: what the layout of a block of 32 slots does to the bytes that an L2 cache
// (lines of 128 bytes, sectors of 32, 16 ways, LRU) reads from memory for gathers. The cache is a
// tenth of the codes; rows are drawn by Zipf's law with exponent 0.99, alone or as neighbours.
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
  explicit L2(uint64_t bytes)
      : sets_(std::max<uint64_t>(1, bytes / kLineBytes / kWays)), lines_(sets_ * kWays) {}

  void Read(uint64_t sector) {
    const uint64_t tag = sector / kSectors + 1;
    const uint8_t bit = static_cast<uint8_t>(1u << (sector % kSectors));
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
    if ((line->sectors & bit) == 0) ++sectors_read_;
    line->sectors |= bit;
  }
  uint64_t bytes_read() const { return sectors_read_ * kSectorBytes; }

 private:
  static constexpr uint64_t kWays = 16;
  static constexpr uint64_t kSectors = kLineBytes / kSectorBytes;
  struct Line {
    uint64_t tag = 0;  // 0: empty
    uint64_t used = 0;
    uint8_t sectors = 0;
  };
  const uint64_t sets_;
  std::vector<Line> lines_;
  uint64_t clock_ = 0, sectors_read_ = 0;
};

enum class Layout { kRowMajor, kZOrder, kPlaneMajor };

struct Shape {
  uint32_t code_bytes = 128;
  uint32_t read_bytes = 128;
  bool any_shard = false;  // a random read_bytes-wide part of each row, else the first
  uint32_t together = 1;   // rows of neighbouring slots used one after the other: 1, 4, 32
};

uint64_t BytesRead(const Shape& shape, Layout layout, uint32_t cell_bytes, const Trace& trace,
                   uint64_t rows) {
  const uint32_t columns = shape.code_bytes / cell_bytes;
  L2 cache(rows * shape.code_bytes / 10);
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

}  // namespace

bool RunZorder(const CacheSettings& settings) {
  constexpr uint64_t kRows = 1 << 17;
  struct Read {
    const char* name;
    uint32_t part;
    bool any_shard;
  };
  constexpr Read kReads[] = {{"whole row", 1, false},
                             {"half row", 2, false},
                             {"quarter row", 4, false},
                             {"any quarter", 4, true}};
  std::printf(
      "\nBytes read from memory against row-major; Z / plane-major, * the chosen cell:\n\n"
      "| codes | read | rows used | 32-B cells | 64-B cells | 128-B cells | chosen |\n"
      "|---|---|---|---|---|---|---|\n");
  struct Target {
    std::string what;
    double ratio, most;
  };
  std::vector<Target> targets;
  for (const uint32_t code_bytes : {64u, 128u, 512u}) {
    for (const Read& read : kReads) {
      if (code_bytes / read.part < kSectorBytes) continue;
      for (const uint32_t together : {1u, 2u, 4u, kBlockSlots}) {
        const Shape shape{code_bytes, code_bytes / read.part, read.any_shard, together};
        const Trace trace = ZipfTrace(static_cast<uint32_t>(kRows / together),
                                      std::max<uint64_t>(kRows * 8 / together, 1), {});
        std::printf("| %u | %s | %s |", code_bytes, read.name, TogetherName(together).c_str());
        const uint32_t chosen = kernels::ChooseCellBytes(code_bytes, shape.read_bytes);
        for (const uint32_t cell : {32u, 64u, 128u}) {
          if (cell > code_bytes) {
            std::printf(" |");
            continue;
          }
          std::printf(" %.2f / %.2f |", Ratio(shape, Layout::kZOrder, cell, trace, kRows),
                      Ratio(shape, Layout::kPlaneMajor, cell, trace, kRows));
        }
        const double ratio = Ratio(shape, Layout::kZOrder, chosen, trace, kRows);
        std::printf(" %u: %.2f |\n", chosen, ratio);
        std::fflush(stdout);
        const std::string what = std::to_string(code_bytes) + " bytes of codes, " + read.name +
                                 ", " + TogetherName(together);
        if (read.part == 1) targets.push_back({what, ratio, 1.02});
        if (code_bytes == 128 && together > 1 && read.part == 2)
          targets.push_back({what, ratio, 0.70});
        if (code_bytes == 128 && together > 1 && read.part == 4)
          targets.push_back({what, ratio, 0.55});
      }
    }
  }
  bool passed = true;
  for (const auto& [what, ratio, most] : targets) {
    if (!settings.check) break;
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.3f is at most %.2f", what.c_str(), ratio, most);
    passed &= Verdict(ratio <= most, text);
  }
  return passed;
}

}  // namespace edo::bench
