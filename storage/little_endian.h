// Little-endian integers in byte buffers: everything EDO writes is little-endian by definition,
// except RocksDB keys, which are big-endian so that they sort by number.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace edo::storage {

static_assert(std::endian::native == std::endian::little,
              "big-endian hosts need byte swaps in kernels/ and here");

template <typename T>
T LoadLE(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <typename T>
void StoreLE(T value, void* bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}
template <typename T>
void AppendLE(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// 40-bit row numbers of the key index.
inline uint64_t LoadLE40(const void* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, 5);
  return value;
}
inline void AppendLE40(uint64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), 5);
}

}  // namespace edo::storage
