#include "gpucache/budget.h"

#include <algorithm>
#include <numeric>

namespace edo::gpucache {

std::vector<uint64_t> DivideBudget(uint64_t bytes, const std::vector<ClassDemand>& demands) {
  std::vector<uint64_t> blocks(demands.size(), 0);
  // One block each first.
  for (size_t i = 0; i < demands.size(); ++i) {
    if (demands[i].block_bytes > bytes) continue;
    blocks[i] = 1;
    bytes -= demands[i].block_bytes;
  }
  // Then, the most modest wish first, an equal share of what is left.
  std::vector<size_t> order(demands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto wish = [&](size_t i) {
    return blocks[i] == 0 ? 0 : (demands[i].blocks - 1) * demands[i].block_bytes;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wish(a) < wish(b); });
  for (size_t n = 0; n < order.size(); ++n) {
    const size_t i = order[n];
    if (blocks[i] == 0) continue;
    const uint64_t share = bytes / (order.size() - n);
    const uint64_t more = std::min(wish(i), share) / demands[i].block_bytes;
    blocks[i] += more;
    bytes -= more * demands[i].block_bytes;
  }
  return blocks;
}

}  // namespace edo::gpucache
