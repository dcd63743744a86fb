// PQ and OPQ: a row of mean square 1 is cut into sub-vectors, each coded by its nearest centroid,
// and the whole is multiplied by a gain of its own; see docs/codecs.md, "PQ" and "OPQ".
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/normal_row.h"
#include "storage/codecs/centroids.h"
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
  PQCodec(const CodecSpec& spec, uint32_t dim, Learned learned, bool learned_elsewhere)
      : RowCodec(spec, dim, learned),
        centroids_(LoadCentroids(learned.subspan(row_format().rotation_bytes()))),
        learned_elsewhere_(learned_elsewhere) {
    const RowFormat& format = row_format();
    for (uint32_t p = 0; p < format.parts; ++p) {
      table_at_.push_back(tables_.size());
      tables_.resize(tables_.size() +
                     kernels::CentroidTableFloats(format.ksub(), format.WidthOf(p)));
      kernels::FillCentroidTable(Book(p), format.ksub(), format.WidthOf(p),
                                 tables_.data() + table_at_[p]);
    }
    double square = 0;
    for (const float value : centroids_) square += static_cast<double>(value) * value;
    if (square > 0) root_ = std::sqrt(square / static_cast<double>(centroids_.size()));
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
    Block block(std::min<size_t>(count, 64), dim, row_format().parts);
    std::vector<float> unit(dim);
    for (size_t at = 0; at < count; at += block.capacity) {
      block.rows = std::min(block.capacity, count - at);
      for (size_t i = 0; i < block.rows; ++i) {
        kernels::NormalRow& normal = block.normals[i] = {};
        kernels::NormalRow::Make(rows + (at + i) * dim, this->dim(), &normal);
        const float root = block.roots[i] = std::sqrt(normal.energy / static_cast<float>(dim));
        float* const vector = block.Vector(i);
        float* const row = spec().rotated ? unit.data() : vector;
        // In two steps: up / root may be beyond the largest float.
        kernels::Scale(rows + (at + i) * dim, dim, normal.up, row);
        kernels::Scale(row, dim, root > 0 ? 1 / root : 0, row);
        if (spec().rotated) Rotate(unit.data(), vector);
      }
      if (learned_elsewhere_) {
        SearchScales(&block);
      } else {
        FindNearest(block.vectors.data(), &block);
        for (size_t i = 0; i < block.rows; ++i) block.fits[i] = FitOf(block, i);
      }
      for (size_t i = 0; i < block.rows; ++i) {
        WriteRow(block, i, codes + (at + i) * row_bytes());
      }
    }
    return Status::Ok();
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

  // How well the centroids of a row's codes, times a gain, meet it.
  struct Fit {
    double product = 0, square = 0;  // <row, centroids>, |centroids|^2
    // Of the row's energy what the best gain takes away.
    double gained() const { return product > 0 ? product * product / square : 0; }
  };
  // Rows on their way to codes.
  struct Block {
    Block(size_t rows_at_most, size_t values, uint32_t parts)
        : capacity(rows_at_most),
          dim(values),
          vectors(capacity * dim),
          normals(capacity),
          roots(capacity),
          nearest(capacity * parts),
          fits(capacity) {}
    float* Vector(size_t row) { return &vectors[row * dim]; }
    const float* Vector(size_t row) const { return &vectors[row * dim]; }

    const size_t capacity, dim;
    size_t rows = 0;
    std::vector<float> vectors;  // of mean square 1, rotated
    std::vector<kernels::NormalRow> normals;
    std::vector<float> roots;
    std::vector<uint32_t> nearest;  // of part p and row i at [p * capacity + i]
    std::vector<Fit> fits;          // of those
  };

  void FindNearest(const float* vectors, Block* block) const {
    const RowFormat& format = row_format();
    for (uint32_t p = 0; p < format.parts; ++p) {
      kernels::NearestCentroids(vectors + size_t{p} * format.width(), block->rows, dim(),
                                format.WidthOf(p), tables_.data() + table_at_[p], format.ksub(),
                                &block->nearest[p * block->capacity], nullptr);
    }
  }

  Fit FitOf(const Block& block, size_t row) const {
    const RowFormat& format = row_format();
    const float* const vector = block.Vector(row);
    Fit fit;
    for (uint32_t p = 0; p < format.parts; ++p) {
      const uint32_t width = format.WidthOf(p);
      const float* const centroid =
          Book(p) + size_t{block.nearest[p * block.capacity + row]} * width;
      for (uint32_t t = 0; t < width; ++t) {
        fit.product += static_cast<double>(vector[size_t{p} * format.width() + t]) * centroid[t];
        fit.square += static_cast<double>(centroid[t]) * centroid[t];
      }
    }
    return fit;
  }

  // The book was learned from rows as they are, so that a row's best scale in it is not known.
  // Codes and gain are found by turns, from three scales, and the best of all stays: the row as it
  // is, which is what the book's maker would code; the book's own scale; and four times that, where
  // a few large centroids set it.
  void SearchScales(Block* block) const {
    constexpr int kRounds = 4;
    constexpr float kFarOff = 0x1p24f;
    constexpr float kAsItIs = 0;
    const auto book_scale = static_cast<float>(1 / root_);
    std::vector<float> scaled(block->capacity * block->dim), scales(block->capacity);
    std::vector<Fit> best(block->capacity);
    std::vector<uint32_t> best_codes(block->nearest.size());
    for (const float start : {kAsItIs, 1.0f, 4.0f}) {
      for (size_t i = 0; i < block->rows; ++i) {
        const float own = block->normals[i].up / block->roots[i];  // infinite: no such row
        const bool near = own * kFarOff > book_scale && own < book_scale * kFarOff;
        scales[i] = start == kAsItIs ? (near ? own : book_scale) : start * book_scale;
      }
      bool better = true;
      for (int round = 0; round < kRounds && better; ++round) {
        better = false;
        for (size_t i = 0; i < block->rows; ++i) {
          kernels::Scale(block->Vector(i), block->dim, 1 / scales[i], &scaled[i * block->dim]);
        }
        FindNearest(scaled.data(), block);
        for (size_t i = 0; i < block->rows; ++i) {
          const Fit fit = FitOf(*block, i);
          if (fit.product > 0) scales[i] = static_cast<float>(fit.product / fit.square);
          if (!(fit.gained() > best[i].gained())) continue;
          best[i] = fit;
          for (size_t at = i; at < best_codes.size(); at += block->capacity) {
            best_codes[at] = block->nearest[at];
          }
          better = true;
        }
      }
    }
    block->nearest.swap(best_codes);
    block->fits.swap(best);
  }

  void WriteRow(const Block& block, size_t row, std::byte* out) const {
    const RowFormat& format = row_format();
    std::memset(out, 0, format.row_bytes());
    for (uint32_t p = 0; p < format.parts; ++p) {
      WriteCode(format.part_bits, p, block.nearest[p * block.capacity + row], out);
    }
    const Fit& fit = block.fits[row];
    WriteGain(fit.product, fit.square, block.normals[row], block.roots[row],
              out + format.code_bytes);
  }

  std::vector<float> centroids_;  // as binary32
  std::vector<float> tables_;     // for the search, part by part
  std::vector<size_t> table_at_;
  std::vector<float> turned_;  // the rotation, transposed
  const bool learned_elsewhere_;
  double root_ = 1;  // of the mean square of the book's values
};

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

std::unique_ptr<Codec> MakePQCodec(const CodecSpec& spec, uint32_t dim, Learned learned,
                                   bool learned_elsewhere) {
  return std::make_unique<PQCodec>(spec, dim, learned, learned_elsewhere);
}

}  // namespace edo::storage
