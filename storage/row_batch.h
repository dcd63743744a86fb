// RowBatch: a few thousand rows on their way from a reader to the store, or from the store to a
// writer. Owned by whoever loops; the callee fills and the caller reuses it, so that a long import
// allocates only at its start. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edo::storage {

struct RowBatch {
  uint64_t row_count = 0;
  uint32_t dim = 0;
  std::vector<float> values;        // (row_count, dim); empty when `codes` carry the rows
  std::vector<std::byte> codes;     // (row_count, row_bytes) of the source's codec (edo archives)
  std::vector<int64_t> int_keys;    // (row_count) for int64 keys
  std::string key_bytes;            // text keys, one after the other
  std::vector<uint64_t> key_ends;   // (row_count) end of each key in key_bytes
  std::vector<uint64_t> positions;  // (row_count) line from 1 or row from 0, see SourceInfo

  void Clear() {
    row_count = 0;
    values.clear();
    codes.clear();
    int_keys.clear();
    key_bytes.clear();
    key_ends.clear();
    positions.clear();
  }
  void AddTextKey(std::string_view key) {
    key_bytes.append(key);
    key_ends.push_back(key_bytes.size());
  }
  std::string_view text_key(uint64_t i) const {
    const uint64_t begin = i == 0 ? 0 : key_ends[i - 1];
    return std::string_view(key_bytes).substr(begin, key_ends[i] - begin);
  }
  const float* row(uint64_t i) const { return values.data() + i * dim; }
};

}  // namespace edo::storage
