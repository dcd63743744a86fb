// Stores for engine tests: over RocksDB in a directory of the test's own, or over memory (the only
// kind under the thread sanitizer, whose view of an uninstrumented RocksDB would be false alarms).
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "edo/store.h"
#include "engine/store_impl.h"
#include "storage/memory_row_store.h"
#include "tests/support/test_util.h"

namespace edo::test {

enum class StoreBody { kRocksdb, kMemory };

inline std::vector<StoreBody> StoreBodies() {
#if defined(__SANITIZE_THREAD__)
  return {StoreBody::kMemory};
#else
  return {StoreBody::kRocksdb, StoreBody::kMemory};
#endif
}
inline std::string BodyName(const ::testing::TestParamInfo<StoreBody>& info) {
  return info.param == StoreBody::kRocksdb ? "Rocksdb" : "Memory";
}

inline std::unique_ptr<Store> NewStore(StoreBody body, const std::string& directory) {
  if (body == StoreBody::kRocksdb) {
    auto store = Store::Create(directory);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? std::move(*store) : nullptr;
  }
  auto store = engine::StoreImpl::MakeNew(storage::MakeMemoryRowStore(), "", {});
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return std::move(*store);
}

// Rows that tests can make again from their number: value (row, column, version).
inline float ValueOf(uint64_t row, uint32_t column, uint64_t version = 0) {
  uint64_t x = row * 0x9e3779b97f4a7c15u + column * 0xbf58476d1ce4e5b9u + version * 77777u + 1;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 29;
  return static_cast<float>(static_cast<int32_t>(x >> 40) - (1 << 23)) / 4096.0f;
}
inline std::vector<float> RowsOf(uint64_t first, uint64_t count, uint32_t dim,
                                 uint64_t version = 0) {
  std::vector<float> values(count * dim);
  for (uint64_t r = 0; r < count; ++r) {
    for (uint32_t c = 0; c < dim; ++c) values[r * dim + c] = ValueOf(first + r, c, version);
  }
  return values;
}

}  // namespace edo::test
