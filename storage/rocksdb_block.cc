#include "storage/rocksdb_block.h"

#include <array>
#include <cstring>
#include <string>

#include "storage/little_endian.h"
#include "storage/page_key.h"

namespace edo::storage {
namespace {

constexpr uint64_t kKeyBytes = 16;     // the page's key, then sequence number and type
constexpr uint64_t kRestartBytes = 8;  // offset 0, one restart
constexpr uint64_t kTrailerBytes = 5;  // type of compression, checksum
constexpr uint64_t kLeastBlock = 2 + 5 + kKeyBytes + kRestartBytes + kTrailerBytes;
constexpr uint64_t kPutAtSequence0 = 1;  // ingested files carry no sequence numbers of their own

uint64_t VarintBytes(uint64_t value) {
  uint64_t bytes = 1;
  while (value >= 128) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

Status Differs(const std::string& what, uint64_t found, uint64_t expected) {
  return Status::Corruption(what + " found " + std::to_string(found) + ", expected " +
                            std::to_string(expected));
}

}  // namespace

uint64_t BareBlockBytes(uint64_t page_bytes) {
  return 2 + VarintBytes(page_bytes) + kKeyBytes + page_bytes + kRestartBytes + kTrailerBytes;
}

uint64_t BlockBytes(uint64_t page_bytes) {
  const uint64_t bytes = BareBlockBytes(page_bytes);
  return (bytes + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
}

Result<std::string_view> PageInBlock(std::string_view block, uint64_t page_id) {
  // Varints: bytes shared with the key before (none), bytes of the key, bytes of the value.
  if (block.size() < kLeastBlock) return Differs("bytes of a block", block.size(), kLeastBlock);
  if (block[0] != 0 || block[1] != kKeyBytes) {
    return Differs("bytes of the key", static_cast<uint8_t>(block[1]), kKeyBytes);
  }
  uint64_t page_bytes = 0;
  uint64_t at = 2;
  for (int shift = 0;; shift += 7) {
    if (shift > 28) return Status::Corruption("length of the page is no number");
    const auto byte = static_cast<uint8_t>(block[at++]);
    page_bytes |= uint64_t{byte & 127u} << shift;
    if (byte < 128) break;
  }
  const uint64_t key = DecodePageId(block.substr(at, 8));
  if (key != page_id) return Differs("key of the page", key, page_id);
  const uint64_t sequence = LoadLE<uint64_t>(block.data() + at + 8);
  if (sequence != kPutAtSequence0) return Differs("sequence", sequence, kPutAtSequence0);
  at += kKeyBytes;
  const uint64_t end = at + page_bytes;
  if (end + kRestartBytes + kTrailerBytes > block.size()) {
    return Differs("bytes of the page", page_bytes, block.size());
  }
  // One restart point at 0, and no compression: the pair is alone and the block ends here.
  constexpr std::array<char, kRestartBytes + 1> kEnd = {0, 0, 0, 0, 1, 0, 0, 0, 0};
  if (std::memcmp(block.data() + end, kEnd.data(), kEnd.size()) != 0) {
    return Status::Corruption("the block does not end behind its page");
  }
  return block.substr(at, page_bytes);
}

}  // namespace edo::storage
