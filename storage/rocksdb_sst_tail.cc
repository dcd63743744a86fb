#include "storage/rocksdb_sst_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace edo::storage {
namespace {

// The end of a file (RocksDB's footer, format version 5): checksum type, handles of the meta index
// and the index as varints, zeros up to 41 bytes, format version, magic number.
constexpr size_t kFooterBytes = 53;
constexpr uint64_t kMagic = 0x88e241b785f4cff7u;
constexpr size_t kMostTail = 1 << 20;  // a meta index block is a few hundred bytes
constexpr std::string_view kProperties = "rocksdb.properties";

struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

std::optional<uint64_t> TakeVarint(std::string_view* bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<Handle> TakeHandle(std::string_view* bytes) {
  const auto offset = TakeVarint(bytes);
  const auto size = offset ? TakeVarint(bytes) : std::nullopt;
  if (!size) return std::nullopt;
  return Handle{*offset, *size};
}

uint32_t LastWord(std::string_view bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + bytes.size() - 4, 4);
  return word;
}

// The entry of the properties block in a meta index block.
std::optional<Handle> FindProperties(std::string_view block) {
  if (block.size() < 4) return std::nullopt;
  const uint64_t restarts = LastWord(block);
  if (restarts >= block.size() / 4) return std::nullopt;
  std::string_view entries = block.substr(0, block.size() - 4 * (restarts + 1));
  std::string key;
  while (!entries.empty()) {
    const auto shared = TakeVarint(&entries);
    const auto rest = shared ? TakeVarint(&entries) : std::nullopt;
    const auto value_bytes = rest ? TakeVarint(&entries) : std::nullopt;
    if (!value_bytes || *shared > key.size() || *rest > entries.size() ||
        *value_bytes > entries.size() - *rest) {
      return std::nullopt;
    }
    key.resize(*shared);
    key.append(entries.substr(0, *rest));
    std::string_view value = entries.substr(*rest, *value_bytes);
    entries.remove_prefix(*rest + *value_bytes);
    if (key == kProperties) return TakeHandle(&value);
  }
  return std::nullopt;
}

bool ReadAt(int fd, uint64_t offset, size_t bytes, std::string* out) {
  out->resize(bytes);
  return ::pread(fd, out->data(), bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

// Whether the file's properties block claims what none has.
bool ClaimsHashIndex(int fd) {
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < static_cast<off_t>(kFooterBytes)) return false;
  const auto file_bytes = static_cast<uint64_t>(end);
  std::string bytes;
  if (!ReadAt(fd, file_bytes - kFooterBytes, kFooterBytes, &bytes)) return false;
  uint64_t magic = 0;
  std::memcpy(&magic, bytes.data() + kFooterBytes - 8, 8);
  if (magic != kMagic) return false;
  std::string_view footer = std::string_view(bytes).substr(1, 40);
  const auto fits = [&](const std::optional<Handle>& handle) {
    return handle && handle->size >= 4 && handle->size <= kMostTail &&
           handle->offset <= file_bytes && handle->size <= file_bytes - handle->offset;
  };
  const std::optional<Handle> meta_index = TakeHandle(&footer);
  if (!fits(meta_index)) return false;
  std::string block;
  if (!ReadAt(fd, meta_index->offset, meta_index->size, &block)) return false;
  const std::optional<Handle> properties = FindProperties(block);
  if (!fits(properties)) return false;
  if (!ReadAt(fd, properties->offset + properties->size - 4, 4, &bytes)) return false;
  return LastWord(bytes) >> 31 != 0;
}

}  // namespace

Status CheckSstProperties(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::Ok();
  const bool damaged = ClaimsHashIndex(fd);
  ::close(fd);
  if (!damaged) return Status::Ok();
  return Status::Corruption(path + ": the properties block is damaged: it claims a hash index");
}

}  // namespace edo::storage
