#include "storage/page_checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edo::storage {

uint64_t PageHash(const char* bytes, size_t count) {
#if defined(EDO_PAGE_HASH_AVX2)
  // xxHash chooses its vectors when it is compiled, so there is one compilation for each.
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return internal::PageHashAvx2(bytes, count);
#endif
  return XXH3_64bits(bytes, count);
}

}  // namespace edo::storage
