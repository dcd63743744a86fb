// A data block of a chunk file as RocksDB lays it out: one pair, no compression. Says
// where the page lies in it, so that a block can be read and proved without RocksDB. Bytes:
// docs/format.md, "Inside a chunk file".
#pragma once

#include <cstdint>
#include <string_view>

#include "edo/status.h"

namespace edo::storage {

inline constexpr uint64_t kBlockUnit = 4096;  // blocks begin at multiples of it

// Bytes of the block of a page of `page_bytes`: alone, and with the padding of files whose blocks
// are aligned.
uint64_t BareBlockBytes(uint64_t page_bytes);
uint64_t BlockBytes(uint64_t page_bytes);

// The page in `block` (which may go on beyond the block's end), after proof that the block holds
// this pair and no other. kCorruption says what was found and expected. The page proves itself
// (page.h); the block's own checksum, which covers no more than that and this, is not looked at.
Result<std::string_view> PageInBlock(std::string_view block, uint64_t page_id);

}  // namespace edo::storage
