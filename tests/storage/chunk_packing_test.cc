// Packed chunks: what goes in comes out, whatever the shape and form; and no bytes, random, cut or
// flipped, make the unpacker do anything but refuse or give as many bytes as the page claims.
#include "storage/chunk_packing.h"

#include <gtest/gtest.h>

#include <random>

#include "storage/little_endian.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

constexpr ChunkForm kForms[] = {{1, false}, {1, true},  {2, false},
                                {2, true},  {4, false}, {4, true}};

// Rows near each other, a few bytes of noise.
std::string NearRows(uint32_t rows, size_t row_bytes, std::mt19937_64& random) {
  std::string codes(rows * row_bytes, '\0');
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = i < row_bytes ? static_cast<char>(random())
                             : static_cast<char>(codes[i - row_bytes] + (random() % 16 == 0));
  }
  return codes;
}

TEST(ChunkPacking, EveryShapeAndFormComesBack) {
  std::mt19937_64 random(test::Seed(1));
  ChunkPacker packer;
  ChunkUnpacker unpacker;
  int packed_pages = 0;
  for (int i = 0; i < 600; ++i) {
    const auto rows = static_cast<uint32_t>(1 + random() % 200);
    const size_t row_bytes = 1 + random() % (random() % 4 == 0 ? 1000 : 70);
    const std::string codes = NearRows(rows, row_bytes, random);
    for (const ChunkForm form : kForms) {
      std::string page = "head";
      if (!packer.Pack(codes, rows, form, &page)) {
        ASSERT_EQ(page, "head");
        ASSERT_EQ(packer.PackedBytes(codes, rows, form), codes.size());
        continue;
      }
      ++packed_pages;
      ASSERT_LT(page.size() - 4, codes.size());
      ASSERT_EQ(packer.PackedBytes(codes, rows, form), page.size() - 4);
      PageView view{rows, std::string_view(page).substr(4), true, 0};
      EDO_ASSERT_OK(unpacker.Unpack(&view));
      ASSERT_FALSE(view.packed);
      ASSERT_EQ(view.payload, codes) << rows << " x " << row_bytes << " width " << int{form.width};
    }
  }
  EXPECT_GT(packed_pages, 1000);
}

TEST(ChunkPacking, WhatDoesNotShrinkIsNotPacked) {
  std::mt19937_64 random(2);
  std::string noise(8192, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  ChunkPacker packer;
  std::string page;
  for (const ChunkForm form : kForms) EXPECT_FALSE(packer.Pack(noise, 64, form, &page));
  EXPECT_FALSE(packer.Pack("", 1, {}, &page));
  EXPECT_FALSE(packer.Pack(std::string(kMostChunkCodes + 1, 'a'), 1, {}, &page))
      << "over the limit";
  EXPECT_TRUE(page.empty());
  EXPECT_TRUE(packer.Pack(std::string(kMostChunkCodes, 'a'), 1, {}, &page));
  // A page that is not packed is left alone.
  PageView view{3, "abc"};
  EDO_EXPECT_OK(ChunkUnpacker().Unpack(&view));
  EXPECT_EQ(view.payload, "abc");
}

TEST(ChunkPacking, DamageIsRefused) {
  std::mt19937_64 random(test::Seed(3));
  const std::string codes = NearRows(60, 130, random);
  ChunkPacker packer;
  ChunkUnpacker unpacker;
  std::string good;
  ASSERT_TRUE(packer.Pack(codes, 60, {2, true}, &good));
  const auto unpack = [&](std::string_view payload, uint32_t rows) {
    PageView view{rows, payload, true, 0};
    const Status s = unpacker.Unpack(&view);
    if (s.ok()) {
      EXPECT_EQ(view.payload.size(), LoadLE<uint32_t>(payload.data()));
    }
    return s.code();
  };
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(unpack(good.substr(0, n), 60), StatusCode::kCorruption) << n;
  }
  EXPECT_EQ(unpack(good, 0), StatusCode::kCorruption);
  EXPECT_EQ(unpack(good, 7), StatusCode::kCorruption) << "7800 bytes are no 7 rows";
  for (const uint32_t bytes : {0u, 60u, 7740u, 7860u, 1u << 20, (1u << 20) + 4, UINT32_MAX}) {
    std::string bad = good;
    StoreLE<uint32_t>(bytes, bad.data());
    EXPECT_EQ(unpack(bad, 60), StatusCode::kCorruption) << bytes;
  }
  for (int form = 0; form < 256; ++form) {
    std::string bad = good;
    bad[4] = static_cast<char>(form);
    const bool known = (form & ~8) <= 2;
    EXPECT_EQ(unpack(bad, 60), known ? StatusCode::kOk : StatusCode::kCorruption) << form;
  }
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int flips = 0; flips < 3; ++flips) bad[random() % bad.size()] ^= 1 << (random() % 8);
    (void)unpack(bad, 60);
  }
}

}  // namespace
}  // namespace edo::storage
