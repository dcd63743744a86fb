// Codebooks learned elsewhere, against a decoder that is written out here: what is taken over
// decodes to the book's own values within a bfloat16, what is encoded is never further off than the
// book's own codes would be, and a book that does not fit is refused.
#include "edo/codebook.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "storage/codec.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::HasSubstr;

CodecSpec Spec(const char* name) { return CodecSpec::Parse(name).value(); }

// A book drawn from vectors of the given scale; padding zeros.
Codebook RandomBook(const CodecSpec& spec, uint32_t dim, float scale, std::mt19937& random) {
  Codebook book;
  book.parts = spec.parts;
  book.ksub = 1u << spec.bits;
  book.width = (dim + spec.parts - 1) / spec.parts;
  std::normal_distribution<float> gauss(0, scale);
  for (uint32_t p = 0; p < book.parts; ++p) {
    for (uint32_t code = 0; code < book.ksub; ++code) {
      for (uint32_t t = 0; t < book.width; ++t) {
        book.centroids.push_back(p * book.width + t < dim ? gauss(random) : 0);
      }
    }
  }
  if (!spec.rotated) return book;
  // Gram-Schmidt of random rows.
  book.rotation_dim = dim;
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> rows(size_t{dim} * dim);
  for (double& x : rows) x = normal(random);
  for (uint32_t i = 0; i < dim; ++i) {
    double* const row = &rows[size_t{i} * dim];
    for (uint32_t j = 0; j <= i; ++j) {
      const double* const other = &rows[size_t{j} * dim];
      double product = 0;
      for (uint32_t t = 0; t < dim; ++t) product += row[t] * other[t];
      for (uint32_t t = 0; t < dim; ++t) {
        row[t] = j == i ? row[t] / std::sqrt(product) : row[t] - product * other[t];
      }
    }
  }
  book.rotation.assign(rows.begin(), rows.end());
  return book;
}

// The book's own decoder, in binary64.
std::vector<double> Decode(const Codebook& book, uint32_t dim, const uint32_t* codes) {
  std::vector<double> vector(dim), row(dim);
  for (uint32_t j = 0; j < dim; ++j) {
    const uint32_t p = j / book.width;
    vector[j] = book.centroids[(size_t{p} * book.ksub + codes[p]) * book.width + j % book.width];
  }
  if (book.rotation.empty()) return vector;
  for (uint32_t i = 0; i < dim; ++i) {
    for (uint32_t j = 0; j < dim; ++j) row[j] += book.rotation[size_t{i} * dim + j] * vector[i];
  }
  return row;
}

// The book's own encoder: the row as it is, each part's nearest centroid.
std::vector<uint32_t> Encode(const Codebook& book, uint32_t dim, const float* row) {
  std::vector<double> vector(row, row + dim);
  if (!book.rotation.empty()) {
    for (uint32_t i = 0; i < dim; ++i) {
      vector[i] = 0;
      for (uint32_t j = 0; j < dim; ++j) vector[i] += book.rotation[size_t{i} * dim + j] * row[j];
    }
  }
  std::vector<uint32_t> codes(book.parts);
  for (uint32_t p = 0; p < book.parts; ++p) {
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t code = 0; code < book.ksub; ++code) {
      double error = 0;
      for (uint32_t j = p * book.width; j < std::min(dim, (p + 1) * book.width); ++j) {
        const double off =
            vector[j] -
            book.centroids[(size_t{p} * book.ksub + code) * book.width + j % book.width];
        error += off * off;
      }
      if (error < least) {
        least = error;
        codes[p] = code;
      }
    }
  }
  return codes;
}

double Error(const float* row, const std::vector<double>& decoded) {
  double error = 0;
  for (size_t j = 0; j < decoded.size(); ++j)
    error += (row[j] - decoded[j]) * (row[j] - decoded[j]);
  return error;
}

struct Case {
  const char* spec;
  uint32_t dim;
};
constexpr Case kCases[] = {{"PQ5x8", 20}, {"PQ5x4", 20},      {"PQ3x4", 8},     {"PQ1x8", 3},
                           {"PQ7x8", 7},  {"OPQ5,PQ5x8", 20}, {"OPQ3,PQ3x4", 8}};

