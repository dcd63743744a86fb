// A store over memory with a table of each key kind, for tests of lookups: rows ValueOf(row,
// column), text keys "k<row>", int64 keys row * 7 - 1000. What a lookup must give is worked out by
// plain loops.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "edo/store.h"
#include "engine/store_impl.h"
#include "storage/memory_row_store.h"
#include "tests/support/stores.h"
#include "tests/support/test_util.h"

namespace edo::test {

inline std::unique_ptr<Store> MemoryStore(const StoreOptions& options) {
  auto store = engine::StoreImpl::MakeNew(storage::MakeMemoryRowStore(), "", options);
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

// Writes rows 0 .. rows - 1 with keys of the table's kind. With EDO_TEST_TIERS in the environment
// in three tiers of that codec, which changes nothing that a reader sees (tiers_test.cc has
// others).
inline Result<TableInfo> WriteTable(Store* store, const std::string& name,
                                    const TableOptions& asked, uint64_t rows,
                                    uint64_t version = 0) {
  TableOptions options = asked;
  if (std::getenv("EDO_TEST_TIERS") != nullptr && rows >= 10 && options.hot.empty()) {
    options.hot = {{.rows = rows / 5, .codec = options.codec},
                   {.rows = rows / 3, .codec = options.codec}};
  }
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable(name, options));
  for (uint64_t begin = 0; begin < rows; begin += 1000) {
    const uint64_t n = std::min<uint64_t>(1000, rows - begin);
    const std::vector<float> values = RowsOf(begin, n, options.dim, version);
    std::vector<std::string> texts;
    std::vector<int64_t> ints;
    for (uint64_t i = begin; i < begin + n; ++i) {
      texts.push_back("k" + std::to_string(i));
      ints.push_back(static_cast<int64_t>(i) * 7 - 1000);
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    TableWriter::Rows batch;
    batch.values = values;
    if (options.key_kind == KeyKind::kText) batch.text_keys = views;
    if (options.key_kind == KeyKind::kInt64) batch.int_keys = ints;
    EDO_RETURN_IF_ERROR(writer->Append(batch));
  }
  return writer->Commit();
}

// The same in place of the table that is there, if any.
inline Status Rewrite(Store* store, const std::string& name, TableOptions options, uint64_t rows,
                      uint64_t version = 0) {
  options.replace = true;
  return WriteTable(store, name, options, rows, version).status();
}

inline std::unique_ptr<Table> OpenTable(const Store* store, const std::string& name) {
  auto table = store->OpenTable(name);
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? std::move(*table) : nullptr;
}

// Rows of a table as a lookup without any cache gives them: (rows.size(), dim); rows beyond the
// table are zeros.
inline std::vector<float> PlainRows(const Table& table, const std::vector<uint64_t>& rows) {
  std::vector<float> values(table.info().rows * table.info().dim);
  auto scan = table.Scan({.keys = false});
  EXPECT_TRUE(scan.ok());
  ScanBatch batch;
  while (*(*scan)->Next(&batch)) {
    std::copy(batch.values.begin(), batch.values.end(),
              values.begin() + static_cast<ptrdiff_t>(batch.first_row * table.info().dim));
  }
  std::vector<float> out(rows.size() * table.info().dim);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= table.info().rows) continue;
    std::copy_n(values.begin() + static_cast<ptrdiff_t>(rows[i] * table.info().dim),
                table.info().dim, out.begin() + static_cast<ptrdiff_t>(i * table.info().dim));
  }
  return out;
}

// Sums of bags by the rules of Table::LookupBags; rows beyond the table take no part.
inline std::vector<float> PlainBags(const Table& table, const std::vector<uint64_t>& rows,
                                    const Bags& bags) {
  const uint32_t dim = table.info().dim;
  const std::vector<float> values = PlainRows(table, rows);
  std::vector<float> out(bags.offsets.size() * dim);
  for (size_t b = 0; b < bags.offsets.size(); ++b) {
    const uint64_t end = b + 1 < bags.offsets.size() ? bags.offsets[b + 1] : rows.size();
    uint64_t present = 0;
    for (uint64_t i = bags.offsets[b]; i < end; ++i) {
      if (rows[i] >= table.info().rows) continue;
      ++present;
      for (uint32_t c = 0; c < dim; ++c) {
        float& sum = out[b * dim + c];
        volatile float value = values[i * dim + c];
        if (!bags.weights.empty()) value = bags.weights[i] * value;
        sum = sum + value;
      }
    }
    if (bags.mode == PoolMode::kMean && present > 0) {
      for (uint32_t c = 0; c < dim; ++c) out[b * dim + c] /= static_cast<float>(present);
    }
  }
  return out;
}

// Row numbers with repeats, and about one in `absent_in` beyond the table (0: none).
inline std::vector<uint64_t> SomeRows(uint64_t table_rows, size_t count, uint32_t absent_in,
                                      std::mt19937_64& random) {
  std::vector<uint64_t> rows(count);
  for (uint64_t& row : rows) {
    // Half of them from a few hot rows, so that caches have something to keep.
    row = random() % 2 ? random() % table_rows : random() % (table_rows / 10 + 1);
    if (absent_in != 0 && random() % absent_in == 0) row = table_rows + random() % 3;
  }
  return rows;
}

// Bags over `count` keys: empty ones among them, short ones, and now and then a long one.
inline std::vector<uint64_t> SomeOffsets(size_t count, std::mt19937_64& random) {
  std::vector<uint64_t> offsets{0};
  while (offsets.back() < count) {
    const uint64_t size = random() % 8 == 0 ? 0 : (random() % 30 == 0 ? 400 : random() % 20);
    offsets.push_back(std::min<uint64_t>(count, offsets.back() + size));
  }
  return offsets;
}

}  // namespace edo::test
