#include "engine/part_hash.h"

#include <algorithm>
#include <bit>

namespace edo::engine {
namespace {

uint64_t Mix(uint64_t k) {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdu;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53u;
  return k ^ (k >> 33);
}

uint64_t QuotientF32(uint64_t id, uint64_t divisor) {
  return static_cast<uint64_t>(static_cast<float>(id) / static_cast<float>(divisor));
}

}  // namespace

// With 8 bytes of input there is no whole block, and the tail fills the first lane only.
std::array<uint32_t, 4> Murmur3Words(uint64_t id, uint32_t seed) {
  const uint64_t k = std::rotl(id * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
  uint64_t h1 = (seed ^ k) ^ 8;
  uint64_t h2 = uint64_t{seed} ^ 8;
  h1 += h2;
  h2 += h1;
  h1 = Mix(h1);
  h2 = Mix(h2);
  h1 += h2;
  h2 += h1;
  return {static_cast<uint32_t>(h1), static_cast<uint32_t>(h1 >> 32), static_cast<uint32_t>(h2),
          static_cast<uint32_t>(h2 >> 32)};
}

void PartRows(const ComposedPart& part, std::span<const uint64_t> ids, int64_t* rows) {
  const auto each = [&](auto row_of) {
    for (size_t i = 0; i < ids.size(); ++i) rows[i] = static_cast<int64_t>(row_of(ids[i]));
  };
  switch (part.hash) {
    case PartHash::kQuotient:
      return each([d = part.divisor](uint64_t id) { return id / d; });
    case PartHash::kRemainder:
      return each([d = part.divisor](uint64_t id) { return id % d; });
    case PartHash::kQuotientF32:
      return each([d = part.divisor](uint64_t id) { return QuotientF32(id, d); });
    case PartHash::kAffine:
      return each([&](uint64_t id) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<uint64_t>((Wide{part.a} * id + part.b) % part.p) % part.buckets;
      });
    case PartHash::kMurmur3:
      return each(
          [&](uint64_t id) { return Murmur3Words(id, part.seed)[part.word] % part.buckets; });
  }
}

uint64_t RowsNeeded(const ComposedPart& part, uint64_t rows) {
  switch (part.hash) {
    case PartHash::kQuotient:
      return (rows - 1) / part.divisor + 1;
    case PartHash::kQuotientF32:
      return QuotientF32(rows - 1, part.divisor) + 1;
    case PartHash::kRemainder:
      return rows == 0 ? part.divisor : std::min(part.divisor, rows);
    default:
      return part.buckets;
  }
}

}  // namespace edo::engine
