// PositionSpace: hands out ranges of the 45-bit positions, so that no two tables of a cache share
// one. First fit; ranges start at multiples of 64, so neighbouring rows of one table make groups.
// Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace edo::gpucache {

class PositionSpace {
 public:
  explicit PositionSpace(uint64_t size) : free_{{0, size}} {}

  // First position of a range of `count` (>= 1); nullopt when no free range is long enough.
  std::optional<uint64_t> Take(uint64_t count) {
    if (count > ~uint64_t{0} - 63) return std::nullopt;
    const uint64_t size = Rounded(count);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const auto [first, length] = *it;
      if (length < size) continue;
      free_.erase(it);
      if (length > size) free_[first + size] = length - size;
      return first;
    }
    return std::nullopt;
  }

  void Give(uint64_t first, uint64_t count) {
    uint64_t size = Rounded(count);
    const auto next = free_.lower_bound(first);
    if (next != free_.end() && next->first == first + size) {
      size += next->second;
      free_.erase(next);
    }
    const auto after = free_.lower_bound(first);
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == first) {
        before->second += size;
        return;
      }
    }
    free_[first] = size;
  }

 private:
  static uint64_t Rounded(uint64_t count) { return (count + 63) / 64 * 64; }

  std::map<uint64_t, uint64_t> free_;  // first -> length; no two touch
};

}  // namespace edo::gpucache
