#include "engine/bag_check.h"

#include <string>

namespace edo::engine {

Status CheckBags(const Bags& bags, uint64_t keys, const TableInfo& info) {
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidArgument("table '" + info.name + "': " + what);
  };
  uint64_t last = 0;
  for (size_t b = 0; b < bags.offsets.size(); ++b) {
    const uint64_t offset = bags.offsets[b];
    if (offset < last || offset > keys || (b == 0 && offset != 0)) {
      return wrong("offset " + std::to_string(b) + " of the bags is " + std::to_string(offset) +
                   "; allowed are " + std::to_string(last) + " to " +
                   std::to_string(b == 0 ? 0 : keys));
    }
    last = offset;
  }
  if (bags.offsets.empty() && keys > 0) {
    return wrong(std::to_string(keys) + " keys and no bag to put them in");
  }
  if (bags.weights.empty()) return Status::Ok();
  if (bags.mode != PoolMode::kSum) return wrong("weights go with sums only, not with means");
  if (bags.weights.size() != keys) {
    return wrong(std::to_string(bags.weights.size()) + " weights for " + std::to_string(keys) +
                 " keys");
  }
  return Status::Ok();
}

}  // namespace edo::engine
