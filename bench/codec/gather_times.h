// GatherTimes: nanoseconds to gather a row, one thread, by the CPU backend's Gather kernel, beside
// two yardsticks timed in turns with it: an INT8 gather written by hand and an fp32 memcpy gather.
//   hot     rows of 1,024 encoded rows, which stay in the caches
//   memory  rows at random places of an arena larger than the last-level cache; each is asked for
//           from memory a few rows ahead, by the yardsticks as well
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/row_format.h"

namespace edo::kernels {
class Backend;
}

namespace edo::bench {

struct GatherTime {
  double ns = 0;                    // a row
  double to_int8 = 0;               // median of the rounds' ratios to the hand-written INT8 gather
  double to_copy = 0;               // and to the fp32 memcpy gather
  double int8_ns = 0, copy_ns = 0;  // of the yardsticks
};

class GatherTimes {
 public:
  // `int8`: encoded INT8 rows, `f32`: the same rows. They are repeated to `arena_bytes` each.
  GatherTimes(std::span<const std::byte> int8, std::span<const float> f32, uint32_t dim,
              uint64_t arena_bytes, int rounds);
  ~GatherTimes();

  // `codes`: encoded rows of the format.
  void Measure(const kernels::RowFormat& format, std::span<const std::byte> codes, GatherTime* hot,
               GatherTime* memory) const;

 private:
  struct Arena;
  using Picks = std::vector<uint32_t>;

  const uint32_t dim_;
  const uint64_t arena_bytes_;
  const int rounds_;
  const std::shared_ptr<kernels::Backend> backend_;
  std::unique_ptr<Arena> int8_, f32_;
};

// Of the machine, or 32 MiB where it does not say.
uint64_t LastLevelCacheBytes();

}  // namespace edo::bench
