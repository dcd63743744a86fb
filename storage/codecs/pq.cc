// PQ and OPQ: a row of mean square 1 is cut into sub-vectors, each coded by its nearest centroid,
// and the whole is multiplied by a gain of its own; see docs/codecs.md, "PQ" and "OPQ".
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/normal_row.h"
#include "storage/codecs/codecs.h"
#include "storage/codecs/kmeans.h"
#include "storage/codecs/rotation.h"
#include "storage/codecs/row_codec.h"
#include "storage/parallel.h"

namespace edo::storage {
namespace {

using kernels::RowFormat;

// Groups of columns that are rotated on their own, in order; the whole row for most tables.
template <class Each>
void ForEachGroup(const RowFormat& format, const Each& each) {
  size_t matrix_at = 0;
  for (uint32_t at = 0; at < format.full_dim; at += format.group_columns()) {
    const uint32_t columns = format.GroupColumnsAt(at);
    each(at, columns, matrix_at);
    matrix_at += size_t{columns} * columns;
  }
}

std::vector<float> Transposed(const float* matrix, uint32_t columns) {
  std::vector<float> turned(size_t{columns} * columns);
  for (uint32_t i = 0; i < columns; ++i) {
    for (uint32_t j = 0; j < columns; ++j) {
      turned[size_t{j} * columns + i] = matrix[size_t{i} * columns + j];
    }
  }
  return turned;
}

class PQCodec final : public RowCodec {
 public:
  PQCodec(const CodecSpec& spec, uint32_t dim, Learned learned)
      : RowCodec(spec, dim, learned), centroids_(LoadCentroids(row_format(), learned)) {
    const RowFormat& format = row_format();
    for (uint32_t p = 0; p < format.parts; ++p) {
      table_at_.push_back(tables_.size());
      tables_.resize(tables_.size() +
                     kernels::CentroidTableFloats(format.ksub(), format.WidthOf(p)));
      kernels::FillCentroidTable(Book(p), format.ksub(), format.WidthOf(p),
                                 tables_.data() + table_at_[p]);
    }
    if (!spec.rotated) return;
    // Turned, so that rotating a row reads the matrix in order.
    ForEachGroup(format, [&](uint32_t, uint32_t columns, size_t matrix_at) {
      std::vector<float> matrix(size_t{columns} * columns);
      std::memcpy(matrix.data(), learned.data() + 4 * matrix_at, 4 * matrix.size());
      const std::vector<float> turned = Transposed(matrix.data(), columns);
      turned_.insert(turned_.end(), turned.begin(), turned.end());
    });
  }

  Status Encode(const float* rows, size_t count, std::byte* codes,
                uint64_t* bad_value) const override {
    EDO_RETURN_IF_ERROR(Check(rows, count, bad_value));
    const size_t dim = this->dim();
    const size_t block = std::min<size_t>(count, 64);
    std::vector<float> vectors(block * dim), unit(dim);
    std::vector<uint32_t> nearest(block * row_format().parts);
    std::vector<kernels::NormalRow> normals(block);
    std::vector<float> roots(block);
    for (size_t at = 0; at < count; at += block) {
      const size_t n = std::min(block, count - at);
      for (size_t i = 0; i < n; ++i) {
        normals[i] = {};
        kernels::NormalRow::Make(rows + (at + i) * dim, this->dim(), &normals[i]);
        roots[i] = std::sqrt(normals[i].energy / static_cast<float>(dim));
        float* const vector = &vectors[i * dim];
        float* const row = spec().rotated ? unit.data() : vector;
        // In two steps: up / root may be beyond the largest float.
        kernels::Scale(rows + (at + i) * dim, dim, normals[i].up, row);
        kernels::Scale(row, dim, roots[i] > 0 ? 1 / roots[i] : 0, row);
        if (spec().rotated) Rotate(unit.data(), vector);
      }
      for (uint32_t p = 0; p < row_format().parts; ++p) {
        kernels::NearestCentroids(&vectors[size_t{p} * row_format().width()], n, dim,
                                  row_format().WidthOf(p), tables_.data() + table_at_[p],
                                  row_format().ksub(), &nearest[p * block], nullptr);
      }
      for (size_t i = 0; i < n; ++i) {
        WriteRow(&vectors[i * dim], &nearest[i], block, normals[i], roots[i],
                 codes + (at + i) * row_bytes());
      }
    }
    return Status::Ok();
  }

