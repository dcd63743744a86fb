// Page: the unit that goes to disk and back, 16 bytes of header and a payload (docs/format.md,
// "Pages"). Chunks of rows, pages of keys and buckets of the key index are all pages. The header
// carries a checksum over everything after it and the page's own number, so that every page that is
// read proves that it is whole and in its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::storage {

enum class PageKind : uint8_t {
  kChunk,    // rows' codes
  kKeys,     // keys in row order
  kIndex,    // key hash -> row number
  kOrder,    // place in the source <-> row number, of a table that is stored in another order
  kLearned,  // what the table's codec has learned
  kSizes,    // bytes of the pages of chunks, of a table whose chunks are compressed
};
std::string_view PageKindName(
    PageKind kind);  // "chunk", "key page", "key index", "order page", ...

inline constexpr size_t kPageHeaderBytes = 16;

struct PageView {
  uint32_t count = 0;        // rows, keys or entries
  std::string_view payload;  // points into the page that was opened
  bool packed = false;       // a chunk whose payload is compressed (chunk_packing.h)
  uint32_t page_bytes = 0;   // of the whole page as it is stored
};

// Starts a page: room for the header, to be filled by SealPage when the payload is complete.
inline void StartPage(std::string* page) { page->assign(kPageHeaderBytes, '\0'); }
// Writes the header into the first 16 bytes of `page`. `count` < 2^31.
void SealPage(uint64_t number, uint32_t count, std::string* page, bool packed = false);
// Proves checksum and number. kCorruption says what was found and expected.
Result<PageView> OpenPage(std::string_view page, uint64_t number);

}  // namespace edo::storage
