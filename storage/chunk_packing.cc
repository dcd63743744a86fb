#include "storage/chunk_packing.h"

#include <zstd.h>

#include <cstring>

#include "storage/little_endian.h"

namespace edo::storage {
namespace {

// ON DISK: bytes of codes (u32), then the form: log2 of the width, bit 3 = delta.
constexpr size_t kHeadBytes = 5;
constexpr uint8_t kDeltaBit = 8;
// Higher levels gain 1-2 % on codes and take up to three times as long. Short matches in noise are
// worse than none: without them INT8 codes are 3-4 % smaller and unpack 20-40 % faster.
constexpr int kLevel = 1;
constexpr int kLeastMatch = 7;

// 16 bytes at a time, whatever the optimiser makes of loops.
using Bytes16 = uint8_t __attribute__((vector_size(16)));
constexpr size_t kStep = sizeof(Bytes16);

Bytes16 Load(const char* from) {
  Bytes16 v;
  std::memcpy(&v, from, kStep);
  return v;
}
void Store(Bytes16 v, char* to) { std::memcpy(to, &v, kStep); }

char Sum(char a, char b) {
  return static_cast<char>(static_cast<uint8_t>(a) + static_cast<uint8_t>(b));
}

void TakeDelta(std::string_view codes, size_t row_bytes, char* out) {
  std::memcpy(out, codes.data(), row_bytes);
  const char* const in = codes.data();
  size_t i = row_bytes;
  for (; i + kStep <= codes.size(); i += kStep) {
    Store(Load(in + i) - Load(in + i - row_bytes), out + i);
  }
  for (; i < codes.size(); ++i) {
    out[i] =
        static_cast<char>(static_cast<uint8_t>(in[i]) - static_cast<uint8_t>(in[i - row_bytes]));
  }
}

void UndoDelta(size_t rows, size_t row_bytes, char* codes) {
  for (size_t r = 1; r < rows; ++r) {
    char* const row = codes + r * row_bytes;
    const char* const above = row - row_bytes;
    size_t i = 0;
    for (; i + kStep <= row_bytes; i += kStep) Store(Load(row + i) + Load(above + i), row + i);
    for (; i < row_bytes; ++i) row[i] = Sum(row[i], above[i]);
  }
}

// Bytes behind the last whole value stay where they are.
void TakePlanes(std::string_view codes, size_t width, char* out) {
  const size_t values = codes.size() / width;
  const char* const in = codes.data();
  for (size_t b = 0; b < width; ++b) {
    for (size_t i = 0; i < values; ++i) out[b * values + i] = in[i * width + b];
  }
  std::memcpy(out + values * width, in + values * width, codes.size() - values * width);
}

Bytes16 LowPairs(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes16 HighPairs(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

void UndoPlanes(std::string_view planes, size_t width, char* out) {
  const size_t values = planes.size() / width;
  const char* const in = planes.data();
  size_t i = 0;
  for (; i + kStep <= values; i += kStep) {
    char* const to = out + i * width;
    if (width == 2) {
      const Bytes16 a = Load(in + i), b = Load(in + values + i);
      Store(LowPairs(a, b), to);
      Store(HighPairs(a, b), to + kStep);
    } else {
      const Bytes16 a = Load(in + i), b = Load(in + values + i);
      const Bytes16 c = Load(in + 2 * values + i), d = Load(in + 3 * values + i);
      // Pairs (a, c) and (b, d), so that pairs of pairs are a b c d.
      const Bytes16 ac_low = LowPairs(a, c), ac_high = HighPairs(a, c);
      const Bytes16 bd_low = LowPairs(b, d), bd_high = HighPairs(b, d);
      Store(LowPairs(ac_low, bd_low), to);
      Store(HighPairs(ac_low, bd_low), to + kStep);
      Store(LowPairs(ac_high, bd_high), to + 2 * kStep);
      Store(HighPairs(ac_high, bd_high), to + 3 * kStep);
    }
  }
  for (; i < values; ++i) {
    for (size_t b = 0; b < width; ++b) out[i * width + b] = in[b * values + i];
  }
  std::memcpy(out + values * width, in + values * width, planes.size() - values * width);
}

uint8_t FormByte(ChunkForm form) {
  const int log2 = form.width == 4 ? 2 : form.width == 2 ? 1 : 0;
  return static_cast<uint8_t>(log2 | (form.delta ? kDeltaBit : 0));
}

}  // namespace

struct ChunkPacker::Zstd {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~Zstd() { ZSTD_freeCCtx(context); }
};

ChunkPacker::ChunkPacker() : zstd_(std::make_unique<Zstd>()) {
  if (zstd_->context == nullptr) return;
  ZSTD_CCtx_setParameter(zstd_->context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(zstd_->context, ZSTD_c_minMatch, kLeastMatch);
  ZSTD_CCtx_setParameter(zstd_->context, ZSTD_c_contentSizeFlag, 0);  // the page says it
}
ChunkPacker::~ChunkPacker() = default;

bool ChunkPacker::Pack(std::string_view codes, uint32_t rows, ChunkForm form, std::string* page) {
  if (codes.empty() || codes.size() > kMostChunkCodes || zstd_->context == nullptr) return false;
  std::string_view in = codes;
  if (form.delta) {
    delta_.resize(codes.size());
    TakeDelta(in, codes.size() / rows, delta_.data());
    in = delta_;
  }
  if (form.width > 1) {
    planes_.resize(codes.size());
    TakePlanes(in, form.width, planes_.data());
    in = planes_;
  }
  packed_.resize(ZSTD_compressBound(codes.size()));
  const size_t size =
      ZSTD_compress2(zstd_->context, packed_.data(), packed_.size(), in.data(), in.size());
  if (ZSTD_isError(size) || size + kHeadBytes >= codes.size()) return false;
  AppendLE<uint32_t>(static_cast<uint32_t>(codes.size()), page);
  page->push_back(static_cast<char>(FormByte(form)));
  page->append(packed_, 0, size);
  return true;
}

uint64_t ChunkPacker::PackedBytes(std::string_view codes, uint32_t rows, ChunkForm form) {
  std::string page;
  return Pack(codes, rows, form, &page) ? page.size() : codes.size();
}

struct ChunkUnpacker::Zstd {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~Zstd() { ZSTD_freeDCtx(context); }
};

ChunkUnpacker::ChunkUnpacker() = default;
ChunkUnpacker::~ChunkUnpacker() = default;

Status ChunkUnpacker::Unpack(PageView* page) {
  if (!page->packed) return Status::Ok();
  const std::string_view payload = page->payload;
  if (payload.size() <= kHeadBytes) {
    return Status::Corruption("packed chunk of " + std::to_string(payload.size()) + " bytes");
  }
  const uint32_t bytes = LoadLE<uint32_t>(payload.data());
  const auto form = static_cast<uint8_t>(payload[4]);
  const size_t width = size_t{1} << (form & 7u);
  if (bytes == 0 || bytes > kMostChunkCodes || page->count == 0 || bytes % page->count != 0) {
    return Status::Corruption("packed chunk of " + std::to_string(page->count) + " rows in " +
                              std::to_string(bytes) + " bytes");
  }
  if ((form & ~(7u | kDeltaBit)) != 0 || width > 4) {
    return Status::Corruption("packed chunk in unknown form " + std::to_string(form));
  }
  if (!zstd_) zstd_ = std::make_unique<Zstd>();
  if (zstd_->context == nullptr) return Status::IoError("no memory to unpack a chunk");
  if (room_ < bytes) {
    codes_ = std::make_unique_for_overwrite<char[]>(bytes);
    planes_ = std::make_unique_for_overwrite<char[]>(bytes);
    room_ = bytes;
  }
  char* const to = width > 1 ? planes_.get() : codes_.get();
  const size_t got = ZSTD_decompressDCtx(zstd_->context, to, bytes, payload.data() + kHeadBytes,
                                         payload.size() - kHeadBytes);
  if (ZSTD_isError(got)) {
    return Status::Corruption(std::string("packed chunk does not unpack: ") +
                              ZSTD_getErrorName(got));
  }
  if (got != bytes) {
    return Status::Corruption("packed chunk gives " + std::to_string(got) + " bytes, expected " +
                              std::to_string(bytes));
  }
  if (width > 1) UndoPlanes({planes_.get(), bytes}, width, codes_.get());
  if ((form & kDeltaBit) != 0) UndoDelta(page->count, bytes / page->count, codes_.get());
  page->payload = {codes_.get(), bytes};
  page->packed = false;
  return Status::Ok();
}

}  // namespace edo::storage
