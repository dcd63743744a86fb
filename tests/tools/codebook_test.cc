// edo import --codebook, --rotation and --codes: rows of a product quantiser of others against its
// decoder, written out here; what a fault says, and that it leaves no table.
#include <random>

#include "edo/store.h"
#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

template <typename T>
std::string Npy(const char* descr, const std::vector<size_t>& shape, const std::vector<T>& values,
                bool fortran = false) {
  std::string text = "(";
  for (const size_t extent : shape) text += std::to_string(extent) + ",";
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + text + "), }";
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  return file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

class CodebookImport : public ::testing::Test {
 protected:
  static constexpr uint32_t kDim = 12, kParts = 4, kWidth = 3, kRows = 90;

  void SetUp() override {
    std::mt19937 random(static_cast<uint32_t>(Seed(8)));
    std::normal_distribution<float> gauss(0, 5);
    for (float& x : book_) x = gauss(random);
    for (uint8_t& x : codes_) x = static_cast<uint8_t>(random());
    for (float& x : rows_) x = gauss(random);
    for (uint32_t i = 0; i < kDim; ++i) {  // columns i -> i + 5, and every third with a minus
      rotation_[i * kDim + (i + 5) % kDim] = i % 3 == 0 ? -1.0f : 1.0f;
    }
    WriteFile(Path("book.npy"), Npy("<f4", {kParts, 256, kWidth}, book_));
    WriteFile(Path("codes.npy"), Npy("|u1", {kRows, kParts}, codes_));
    WriteFile(Path("rows.npy"), Npy("<f4", {kRows, kDim}, rows_));
    WriteFile(Path("turn.npy"), Npy("<f4", {kDim, kDim}, rotation_));
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  Said Import(const std::string& file, std::vector<std::string> more) const {
    std::vector<std::string> args{"import", Path(file), "--store", Path("store"), "--table", "t"};
    args.insert(args.end(), more.begin(), more.end());
    return Edo(args);
  }
  std::vector<float> Values() const {
    auto store = Store::Open(Path("store"), {.read_only = true}).value();
    auto table = store->OpenTable("t").value();
    std::vector<int64_t> ids(table->info().rows);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> out(ids.size() * table->info().dim);
    EXPECT_TRUE(table->Lookup(ids, {}, out.data()).ok());
    return out;
  }
  // What the book says of the codes; behind the rotation where `turned`.
  std::vector<float> Expected(uint32_t mask, bool turned) const {
    std::vector<float> out;
    for (uint32_t r = 0; r < kRows; ++r) {
      std::vector<float> vector(kDim), row(kDim);
      for (uint32_t j = 0; j < kDim; ++j) {
        const uint32_t p = j / kWidth;
        const uint32_t code = codes_[r * kParts + p] & mask;
        vector[j] = book_[(p * (mask + 1) + code) * kWidth + j % kWidth];
      }
      for (uint32_t i = 0; i < kDim && turned; ++i) {
        for (uint32_t j = 0; j < kDim; ++j) row[j] += rotation_[i * kDim + j] * vector[i];
      }
      out.insert(out.end(), turned ? row.begin() : vector.begin(),
                 turned ? row.end() : vector.end());
    }
    return out;
  }
  static void ExpectWithinBF16(const std::vector<float>& got, const std::vector<float>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::abs(got[i] - expected[i]), 0x1p-8f * std::abs(expected[i])) << i;
    }
  }

  TempDir dir_;
  std::vector<float> book_ = std::vector<float>(kParts * 256 * kWidth);
  std::vector<uint8_t> codes_ = std::vector<uint8_t>(kRows * kParts);
  std::vector<float> rows_ = std::vector<float>(kRows * kDim);
  std::vector<float> rotation_ = std::vector<float>(kDim * kDim);
};

TEST_F(CodebookImport, CodesAreTakenOver) {
  const std::vector<std::string> pq{"--codec", "PQ4x8", "--codebook", Path("book.npy"), "--codes"};
  const Said said = Import("codes.npy", pq);
  ASSERT_EQ(said.code, 0) << said.err;
  ExpectWithinBF16(Values(), Expected(255, false));
  // Keys from a file, a rotation, replaced in one step.
  std::string keys;
  for (uint32_t r = 0; r < kRows; ++r) keys += "word" + std::to_string(r) + "\n";
  WriteFile(Path("keys.txt"), keys);
  const Said turned = Import("codes.npy", {"--codec", "OPQ4,PQ4x8", "--codebook", Path("book.npy"),
                                           "--rotation", Path("turn.npy"), "--codes", "--force"});
  ASSERT_EQ(turned.code, 0) << turned.err;
  ExpectWithinBF16(Values(), Expected(255, true));
  auto keyed = pq;
  keyed.insert(keyed.end(), {"--keys", Path("keys.txt"), "--force"});
  ASSERT_EQ(Import("codes.npy", keyed).code, 0);
  EXPECT_EQ(Edo({"get", "--store", Path("store"), "word89"}).code, 0);
  EXPECT_EQ(Edo({"verify", "--store", Path("store")}).code, 0);
}

