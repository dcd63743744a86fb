// RQ: a row of mean square 1 is coded by a sum of centroids, one a stage, and the whole is
// multiplied by a gain of its own; see docs/codecs.md, "RQ". Codes are found by beam search, as in
// Y. Chen et al., "Approximate Nearest Neighbor Search by Residual Vector Quantization" (2010) and
// A. Babenko, V. Lempitsky, "Additive Quantization" (2014).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/normal_row.h"
#include "storage/codecs/centroids.h"
#include "storage/codecs/codecs.h"
#include "storage/codecs/kmeans.h"
#include "storage/codecs/row_codec.h"
#include "storage/parallel.h"

namespace edo::storage {
namespace {

using kernels::RowFormat;

constexpr uint32_t kBeam = 4;                // partial codes kept while a row is searched
constexpr size_t kMostRows = 16384;          // that RQ learns from,
constexpr size_t kMostValues = 16384 * 512;  // but no more values than these
constexpr uint32_t kRounds = 10;             // of k-means a stage

// Centroids of the stages there are so far, ready for the search.
class Stages {
 public:
  Stages(uint32_t dim, uint32_t ksub) : dim_(dim), ksub_(ksub) {}

  void Add(const float* centroids) {
    centroids_.insert(centroids_.end(), centroids, centroids + size_t{ksub_} * dim_);
    const size_t at = tables_.size();
    tables_.resize(at + kernels::CentroidTableFloats(ksub_, dim_));
    kernels::FillCentroidTable(centroids, ksub_, dim_, &tables_[at]);
  }
  uint32_t count() const {
    return static_cast<uint32_t>(centroids_.size() / (size_t{ksub_} * dim_));
  }
  uint32_t dim() const { return dim_; }
  uint32_t ksub() const { return ksub_; }
  const float* Centroid(uint32_t stage, uint32_t code) const {
    return &centroids_[(size_t{stage} * ksub_ + code) * dim_];
  }
  const float* Table(uint32_t stage) const {
    return &tables_[stage * kernels::CentroidTableFloats(ksub_, dim_)];
  }

 private:
  const uint32_t dim_;
  const uint32_t ksub_;
  std::vector<float> centroids_;
  std::vector<float> tables_;
};

// Partial codes of one row, best first.
struct Beam {
  struct Path {
    float error = 0;  // squared, less the row's own square
    std::vector<float> residual;
    std::array<uint8_t, kMaxResidualStages> codes{};
  };
  std::vector<Path> paths;

  void Start(const float* row, uint32_t dim) {
    paths.resize(1);
    paths[0] = {};
    paths[0].residual.assign(row, row + dim);
  }

  // One stage further: of all (path, centroid) the kBeam of least error.
  void Extend(const Stages& stages, uint32_t stage) {
    struct Choice {
      float error;
      uint32_t path, code;
    };
    std::vector<Choice> best;
    std::vector<float> products(stages.ksub());
    for (uint32_t p = 0; p < paths.size(); ++p) {
      kernels::CentroidProducts(paths[p].residual.data(), stages.dim(), stages.Table(stage),
                                stages.ksub(), products.data());
      for (uint32_t j = 0; j < stages.ksub(); ++j) {
        const Choice choice{paths[p].error - 2 * products[j], p, j};
        if (best.size() == kBeam && !(choice.error < best.back().error)) continue;
        if (best.size() == kBeam) best.pop_back();
        const auto place =
            std::upper_bound(best.begin(), best.end(), choice,
                             [](const Choice& a, const Choice& b) { return a.error < b.error; });
        best.insert(place, choice);
      }
    }
    std::vector<Path> next;
    for (const Choice& choice : best) {
      Path path = paths[choice.path];
      path.error = choice.error;
      path.codes[stage] = static_cast<uint8_t>(choice.code);
      const float* const centroid = stages.Centroid(stage, choice.code);
      for (uint32_t t = 0; t < stages.dim(); ++t) path.residual[t] -= centroid[t];
      next.push_back(std::move(path));
    }
    paths = std::move(next);
  }
};

class RQCodec final : public RowCodec {
 public:
  RQCodec(const CodecSpec& spec, uint32_t dim, Learned learned)
      : RowCodec(spec, dim, learned), stages_(dim, row_format().ksub()) {
    const size_t book_bytes = size_t{row_format().ksub()} * dim * 2;
    for (uint32_t stage = 0; stage < row_format().parts; ++stage) {
      stages_.Add(LoadCentroids(learned.subspan(stage * book_bytes, book_bytes)).data());
    }
  }