  static std::vector<float> LoadCentroids(const RowFormat& format, Learned learned) {
    std::vector<float> centroids(size_t{format.ksub()} * format.full_dim);
    const std::byte* const from = learned.data() + format.rotation_bytes();
    for (size_t i = 0; i < centroids.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, 2);
      centroids[i] = kernels::BF16ToF32(bits);
    }
    return centroids;
  }

 private:
  const float* Book(uint32_t part) const {
    return &centroids_[size_t{part} * row_format().ksub() * row_format().width()];
  }

  void Rotate(const float* row, float* rotated) const {
    ForEachGroup(row_format(), [&](uint32_t at, uint32_t columns, size_t matrix_at) {
      kernels::VectorTimesMatrix(row + at, &turned_[matrix_at], columns, columns, rotated + at);
    });
  }

  // `nearest` of part p at [p * stride].
  void WriteRow(const float* vector, const uint32_t* nearest, size_t stride,
                const kernels::NormalRow& normal, float root, std::byte* out) const {
    const RowFormat& format = row_format();
    double product = 0, square = 0;
    std::memset(out, 0, format.row_bytes());
    for (uint32_t p = 0; p < format.parts; ++p) {
      const uint32_t code = nearest[p * stride];
      const uint32_t width = format.WidthOf(p);
      const float* const centroid = Book(p) + size_t{code} * width;
      for (uint32_t t = 0; t < width; ++t) {
        product += static_cast<double>(vector[size_t{p} * format.width() + t]) * centroid[t];
        square += static_cast<double>(centroid[t]) * centroid[t];
      }
      if (format.part_bits == 8) {
        out[p] = static_cast<std::byte>(code);
      } else {
        out[p / 2] |= static_cast<std::byte>(code << 4 * (p % 2));
      }
    }
    WriteGain(product, square, normal, root, out + format.code_bytes);
  }

  std::vector<float> centroids_;  // as binary32
  std::vector<float> tables_;     // for the search, part by part
  std::vector<size_t> table_at_;
  std::vector<float> turned_;  // the rotation, transposed
};

// Centroids as they are stored.
void StoreCentroids(std::span<const float> centroids, std::byte* out) {
  kernels::EncodeBF16(centroids.data(), centroids.size(), out);
}

class PQLearner {
 public:
  PQLearner(const RowFormat& format, std::span<const float> rows, const LearnOptions& options)
      : format_(format),
        rows_(rows),
        count_(rows.size() / format.full_dim),
        options_(options),
        centroids_(size_t{format.ksub()} * format.full_dim) {}

  Result<LearnedBytes> Run() {
    LearnedBytes learned(format_.learned_bytes());
    std::vector<float> rotated;
    if (format_.codec == kernels::RowCodec::kRotatedPQ) {
      EDO_ASSIGN_OR_RETURN(const std::vector<float> rotation, LearnRotation());
      std::memcpy(learned.data(), rotation.data(), 4 * rotation.size());
      rotated = Rotated(rotation, count_);
      rows_ = rotated;
    }
    EDO_RETURN_IF_ERROR(Train(count_, 25, false));
    StoreCentroids(centroids_, learned.data() + format_.rotation_bytes());
    return learned;
  }

 private:
  float* Book(uint32_t part) {
    return &centroids_[size_t{part} * format_.ksub() * format_.width()];
  }

  // The books of all parts, from the first `count` rows.
  Status Train(size_t count, uint32_t rounds, bool warm) {
    return ParallelFor(format_.parts, options_.threads, [&](size_t part) {
      const auto p = static_cast<uint32_t>(part);
      KMeansOptions means;
      means.clusters = format_.ksub();
      means.rounds = rounds;
      means.seed = options_.seed + part;
      means.start_from_centroids = warm;
      means.step = options_.step;
      return KMeans(rows_.data() + part * format_.width(), count, format_.full_dim,
                    format_.WidthOf(p), means, Book(p));
    });
  }