TEST(CodebookTest, RowsAreNeverFurtherOffThanTheBooksOwnCodes) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(71)));
  for (const Case& c : kCases) {
    for (const float scale : {1.0f, 0.05f, 300.0f}) {
      SCOPED_TRACE(std::string(c.spec) + " dim " + std::to_string(c.dim) + " scale " +
                   std::to_string(scale));
      const CodecSpec spec = Spec(c.spec);
      const Codebook book = RandomBook(spec, c.dim, scale, random);
      const auto learned = MakeLearned(spec, c.dim, book);
      EDO_ASSERT_OK(learned.status());
      ASSERT_EQ(learned->size(), spec.LearnedBytes(c.dim));
      const auto codec = Codec::Make(spec, c.dim, *learned, true);
      EDO_ASSERT_OK(codec.status());
      constexpr size_t kRows = 150;
      std::normal_distribution<float> gauss(0, scale), spread(0, 1.5f);
      std::vector<float> rows(kRows * c.dim), back(rows.size());
      for (size_t i = 0; i < kRows; ++i) {
        const float up = i % 2 == 0 ? 1 : std::exp(spread(random));
        for (uint32_t j = 0; j < c.dim; ++j) rows[i * c.dim + j] = up * gauss(random);
      }
      std::fill_n(rows.begin() + 7 * c.dim, c.dim, 0.0f);
      std::vector<std::byte> codes(kRows * (*codec)->row_bytes());
      EDO_ASSERT_OK((*codec)->Encode(rows.data(), kRows, codes.data()));
      (*codec)->Decode(codes.data(), kRows, {back.data()});
      for (size_t i = 0; i < kRows; ++i) {
        const float* const row = &rows[i * c.dim];
        const std::vector<double> decoded(&back[i * c.dim], &back[i * c.dim] + c.dim);
        const auto own = Decode(book, c.dim, Encode(book, c.dim, row).data());
        double energy = 0, size = 0;
        for (const double x : own) size += x * x;
        for (uint32_t j = 0; j < c.dim; ++j) energy += static_cast<double>(row[j]) * row[j];
        // The book's rounding to bfloat16 moves its row by 2^-8 of its norm at most.
        const double rounding = 0x1p-8 * std::sqrt(size);
        ASSERT_LE(std::sqrt(Error(row, decoded)),
                  std::sqrt(Error(row, own)) + rounding + 1e-6 * std::sqrt(energy))
            << "row " << i;
        ASSERT_LE(Error(row, decoded), energy * (1 + 1e-6)) << "row " << i;
      }
    }
  }
}

TEST(CodebookTest, ABookOfItsOwnRowsFindsThem) {
  // Rows that are centroids of the book, times anything, come back but for the gain's rounding.
  std::mt19937 random(static_cast<uint32_t>(test::Seed(72)));
  const CodecSpec spec = Spec("PQ1x8");
  const Codebook book = RandomBook(spec, 6, 40, random);
  const auto codec = Codec::Make(spec, 6, MakeLearned(spec, 6, book).value(), true);
  EDO_ASSERT_OK(codec.status());
  for (const float times : {1.0f, 0.01f, 17.0f}) {
    double energy = 0, error = 0;
    for (uint32_t code = 0; code < 256; ++code) {
      std::vector<float> row(&book.centroids[size_t{code} * 6],
                             &book.centroids[size_t{code} * 6 + 6]);
      for (float& x : row) x *= times;
      std::vector<std::byte> codes((*codec)->row_bytes());
      std::vector<float> back(6);
      EDO_ASSERT_OK((*codec)->Encode(row.data(), 1, codes.data()));
      (*codec)->Decode(codes.data(), 1, {back.data()});
      for (int j = 0; j < 6; ++j) {
        energy += static_cast<double>(row[j]) * row[j];
        error += std::pow(static_cast<double>(row[j]) - back[j], 2);
      }
    }
    EXPECT_LE(error, energy * (times == 1 ? 1e-4 : 5e-2)) << times;
  }
}

