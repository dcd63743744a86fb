// Compiled with -mavx2 (CMakeLists.txt). Includes nothing whose inline functions the linker might
// choose for the rest of the program.
#include "storage/page_checksum.h"

#if defined(EDO_PAGE_HASH_AVX2)

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edo::storage::internal {

uint64_t PageHashAvx2(const char* bytes, size_t count) { return XXH3_64bits(bytes, count); }

}  // namespace edo::storage::internal

#endif
