// One flipped byte anywhere in a store: opening it fails and names a file of the store, or verify
// names the damage, or nothing that a reader can see has changed. Whatever happens, a lookup gives
// the rows that were written or says that it could not read them; never other values.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <random>
#include <tuple>

#include "edo/store.h"
#include "tests/support/stores.h"

#if !defined(__SANITIZE_THREAD__)

namespace edo {
namespace {

namespace fs = std::filesystem;
using test::ValueOf;

constexpr uint64_t kRows = 3000;
constexpr uint32_t kDim = 24;

std::string KeyOf(uint64_t row) { return "key-" + std::to_string(row * 7919 % 100003); }

void MakeTables(const std::string& directory, bool compressed_too = false) {
  auto store = Store::Create(directory);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  const std::vector<float> values = test::RowsOf(0, kRows, kDim);
  std::vector<std::string> keys;
  for (uint64_t r = 0; r < kRows; ++r) keys.push_back(KeyOf(r));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (const auto& [name, kind, compression] :
       {std::tuple("text", KeyKind::kText, Compression::kNone),
        {"dense", KeyKind::kDense, Compression::kNone},
        {"text-zstd", KeyKind::kText, Compression::kZstd},
        {"dense-zstd", KeyKind::kDense, Compression::kZstd}}) {
    if (compression == Compression::kZstd && !compressed_too) continue;
    TableOptions options;
    options.dim = kDim;
    options.key_kind = kind;
    options.compression = compression;
    auto writer = (*store)->CreateTable(name, options);
    ASSERT_TRUE(writer.ok());
    TableWriter::Rows rows;
    rows.values = values;
    if (kind == KeyKind::kText) rows.text_keys = views;
    EDO_ASSERT_OK((*writer)->Append(rows));
    ASSERT_TRUE((*writer)->Commit().ok());
  }
}

struct Seen {
  bool wrong = false;  // a value that was never written
  uint64_t unread = 0;
  uint64_t missing = 0;
  std::string messages;
};

// Looks every row up by key and by number.
Seen LookAtEverything(const Store& store) {
  Seen seen;
  for (const TableInfo& info : store.Tables()) {
    auto table = store.OpenTable(info.name);
    if (!table.ok()) {
      seen.messages += table.status().ToString() + "\n";
      continue;
    }
    std::vector<uint64_t> numbers(kRows);
    std::vector<std::string> keys;
    for (uint64_t r = 0; r < kRows; ++r) {
      numbers[r] = r;
      keys.push_back(KeyOf(r));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    for (const bool by_key : {false, true}) {
      if (by_key && info.key_kind != KeyKind::kText) continue;
      std::vector<float> out(kRows * kDim, -1.0f);
      LookupReport report;
      const Status s = by_key ? (*table)->Lookup(std::span<const std::string_view>(views), {},
                                                 out.data(), &report)
                              : (*table)->LookupRows(numbers, {}, out.data(), &report);
      if (!s.ok()) seen.messages += s.ToString() + "\n";
      seen.unread += report.unread;
      seen.missing += report.missing;
      seen.wrong |= s.ok() != (report.unread == 0);
      for (uint64_t r = 0; r < kRows; ++r) {
        const bool found = report.states[r] == RowState::kFound;
        for (uint32_t c = 0; c < kDim && found; ++c) {
          seen.wrong |= out[r * kDim + c] != ValueOf(r, c);
        }
        if (report.states[r] == RowState::kUnread) {
          seen.wrong |= out[r * kDim] != -1.0f;  // no default data in place of an error
        }
      }
    }
  }
  return seen;
}

TEST(Damage, AFlippedByteAnywhereIsNamedOrHarmless) {
  const test::TempDir dir;
  MakeTables(dir.File("good"), /*compressed_too=*/true);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir.File("good"))) {
    if (entry.file_size() > 0) files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  std::mt19937_64 random(test::Seed(2026));
  std::map<std::string, int> outcomes;
  for (const fs::path& file : files) {
    const int flips = file.extension() == ".sst" ? 40 : 25;
    for (int flip = 0; flip < flips; ++flip) {
      const std::string store_dir = dir.File("bad");
      fs::remove_all(store_dir);
      fs::copy(dir.File("good"), store_dir);
      std::string bytes = test::ReadFile(store_dir + "/" + file.string());
      // Heads and tails hold the delicate parts: flip there as often as in the middle.
      const size_t region = std::min<size_t>(bytes.size(), 200);
      size_t at = random() % bytes.size();
      if (flip % 3 == 1) at = random() % region;
      if (flip % 3 == 2) at = bytes.size() - 1 - random() % region;
      const char mask = static_cast<char>(1u << (random() % 8));
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      test::WriteFile(store_dir + "/" + file.string(), bytes);
      SCOPED_TRACE(file.string() + " byte " + std::to_string(at) + " of " +
                   std::to_string(bytes.size()));

      auto store = Store::Open(store_dir, {.read_only = true});
      if (!store.ok()) {
        EXPECT_NE(store.status().message().find(store_dir), std::string_view::npos)
            << store.status().ToString();
        ++outcomes["open names it"];
        // A writable open must not take an older state for the present one and clean up.
        const auto writable = Store::Open(store_dir);
        EXPECT_FALSE(writable.ok());
        for (const fs::path& other : files) {
          if (other.extension() == ".sst") {
            EXPECT_TRUE(fs::exists(store_dir + "/" + other.string())) << other;
          }
        }
        continue;
      }
      const Seen seen = LookAtEverything(**store);
      EXPECT_FALSE(seen.wrong) << seen.messages;
      EXPECT_EQ(seen.missing, 0u) << "a damaged page made keys vanish";
      const auto report = (*store)->Verify({});
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      if (!report->damages.empty()) {
        ++outcomes["verify names it"];
      } else {
        EXPECT_EQ(seen.unread, 0u) << seen.messages;
        EXPECT_NE(file.extension(), ".sst") << "every byte of a data file is covered";
        ++outcomes["harmless: " + file.string().substr(0, file.string().find('-'))];
      }
    }
  }
  for (const auto& [what, count] : outcomes) std::cout << what << ": " << count << "\n";
}

// RocksDB parses some blocks at a file's end before it proves them; one bit of theirs would end the
// process.
TEST(Damage, AFlippedTopBitAtAFilesEndIsNamed) {
  const test::TempDir dir;
  MakeTables(dir.File("good"));
  for (const auto& entry : fs::directory_iterator(dir.File("good"))) {
    if (entry.path().extension() != ".sst") continue;
    const std::string good = test::ReadFile(entry.path());
    for (size_t at = good.size() - std::min<size_t>(good.size(), 300); at < good.size(); ++at) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
      test::WriteFile(entry.path(), bytes);
      const auto store = Store::Open(dir.File("good"), {.read_only = true});
      if (!store.ok()) {
        EXPECT_NE(store.status().message().find(dir.File("good")), std::string_view::npos)
            << store.status().ToString();
        continue;
      }
      const auto report = (*store)->Verify({});
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      EXPECT_FALSE(report->damages.empty()) << entry.path() << " byte " << at;
    }
    test::WriteFile(entry.path(), good);
  }
}

TEST(Damage, AFlipInAChunkFailsItsRowsOnlyAndVerifySaysWhich) {
  const test::TempDir dir;
  MakeTables(dir.File("s"));
  std::string victim;
  for (const auto& entry : fs::directory_iterator(dir.File("s"))) {
    if (entry.path().extension() == ".sst" && entry.file_size() > 200'000) {
      victim = entry.path().string();
    }
  }
  ASSERT_FALSE(victim.empty());
  std::string bytes = test::ReadFile(victim);
  bytes[4096 * 5 + 2000] = static_cast<char>(bytes[4096 * 5 + 2000] ^ 1);  // inside chunk 5
  test::WriteFile(victim, bytes);
  auto store = Store::Open(dir.File("s"), {.read_only = true});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  const auto report = (*store)->Verify({});
  ASSERT_TRUE(report.ok());
  bool named = false;
  uint64_t first = 0, count = 0;
  std::string table_name;
  for (const Damage& d : report->damages) {
    if (d.part != "chunk") continue;
    named = true;
    EXPECT_EQ(d.number, 5u);
    first = d.first_row;
    count = d.row_count;
    table_name = d.table;
  }
  ASSERT_TRUE(named);
  auto table = (*store)->OpenTable(table_name);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(first, 5u * (*table)->info().chunk_rows);
  std::vector<uint64_t> numbers;
  for (uint64_t r = 0; r < kRows; ++r) numbers.push_back(r);
  std::vector<float> out(kRows * kDim);
  LookupReport lookup;
  const Status s = (*table)->LookupRows(numbers, {}, out.data(), &lookup);
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_NE(s.message().find("chunk 5"), std::string_view::npos) << s.ToString();
  EXPECT_EQ(lookup.unread, count);
  EXPECT_EQ(lookup.found, kRows - count);
  ASSERT_EQ(lookup.failures.size(), 1u);
  EXPECT_EQ(lookup.failures[0].first_row, first);
  EXPECT_EQ((*store)->stats().rows_unread, count);
}

TEST(Damage, NewerAndForeignDirectoriesAreNamed) {
  const test::TempDir dir;
  EXPECT_EQ(Store::Open(dir.File("none")).status().code(), StatusCode::kNotFound);
  MakeTables(dir.File("s"));
  test::WriteFile(dir.File("s/EDO"), "edo store\nformat 2\nwho knows\n");
  const Status newer = Store::Open(dir.File("s")).status();
  EXPECT_EQ(newer.code(), StatusCode::kUnsupported);
  EXPECT_NE(newer.message().find("format version 2"), std::string_view::npos);
  fs::create_directories(dir.File("other"));
  test::WriteFile(dir.File("other/notes.txt"), "mine");
  EXPECT_EQ(Store::Create(dir.File("other")).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Store::Destroy(dir.File("other")).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::exists(dir.File("other/notes.txt")));
  EDO_EXPECT_OK(Store::Destroy(dir.File("s")));
  EXPECT_FALSE(fs::exists(dir.File("s")));
}

}  // namespace
}  // namespace edo

#endif
