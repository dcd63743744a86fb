// XXH3-64 of a page, by the widest vectors that this CPU has. The same value everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edo::storage {

uint64_t PageHash(const char* bytes, size_t count);

namespace internal {
uint64_t PageHashAvx2(const char* bytes, size_t count);  // page_checksum_avx2.cc, compiled for AVX2
}

}  // namespace edo::storage
