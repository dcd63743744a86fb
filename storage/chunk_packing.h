// Chunks whose codes are compressed: zstd over a cheap rearrangement of the bytes. ChunkPacker
// makes the payload of such a page, ChunkUnpacker gives the codes back. Bytes: docs/format.md,
// "Packed chunks". Pure functions over bytes; no I/O.
//
// Unpacking is bound by memory it has proved to need: the size that a page claims is checked
// before anything is allocated, and what does not give exactly that many bytes is kCorruption.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "edo/status.h"
#include "storage/page.h"

namespace edo::storage {

inline constexpr uint64_t kMostChunkCodes = uint64_t{1} << 20;  // bytes of codes of a packed chunk

// How the codes are laid out before zstd sees them. Which one is best is for the writer to find
// out; the page says which it was.
struct ChunkForm {
  uint8_t width = 1;   // 1, 2 or 4: all first bytes of values this wide, then all second ones, ...
  bool delta = false;  // each byte less the one above it in the row before, modulo 256

  bool operator==(const ChunkForm&) const = default;
};

class ChunkPacker {
 public:
  ChunkPacker();
  ~ChunkPacker();
  // Appends the payload of a packed page to *page. False, and nothing appended, when that would not
  // be smaller than the codes themselves or they are over kMostChunkCodes. `codes` are `rows` >= 1
  // rows of equal size.
  bool Pack(std::string_view codes, uint32_t rows, ChunkForm form, std::string* page);
  // Bytes that Pack would append; codes.size() when it would not.
  uint64_t PackedBytes(std::string_view codes, uint32_t rows, ChunkForm form);

 private:
  struct Zstd;
  std::unique_ptr<Zstd> zstd_;
  std::string delta_, planes_, packed_;
};

class ChunkUnpacker {
 public:
  ChunkUnpacker();
  ~ChunkUnpacker();
  // Puts the codes in place of a packed page's payload; they are valid until the next call. A page
  // that is not packed stays as it is.
  Status Unpack(PageView* page);

 private:
  struct Zstd;
  std::unique_ptr<Zstd> zstd_;  // when the first packed page comes
  std::unique_ptr<char[]> codes_, planes_;
  size_t room_ = 0;  // of both
};

}  // namespace edo::storage