TEST_F(CodebookImport, TheLastPartMayBePadded) {
  for (uint32_t code = 0; code < 256; ++code) book_[((kParts - 1) * 256 + code) * kWidth + 2] = 0;
  WriteFile(Path("book.npy"), Npy("<f4", {kParts, 256, kWidth}, book_));
  const std::vector<std::string> pq{"--codec",        "PQ4x8",   "--codebook",
                                    Path("book.npy"), "--codes", "--dim"};
  const auto with_dim = [&](const char* dim) {
    auto args = pq;
    args.push_back(dim);
    return Import("codes.npy", args);
  };
  const Said narrow = with_dim("10");
  EXPECT_EQ(narrow.code, 1);
  EXPECT_THAT(narrow.err, HasSubstr("lies beyond dim 10"));
  const Said wide = with_dim("13");
  EXPECT_EQ(wide.code, 1);
  EXPECT_THAT(wide.err, HasSubstr("need (4, 256, 4)"));
  ASSERT_EQ(with_dim("11").code, 0);
  auto expected = Expected(255, false);
  for (size_t row = kRows; row-- > 0;) {
    expected.erase(expected.begin() + static_cast<ptrdiff_t>(row * kDim + kDim - 1));
  }
  ExpectWithinBF16(Values(), expected);
}

TEST_F(CodebookImport, FourBitCodesOneOrTwoAByte) {
  book_.resize(kParts * 16 * kWidth);
  WriteFile(Path("book.npy"), Npy("<f4", {kParts, 16, kWidth}, book_));
  std::vector<uint8_t> single(codes_), packed;
  for (size_t i = 0; i < codes_.size(); ++i) single[i] = codes_[i] & 15;
  for (size_t i = 0; i < single.size(); i += 2) {
    packed.push_back(static_cast<uint8_t>(single[i] | single[i + 1] << 4));
  }
  WriteFile(Path("single.npy"), Npy("|u1", {kRows, kParts}, single));
  WriteFile(Path("packed.npy"), Npy("|u1", {kRows, kParts / 2}, packed));
  for (const char* file : {"single.npy", "packed.npy"}) {
    const Said said =
        Import(file, {"--codec", "PQ4x4", "--codebook", Path("book.npy"), "--codes", "--force"});
    ASSERT_EQ(said.code, 0) << said.err;
    ExpectWithinBF16(Values(), Expected(15, false));
  }
  single[5] = 16;
  WriteFile(Path("single.npy"), Npy("|u1", {kRows, kParts}, single));
  const Said said = Import(
      "single.npy", {"--codec", "PQ4x4", "--codebook", Path("book.npy"), "--codes", "--force"});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.err, HasSubstr("row 1: code 2 of 4 is 16; those of PQ4x4 are 0..15"));
  ExpectWithinBF16(Values(), Expected(15, false));  // the old table stayed
}

TEST_F(CodebookImport, RowsAreEncodedByTheBook) {
  const std::vector<std::string> args{"--codec", "PQ4x8", "--codebook", Path("book.npy"),
                                      "--force"};
  ASSERT_EQ(Import("rows.npy", args).code, 0);
  const auto first = Values();
  double error = 0, energy = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    error += std::pow(rows_[i] - first[i], 2);
    energy += std::pow(rows_[i], 2);
  }
  EXPECT_LT(error, 0.2 * energy);
  // The same book as f64, and in Fortran order: the same table.
  WriteFile(Path("book.npy"),
            Npy("<f8", {kParts, 256, kWidth}, std::vector<double>(book_.begin(), book_.end())));
  ASSERT_EQ(Import("rows.npy", args).code, 0);
  EXPECT_EQ(Values(), first);
  std::vector<float> turned(book_.size());
  for (uint32_t p = 0; p < kParts; ++p) {
    for (uint32_t c = 0; c < 256; ++c) {
      for (uint32_t t = 0; t < kWidth; ++t) {
        turned[(t * 256 + c) * kParts + p] = book_[(p * 256 + c) * kWidth + t];
      }
    }
  }
  WriteFile(Path("book.npy"), Npy("<f4", {kParts, 256, kWidth}, turned, true));
  ASSERT_EQ(Import("rows.npy", args).code, 0);
  EXPECT_EQ(Values(), first);
}