  // What the first `count` rows are coded as.
  Status Quantise(size_t count, std::vector<float>* targets) {
    targets->resize(count * format_.full_dim);
    return ParallelFor(format_.parts, options_.threads, [&](size_t part) {
      const auto p = static_cast<uint32_t>(part);
      const uint32_t width = format_.WidthOf(p);
      const size_t at = part * format_.width();
      std::vector<float> table(kernels::CentroidTableFloats(format_.ksub(), width));
      std::vector<uint32_t> nearest(count);
      kernels::FillCentroidTable(Book(p), format_.ksub(), width, table.data());
      kernels::NearestCentroids(rows_.data() + at, count, format_.full_dim, width, table.data(),
                                format_.ksub(), nearest.data(), nullptr);
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(targets->data() + i * format_.full_dim + at,
                    Book(p) + size_t{nearest[i]} * width, size_t{width} * 4);
      }
      return Status::Ok();
    });
  }

  std::vector<float> Rotated(std::span<const float> rotation, size_t count) const {
    const size_t dim = format_.full_dim;
    std::vector<float> out(count * dim);
    ForEachGroup(format_, [&](uint32_t at, uint32_t columns, size_t matrix_at) {
      const std::vector<float> turned = Transposed(rotation.data() + matrix_at, columns);
      (void)ParallelFor((count + 255) / 256, options_.threads, [&](size_t block) {
        for (size_t i = block * 256; i < std::min(count, (block + 1) * 256); ++i) {
          kernels::VectorTimesMatrix(&unrotated_[i * dim + at], turned.data(), columns, columns,
                                     &out[i * dim + at]);
        }
        return Status::Ok();
      });
    });
    return out;
  }

  // Twelve rounds over part of the rows; more gain little.
  Result<std::vector<float>> LearnRotation() {
    constexpr uint32_t kRounds = 12;
    constexpr size_t kMostRows = 20000;
    unrotated_ = rows_;
    const size_t dim = format_.full_dim;
    const size_t count = std::min(count_, kMostRows);
    std::vector<float> rotation(format_.rotation_bytes() / 4);
    ForEachGroup(format_, [&](uint32_t at, uint32_t columns, size_t matrix_at) {
      std::vector<uint32_t> widths;
      for (uint32_t p = at / format_.width(); p * format_.width() < at + columns; ++p) {
        widths.push_back(format_.WidthOf(p));
      }
      const auto matrix = BalancedDirections(rows_.data() + at, count, dim, columns, widths);
      std::copy(matrix.begin(), matrix.end(), rotation.begin() + static_cast<ptrdiff_t>(matrix_at));
    });
    if (count <= format_.ksub()) return rotation;  // every row has its own centroids already
    std::vector<float> rotated, targets;
    for (uint32_t round = 0; round < kRounds; ++round) {
      rotated = Rotated(rotation, count);
      rows_ = rotated;
      EDO_RETURN_IF_ERROR(Train(count, round == 0 ? 8 : 3, round > 0));
      EDO_RETURN_IF_ERROR(Quantise(count, &targets));
      ForEachGroup(format_, [&](uint32_t at, uint32_t columns, size_t matrix_at) {
        std::vector<float> of_group(count * columns);
        for (size_t i = 0; i < count; ++i) {
          std::memcpy(&of_group[i * columns], &targets[i * dim + at], size_t{columns} * 4);
        }
        const auto matrix =
            ClosestRotation(unrotated_.data() + at, dim, of_group.data(), count, columns);
        std::copy(matrix.begin(), matrix.end(),
                  rotation.begin() + static_cast<ptrdiff_t>(matrix_at));
      });
      if (options_.step) EDO_RETURN_IF_ERROR(options_.step());
    }
    rows_ = unrotated_;
    return rotation;
  }

  const RowFormat format_;
  std::span<const float> rows_;
  std::span<const float> unrotated_;
  const size_t count_;
  const LearnOptions& options_;
  std::vector<float> centroids_;
};

}  // namespace

Result<LearnedBytes> LearnPQ(const RowFormat& format, std::span<const float> unit_rows,
                             const LearnOptions& options) {
  return PQLearner(format, unit_rows, options).Run();
}

std::unique_ptr<Codec> MakePQCodec(const CodecSpec& spec, uint32_t dim, Learned learned) {
  return std::make_unique<PQCodec>(spec, dim, learned);
}

}  // namespace edo::storage
