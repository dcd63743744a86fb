// MakeLearned of edo/codebook.h.
#include "edo/codebook.h"

#include <cmath>
#include <cstring>

#include "kernels/float_convert.h"
#include "storage/codecs/centroids.h"
#include "storage/codecs/codecs.h"

namespace edo {
namespace {

using kernels::RowFormat;

// Search and gain are computed in binary32, which squares must fit.
constexpr double kLeastRoot = 1e-15;
constexpr double kMostRoot = 1e15;
// Rows and columns of a rotation that was computed in binary32 are this close to orthonormal.
constexpr double kOrthonormal = 1e-3;

std::string Shape(uint32_t a, uint32_t b, uint32_t c) {
  return "(" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
}

class BookMaker {
 public:
  BookMaker(const CodecSpec& codec, uint32_t dim, const Codebook& book)
      : codec_(codec), format_(storage::FormatOf(codec, dim)), book_(book) {}

  Result<std::vector<std::byte>> Run() {
    EDO_RETURN_IF_ERROR(CheckShape());
    EDO_RETURN_IF_ERROR(TakeCentroids());
    std::vector<std::byte> learned(format_.learned_bytes());
    if (codec_.rotated) EDO_RETURN_IF_ERROR(TakeRotation(learned.data()));
    storage::StoreCentroids(centroids_, learned.data() + format_.rotation_bytes());
    return learned;
  }

 private:
  uint32_t dim() const { return format_.full_dim; }
  Status Wrong(const std::string& what) const {
    return Status::BadInput("codebook for " + codec_.ToString() + ": " + what);
  }

  Status CheckShape() const {
    if (book_.parts != format_.parts || book_.ksub != format_.ksub() ||
        book_.width != format_.width() ||
        book_.centroids.size() != size_t{book_.parts} * book_.ksub * book_.width) {
      return Wrong("centroids of shape " + Shape(book_.parts, book_.ksub, book_.width) + " (" +
                   std::to_string(book_.centroids.size()) + " values); rows of dim " +
                   std::to_string(dim()) + " need " +
                   Shape(format_.parts, format_.ksub(), format_.width()));
    }
    const uint32_t expected = codec_.rotated ? dim() : 0;
    if (book_.rotation_dim == expected && book_.rotation.size() == size_t{expected} * expected) {
      return Status::Ok();
    }
    if (!codec_.rotated) return Wrong("a rotation, which only OPQ has");
    return Wrong(book_.rotation.empty()
                     ? "no rotation"
                     : "a rotation of " + std::to_string(book_.rotation_dim) +
                           " columns; rows of dim " + std::to_string(dim()) + " need as many");
  }

  std::string Centroid(uint32_t part, uint32_t code, uint32_t t) const {
    return "value " + std::to_string(t) + " of centroid " + std::to_string(code) + " of part " +
           std::to_string(part);
  }

  Status TakeCentroids() {
    double square = 0;
    size_t at = 0;
    for (uint32_t p = 0; p < book_.parts; ++p) {
      for (uint32_t code = 0; code < book_.ksub; ++code) {
        for (uint32_t t = 0; t < book_.width; ++t) {
          const float value = book_.centroids[at++];
          if (!std::isfinite(value)) {
            return Wrong(Centroid(p, code, t) + " is not finite: " + std::to_string(value));
          }
          if (!std::isfinite(kernels::BF16ToF32(kernels::F32ToBF16(value)))) {
            return Wrong(Centroid(p, code, t) + " is beyond the largest bfloat16, 3.3895e38");
          }
          if (t < format_.WidthOf(p)) {
            centroids_.push_back(value);
            square += static_cast<double>(value) * value;
          } else if (value != 0) {
            return Wrong(Centroid(p, code, t) + " lies beyond dim " + std::to_string(dim()) +
                         " and is " + std::to_string(value) + "; padding is 0");
          }
        }
      }
    }
    const double root = std::sqrt(square / static_cast<double>(centroids_.size()));
    if (square == 0 || (root >= kLeastRoot && root <= kMostRoot)) return Status::Ok();
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", root);
    return Wrong(std::string("centroids of root mean square ") + text +
                 "; rows can be coded by those within 1e-15..1e15");
  }

  // Which group of columns a column is turned with.
  uint32_t GroupOf(uint32_t column) const { return column / format_.group_columns(); }

  Status TakeRotation(std::byte* out) const {
    const uint32_t n = dim();
    const auto at = [&](uint32_t row, uint32_t column) {
      return book_.rotation[size_t{row} * n + column];
    };
    const auto name = [](uint32_t row, uint32_t column) {
      return "the rotation's row " + std::to_string(row) + ", column " + std::to_string(column);
    };
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < n; ++j) {
        const float value = at(i, j);
        if (!std::isfinite(value)) {
          return Wrong(name(i, j) + " is not finite: " + std::to_string(value));
        }
        if (GroupOf(i) == GroupOf(j)) {
          std::memcpy(out, &value, 4);
          out += 4;
        } else if (value != 0) {
          return Status::Unsupported(
              "codebook for " + codec_.ToString() + ": " + name(i, j) + " is " +
              std::to_string(value) + "; rows of more than " +
              std::to_string(kernels::kMostRotatedColumns) + " values are rotated in groups of " +
              std::to_string(format_.group_columns()) + " columns, apart from each other");
        }
      }
    }
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j <= i; ++j) {
        if (GroupOf(i) != GroupOf(j)) continue;
        double product = 0;
        for (uint32_t t = 0; t < n; ++t) product += static_cast<double>(at(i, t)) * at(j, t);
        if (std::abs(product - (i == j ? 1 : 0)) <= kOrthonormal) continue;
        return Wrong("the matrix is no rotation: the product of its rows " + std::to_string(j) +
                     " and " + std::to_string(i) + " is " + std::to_string(product));
      }
    }
    return Status::Ok();
  }

  const CodecSpec& codec_;
  const RowFormat format_;
  const Codebook& book_;
  std::vector<float> centroids_;  // without padding
};

}  // namespace

Result<std::vector<std::byte>> MakeLearned(const CodecSpec& codec, uint32_t dim,
                                           const Codebook& book) {
  if (codec.kind != CodecKind::kPQ) {
    return Status::InvalidArgument("codec " + codec.ToString() +
                                   " takes no codebook; PQ{m}x{b} and OPQ{m},PQ{m}x{b} do");
  }
  EDO_RETURN_IF_ERROR(codec.Check(dim));
  return BookMaker(codec, dim, book).Run();
}

}  // namespace edo
