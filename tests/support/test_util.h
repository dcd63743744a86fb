// Small helpers that every test folder shares: seeds, temporary directories, files, Status checks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::test {

// Seed of a random test: EDO_TEST_SEED when set, else `fallback`. Always printed, so that a failure
// can be replayed.
inline uint64_t Seed(uint64_t fallback) {
  const char* text = std::getenv("EDO_TEST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 10) : fallback;
  std::cout << "seed " << seed << " (EDO_TEST_SEED=" << seed << " replays)\n";
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

// A directory of this test's own, removed at the end.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "edo_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.good()) << path;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Path of a committed test file: tests/data/<name>.
inline std::string DataFile(std::string_view name) {
  return std::string(EDO_TEST_DATA) + "/" + std::string(name);
}

}  // namespace edo::test

#define EDO_EXPECT_OK(expr)                        \
  do {                                             \
    const ::edo::Status edo_s_ = (expr);           \
    EXPECT_TRUE(edo_s_.ok()) << edo_s_.ToString(); \
  } while (0)
#define EDO_ASSERT_OK(expr)                        \
  do {                                             \
    const ::edo::Status edo_s_ = (expr);           \
    ASSERT_TRUE(edo_s_.ok()) << edo_s_.ToString(); \
  } while (0)