TEST_F(CodebookImport, FaultsLeaveNothing) {
  const std::string book = Path("book.npy"), turn = Path("turn.npy");
  auto nan = book_;
  nan[0] = std::numeric_limits<float>::quiet_NaN();
  WriteFile(Path("nan.npy"), Npy("<f4", {kParts, 256, kWidth}, nan));
  WriteFile(Path("flat.npy"), Npy("<f4", {kParts * 256, kWidth}, book_));
  WriteFile(Path("ints.npy"), Npy("<i4", {kParts, 256, kWidth}, book_));
  WriteFile(Path("cut.npy"), Npy("<f4", {kParts, 256, kWidth}, std::vector<float>(5)));
  WriteFile(Path("more.npy"), Npy("<f4", {kParts, 256, kWidth}, book_) + "x");
  WriteFile(Path("wide.npy"),
            Npy("<f4", {kParts, 256, kWidth + 1}, std::vector<float>(kParts * 256 * (kWidth + 1))));
  WriteFile(Path("three.npy"), Npy("|u1", {kRows, 3}, codes_));
  WriteFile(Path("signed.npy"), Npy("|i1", {kRows, kParts}, codes_));
  WriteFile(Path("noturn.npy"), Npy("<f4", {kDim, kDim}, std::vector<float>(kDim * kDim)));
  struct Fault {
    const char* file;
    std::vector<std::string> more;
    int code;
    const char* says;
  };
  const std::vector<Fault> faults{
      {"rows.npy", {"--codebook", book}, 2, "--codebook goes with --codec PQ"},
      {"rows.npy", {"--codec", "INT8", "--codebook", book}, 2, "not with INT8"},
      {"rows.npy",
       {"--codec", "PQ4x8", "--codebook", book, "--hot", "5:F32"},
       2,
       "--codebook does not go with --hot: import without it, then `edo recode --hot`"},
      {"rows.npy", {"--codec", "RQ4x8", "--codebook", book}, 2, "not with RQ4x8"},
      {"rows.npy", {"--codec", "auto", "--min-cosine", "0.9", "--codebook", book}, 2, "with auto"},
      {"codes.npy", {"--codec", "PQ4x8", "--codes"}, 2, "--codes needs the --codebook"},
      {"rows.npy", {"--codec", "PQ4x8", "--rotation", turn}, 2, "goes with --codebook"},
      {"rows.npy",
       {"--codec", "PQ4x8", "--codebook", book, "--rotation", turn},
       2,
       "goes with OPQ"},
      {"rows.npy", {"--codec", "OPQ4,PQ4x8", "--codebook", book}, 2, "needs its --rotation"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", Path("none.npy")}, 1, "none.npy"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", Path("flat.npy")}, 1, "has (4, 256, values"},
      {"rows.npy", {"--codec", "PQ4x4", "--codebook", book}, 1, "has (4, 16, values of a part)"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", Path("ints.npy")}, 1, "f2, f4 and f8"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", Path("nan.npy")}, 1, "not finite"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", Path("cut.npy")}, 1, "truncated"},
      {"rows.npy",
       {"--codec", "PQ4x8", "--codebook", Path("more.npy")},
       1,
       "bytes follow the array"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", Path("wide.npy")}, 1, "need (4, 256, 3)"},
      {"codes.npy", {"--codec", "PQ4x8", "--codebook", book}, 1, "need (4, 256, 1)"},
      {"three.npy", {"--codec", "PQ4x8", "--codebook", book, "--codes"}, 1, "has 4 codes a row"},
      {"signed.npy", {"--codec", "PQ4x8", "--codebook", book, "--codes"}, 1, "holds i8"},
      {"rows.npy", {"--codec", "PQ4x8", "--codebook", book, "--codes"}, 1, "codes are u8"},
      {"rows.npy",
       {"--codec", "OPQ4,PQ4x8", "--codebook", book, "--rotation", Path("noturn.npy")},
       1,
       "is no rotation"},
      {"rows.npy",
       {"--codec", "OPQ4,PQ4x8", "--codebook", book, "--rotation", book},
       1,
       "has (12, 12)"}};
  for (const Fault& fault : faults) {
    const Said said = Import(fault.file, fault.more);
    EXPECT_EQ(said.code, fault.code) << fault.says << ": " << said.err;
    EXPECT_THAT(said.err, HasSubstr(fault.says));
    EXPECT_FALSE(fs::exists(Path("store"))) << fault.says;
  }
}

}  // namespace
}  // namespace edo::test
