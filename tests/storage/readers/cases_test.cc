// Every folder of tests/data/cases is a small input, right or wrong in one way, with runs in its
// expected.json: options, and either the exact table (values compared bit for bit) or the words and
// the place that the refusal must name. Duplicate keys are the table writer's business, not here.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "storage/row_reader.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using nlohmann::json;

struct Table {
  SourceInfo info;
  std::vector<std::string> text_keys;
  std::vector<int64_t> int_keys;
  std::vector<uint32_t> bits;
  uint64_t rows = 0;
};

Result<Table> ReadAll(const SourceOptions& options) {
  EDO_ASSIGN_OR_RETURN(auto reader, OpenRowReader(options));
  Table table;
  RowBatch batch;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&batch));
    if (!more) break;
    table.rows += batch.row_count;
    EXPECT_EQ(batch.positions.size(), batch.row_count);
    for (const float value : batch.values) table.bits.push_back(std::bit_cast<uint32_t>(value));
    for (const int64_t key : batch.int_keys) table.int_keys.push_back(key);
    for (uint64_t i = 0; i < batch.key_ends.size(); ++i)
      table.text_keys.emplace_back(batch.text_key(i));
  }
  table.info = reader->info();
  return table;
}

SourceOptions OptionsOf(const json& run, const std::string& folder) {
  SourceOptions options;
  options.path = folder + "/" + run["file"].get<std::string>();
  const json& given = run["options"];
  options.format = given.value("format", "");
  options.dim = given.value("dim", 0u);
  options.dtype = given.value("dtype", "");
  options.tensor = given.value("tensor", "");
  options.keys_dtype = given.value("keys_dtype", "");
  options.keys = given.value("keys", "");
  const bool names_file = options.keys != "dense" && !options.keys.starts_with("npz:");
  if (!options.keys.empty() && names_file) options.keys.insert(0, folder + "/");
  if (given.contains("key_kind")) {
    options.key_kind = given["key_kind"] == "int64" ? KeyKind::kInt64 : KeyKind::kText;
  }
  if (given.contains("delimiter")) options.delimiter = given["delimiter"].get<std::string>()[0];
  if (given.value("header", "") == "yes") options.header = HeaderLine::kYes;
  if (given.value("non_finite", "") == "keep") options.non_finite = OnNonFinite::kKeep;
  if (given.value("invalid_utf8", "") == "keep") options.invalid_utf8 = OnInvalidUtf8::kKeep;
  return options;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

void CheckKeys(const Table& table, const json& wanted) {
  if (wanted.contains("key_kind")) {
    EXPECT_EQ(KeyKindName(table.info.key_kind), wanted["key_kind"]);
  }
  if (wanted.contains("keys_hex")) {
    std::vector<std::string> keys;
    for (const json& hex : wanted["keys_hex"]) keys.push_back(FromHex(hex));
    EXPECT_EQ(table.text_keys, keys);
  } else if (wanted.contains("keys_len_bytes")) {
    std::vector<size_t> lengths;
    for (const std::string& key : table.text_keys) lengths.push_back(key.size());
    EXPECT_EQ(lengths, wanted["keys_len_bytes"].get<std::vector<size_t>>());
  } else if (wanted.contains("keys") && table.info.key_kind == KeyKind::kInt64) {
    EXPECT_EQ(table.int_keys, wanted["keys"].get<std::vector<int64_t>>());
  } else if (wanted.contains("keys")) {
    EXPECT_EQ(table.text_keys, wanted["keys"].get<std::vector<std::string>>());
  }
}

void CheckTable(const Table& table, const json& wanted) {
  EXPECT_EQ(table.rows, wanted["rows"].get<uint64_t>());
  EXPECT_EQ(table.info.dim, wanted["dim"].get<uint32_t>());
  CheckKeys(table, wanted);
  if (!wanted.contains("values_f32_bits")) return;
  std::vector<uint32_t> bits;
  for (const json& row : wanted["values_f32_bits"]) {
    for (const json& value : row) {
      bits.push_back(static_cast<uint32_t>(std::stoul(value.get<std::string>(), nullptr, 16)));
    }
  }
  EXPECT_EQ(table.bits, bits);
}

void CheckRefusal(const Status& status, const json& wanted) {
  ASSERT_FALSE(status.ok()) << "accepted";
  const std::string text = status.ToString();
  for (const json& word : wanted["says"]) {
    EXPECT_NE(text.find(word.get<std::string>()), std::string::npos) << word << " in: " << text;
  }
  const std::string place = wanted.contains("byte")   ? "byte " + wanted["byte"].dump()
                            : wanted.contains("line") ? "line " + wanted["line"].dump()
                                                      : "";
  const bool row_named = text.find(" row ") != std::string::npos;  // naming the row will do
  EXPECT_TRUE(row_named || text.find(place) != std::string::npos) << place << " in: " << text;
}

TEST(Cases, EveryCaseEndsAsExpected) {
  size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::DataFile("cases"))) {
    const std::string folder = entry.path().string();
    const json expected = json::parse(test::ReadFile(folder + "/expected.json"));
    for (const json& run : expected["runs"]) {
      SCOPED_TRACE(folder + " " + run.dump().substr(0, 160));
      const auto table = ReadAll(OptionsOf(run, folder));
      ++runs;
      if (run.contains("accept")) {
        EXPECT_TRUE(table.ok()) << table.status().ToString();
        if (table.ok()) CheckTable(*table, run["accept"]);
      } else {
        CheckRefusal(table.status(), run["reject"]);
      }
    }
  }
  EXPECT_GT(runs, 100u);
}

}  // namespace
}  // namespace edo::storage