  Status Encode(const float* rows, size_t count, std::byte* codes,
                uint64_t* bad_value) const override {
    EDO_RETURN_IF_ERROR(Check(rows, count, bad_value));
    const RowFormat& format = row_format();
    std::vector<float> unit(dim());
    Beam beam;
    for (size_t i = 0; i < count; ++i) {
      const float* const row = rows + i * dim();
      std::byte* const out = codes + i * row_bytes();
      std::memset(out, 0, format.row_bytes());
      kernels::NormalRow normal;
      if (!kernels::NormalRow::Make(row, dim(), &normal)) continue;
      const float root = std::sqrt(normal.energy / static_cast<float>(dim()));
      // In two steps: up / root may be beyond the largest float.
      kernels::Scale(row, dim(), normal.up, unit.data());
      kernels::Scale(unit.data(), dim(), 1 / root, unit.data());
      beam.Start(unit.data(), dim());
      for (uint32_t stage = 0; stage < format.parts; ++stage) beam.Extend(stages_, stage);
      const Beam::Path& best = beam.paths.front();
      double product = 0, square = 0;
      for (uint32_t t = 0; t < dim(); ++t) {
        const double coded = static_cast<double>(unit[t]) - best.residual[t];
        product += unit[t] * coded;
        square += coded * coded;
      }
      for (uint32_t stage = 0; stage < format.parts; ++stage) {
        WriteCode(format.part_bits, stage, best.codes[stage], out);
      }
      WriteGain(product, square, normal, root, out + format.code_bytes);
    }
    return Status::Ok();
  }

 private:
  Stages stages_;
};

}  // namespace

Result<LearnedBytes> LearnRQ(const RowFormat& format, std::span<const float> unit_rows,
                             const LearnOptions& options) {
  const uint32_t dim = format.full_dim;
  const size_t count = std::min({unit_rows.size() / dim, kMostRows, kMostValues / dim});
  const size_t book_values = size_t{format.ksub()} * dim;
  LearnedBytes learned(format.learned_bytes());
  std::vector<Beam> beams(count);
  std::vector<float> residuals(count * dim), book(book_values);
  for (size_t i = 0; i < count; ++i) beams[i].Start(unit_rows.data() + i * dim, dim);
  Stages stages(dim, format.ksub());
  for (uint32_t stage = 0; stage < format.parts; ++stage) {
    for (size_t i = 0; i < count; ++i) {
      std::copy(beams[i].paths[0].residual.begin(), beams[i].paths[0].residual.end(),
                residuals.begin() + static_cast<ptrdiff_t>(i * dim));
    }
    KMeansOptions means;
    means.clusters = format.ksub();
    means.rounds = kRounds;
    means.seed = options.seed + stage;
    means.step = options.step;
    EDO_RETURN_IF_ERROR(KMeans(residuals.data(), count, dim, dim, means, book.data()));
    const auto stored = std::span(learned).subspan(stage * book_values * 2, book_values * 2);
    StoreCentroids(book, stored.data());
    stages.Add(LoadCentroids(stored).data());  // the search goes by what is stored
    EDO_RETURN_IF_ERROR(ParallelFor((count + 255) / 256, options.threads, [&](size_t block) {
      if (options.step) EDO_RETURN_IF_ERROR(options.step());
      for (size_t i = block * 256; i < std::min(count, (block + 1) * 256); ++i) {
        beams[i].Extend(stages, stage);
      }
      return Status::Ok();
    }));
  }
  return learned;
}

std::unique_ptr<Codec> MakeRQCodec(const CodecSpec& spec, uint32_t dim, Learned learned) {
  return std::make_unique<RQCodec>(spec, dim, learned);
}

}  // namespace edo::storage