TEST(CodebookTest, BooksThatDoNotFitAreRefused) {
  std::mt19937 random(static_cast<uint32_t>(test::Seed(73)));
  const CodecSpec pq = Spec("PQ3x4"), opq = Spec("OPQ3,PQ3x4");
  const auto refused = [](const CodecSpec& spec, uint32_t dim, const Codebook& book) {
    return MakeLearned(spec, dim, book).status();
  };
  const auto expect = [](const Status& status, StatusCode code, const char* says) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  };
  const Codebook good = RandomBook(pq, 8, 1, random);
  EXPECT_TRUE(MakeLearned(pq, 8, good).ok());
  expect(refused(pq, 10, good), StatusCode::kBadInput, "need (3, 16, 4)");
  expect(refused(Spec("PQ4x4"), 8, good), StatusCode::kBadInput, "need (4, 16, 2)");
  expect(refused(Spec("PQ3x8"), 8, good), StatusCode::kBadInput, "need (3, 256, 3)");
  expect(refused(opq, 8, good), StatusCode::kBadInput, "no rotation");
  expect(refused(Spec("INT8"), 8, good), StatusCode::kInvalidArgument, "takes no codebook");
  expect(refused(Spec("PQ5x4"), 8, good), StatusCode::kInvalidArgument, "would do");
  Codebook bad = good;
  bad.centroids[17] = std::nanf("");
  expect(refused(pq, 8, bad), StatusCode::kBadInput,
         "value 2 of centroid 5 of part 0 is not finite");
  bad = good;
  bad.centroids.back() = 0.5f;
  expect(refused(pq, 8, bad), StatusCode::kBadInput, "padding is 0");
  bad = good;
  bad.centroids[0] = std::numeric_limits<float>::max();
  expect(refused(pq, 8, bad), StatusCode::kBadInput, "beyond the largest bfloat16");
  bad = good;
  for (float& x : bad.centroids) x *= 1e20f;
  expect(refused(pq, 8, bad), StatusCode::kBadInput, "within 1e-15..1e15");
  bad = good;
  bad.centroids.pop_back();
  expect(refused(pq, 8, bad), StatusCode::kBadInput, "(143 values)");
  Codebook turned = RandomBook(opq, 8, 1, random);
  EXPECT_TRUE(MakeLearned(opq, 8, turned).ok());
  expect(refused(pq, 8, turned), StatusCode::kBadInput, "a rotation, which only OPQ has");
  bad = turned;
  bad.rotation[9] += 0.1f;
  expect(refused(opq, 8, bad), StatusCode::kBadInput, "is no rotation");
  bad = turned;
  bad.rotation[9] = std::numeric_limits<float>::infinity();
  expect(refused(opq, 8, bad), StatusCode::kBadInput, "row 1, column 1 is not finite");
  bad = turned;
  bad.rotation_dim = 7;
  bad.rotation.resize(49);
  expect(refused(opq, 8, bad), StatusCode::kBadInput, "a rotation of 7 columns");
}

TEST(CodebookTest, WideRotationsTurnGroupsApart) {
  const CodecSpec spec = Spec("OPQ6,PQ6x4");  // parts of 100: groups of 500 and 100 columns
  Codebook book;
  book.parts = 6;
  book.ksub = 16;
  book.width = 100;
  book.centroids.assign(size_t{6} * 16 * 100, 1.0f);
  book.rotation_dim = 600;
  book.rotation.assign(size_t{600} * 600, 0.0f);
  for (uint32_t i = 0; i < 600; ++i) book.rotation[size_t{i} * 600 + i] = 1;
  const auto learned = MakeLearned(spec, 600, book);
  EDO_ASSERT_OK(learned.status());
  EXPECT_EQ(learned->size(), spec.LearnedBytes(600));
  book.rotation[size_t{3} * 600 + 550] = 0.25f;
  const Status status = MakeLearned(spec, 600, book).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(std::string(status.message()), HasSubstr("row 3, column 550"));
}

}  // namespace
}  // namespace edo::storage
