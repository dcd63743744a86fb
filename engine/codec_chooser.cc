#include "engine/codec_chooser.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace edo::engine {
namespace {

// Of hot rows, as originals and as decoded, that stand for them when codecs are tried.
constexpr uint64_t kPairBytes = uint64_t{64} << 20;

}  // namespace

CodecChooser::CodecChooser(const CodecGoal& goal, Source source, const storage::LearnOptions& learn)
    : goal_(goal), source_(std::move(source)), learn_(learn), hot_(dim_) {
  for (const HotPart& part : source_.hot) hot_rows_ += part.rows;
  // Neighbours are sought among so many rows, spread over the table.
  if (goal_.quality.min_overlap) {
    const uint64_t wanted = std::min<uint64_t>(100000, (uint64_t{32} << 20) / dim_);
    stride_ = std::max<uint64_t>(1, (hot_rows_ + source_.part.rows + wanted - 1) / wanted);
  }
}

// Rows of the part, numbered from `first_row`, through a codec; of hot rows also pairs of original
// and decoded row.
Status CodecChooser::Measure(const Part& part, const storage::Codec& codec, uint64_t first_row,
                             RowSample* pairs, Measured* measured) const {
  std::vector<float> decoded, pair;
  uint64_t first = first_row;
  return part.for_each(
      codec, [&](std::span<const float> rows, std::span<const std::byte> codes) -> Status {
        EDO_RETURN_IF_ERROR(learn_.step());
        DecodeInThreads(codec, codes, learn_.threads, &decoded);
        const uint64_t count = rows.size() / dim_;
        measured->quality.Add(rows.data(), decoded.data(), count, first);
        for (uint64_t i = 0; i < count; ++i) {
          const std::span<const float> row = rows.subspan(i * dim_, dim_);
          const std::span<const float> back = std::span(decoded).subspan(i * dim_, dim_);
          if (stride_ != 0 && (first + i) % stride_ == 0) {
            measured->kept.insert(measured->kept.end(), row.begin(), row.end());
            measured->kept_decoded.insert(measured->kept_decoded.end(), back.begin(), back.end());
          }
          if (pairs == nullptr) continue;
          pair.assign(row.begin(), row.end());
          pair.insert(pair.end(), back.begin(), back.end());
          pairs->Offer(pair);
        }
        first += count;
        return Status::Ok();
      });
}

Status CodecChooser::MeasureHot(const AdviseCodecOptions& options) {
  if (hot_rows_ == 0) return Status::Ok();
  const uint64_t wanted = std::max(options.test_rows, options.overlap_rows);
  RowSample pairs(2 * dim_, std::min(wanted, kPairBytes / (2 * dim_ * sizeof(float))));
  QualityBudget alone = goal_.quality;
  alone.min_overlap.reset();  // among its own rows it would say nothing of the table
  uint64_t first = 0;
  for (size_t t = 0; t < source_.hot.size(); ++t) {
    const HotPart& part = source_.hot[t];
    const CodecSpec& codec = part.codec->spec();
    Measured measured(dim_);
    EDO_RETURN_IF_ERROR(Measure(part, *part.codec, first, &pairs, &measured));
    const std::vector<std::string> missed = edo::MissedOf(alone, measured.quality.Report());
    if (!missed.empty()) {
      hot_missed_ += "; hot tier " + std::to_string(t + 1) + " (" + codec.ToString() + ", rows " +
                     std::to_string(first) + ".." + std::to_string(first + part.rows - 1) +
                     ") by itself: " + missed.front();
    }
    hot_.Merge(measured);
    settled_.bytes += part.rows * codec.RowBytes(dim_) + codec.LearnedBytes(dim_);
    first += part.rows;
  }
  settled_.share = static_cast<double>(hot_rows_) / static_cast<double>(source_.part.rows);
  const std::vector<float> sample = pairs.Take();
  for (size_t at = 0; at < sample.size(); at += 2 * dim_) {
    const auto row = sample.begin() + static_cast<ptrdiff_t>(at), back = row + dim_;
    settled_.sample.insert(settled_.sample.end(), row, back);
    settled_.decoded.insert(settled_.decoded.end(), back, back + dim_);
  }
  return Status::Ok();
}

void CodecChooser::Measured::Merge(const Measured& other) {
  quality.Merge(other.quality);
  kept.insert(kept.end(), other.kept.begin(), other.kept.end());
  kept_decoded.insert(kept_decoded.end(), other.kept_decoded.begin(), other.kept_decoded.end());
}

QualityReport CodecChooser::Together(const Measured& measured) const {
  Measured all = hot_;
  all.Merge(measured);
  QualityReport report = all.quality.Report();
  if (stride_ == 0) return report;
  OverlapOptions overlap;
  overlap.threads = learn_.threads;
  const double share = NeighbourOverlap(all.kept.data(), all.kept_decoded.data(),
                                        all.kept.size() / dim_, dim_, overlap);
  if (!std::isnan(share)) report.overlap = share;
  return report;
}

std::string CodecChooser::Figures(const CodecSpec& codec, const QualityReport& quality,
                                  uint64_t bytes) const {
  std::string figures;
  for (const HotPart& part : source_.hot) {
    figures += std::to_string(part.rows) + ":" + part.codec->spec().ToString() + " ";
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "%s over all %llu rows: relative squared error %.4g mean, %.4g p99; cosine %.6f "
                "mean, %.6f p1, %.6f worst",
                codec.ToString().c_str(), static_cast<unsigned long long>(quality.rows),
                quality.rel_error_mean, quality.rel_error_p99, quality.cosine_mean,
                quality.cosine_p1, quality.cosine_worst);
  figures += text;
  if (quality.overlap) {
    std::snprintf(text, sizeof text, "; overlap %.4f", *quality.overlap);
    figures += text;
  }
  return figures + "; " + std::to_string(bytes) + " bytes";
}

Status CodecChooser::NoneKeeps(const std::string& missed) const {
  const bool some = hot_rows_ != 0;
  return Status::GoalMissed(
      std::string(some ? "no codec of the rows behind the hot tiers keeps what was asked for over "
                         "all rows"
                       : "no codec keeps what was asked for") +
      missed + hot_missed_);
}

Result<CodecChooser::Choice> CodecChooser::Run() {
  if (source_.part.rows == 0) return Status::BadInput("there are no rows to choose a codec by");
  AdviseCodecOptions options;
  options.goal = goal_;
  options.threads = learn_.threads;
  options.seed = learn_.seed;
  if (!goal_.quality.min_overlap) options.overlap_rows = 0;
  EDO_RETURN_IF_ERROR(MeasureHot(options));
  // The worst row of all is not better than that of the hot ones.
  if (goal_.quality.at == QualityBudget::At::kWorst && !hot_missed_.empty()) return NoneKeeps("");
  settled_.known = source_.known;
  const TrialRows rows(std::move(source_.sample), dim_, options, std::move(settled_));
  std::vector<CodecTrial> trials;
  for (const CodecSpec& codec : source_.held) {
    CodecTrial& trial = trials.emplace_back();
    trial.codec = codec;
    trial.row_bytes = codec.RowBytes(dim_);
    trial.bytes = rows.BytesWith(codec, source_.part.rows);
    trial.quality = rows.Quality({rows.test().begin(), rows.test().end()});
    trial.missed = MissedOf(goal_, trial.quality, trial.bytes);
  }
  EDO_RETURN_IF_ERROR(TryForGoal(rows, source_.part.rows, options, learn_.step, &trials));
  const auto unmeasured = [](const CodecTrial& trial) { return !trial.quality.overlap; };
  if (goal_.quality.min_overlap && std::all_of(trials.begin(), trials.end(), unmeasured)) {
    return Status::GoalMissed(
        "the overlap of neighbours could not be measured: fewer than two rows are not of zeros");
  }
  std::string missed;
  for (const CodecTrial* const trial : Candidates(goal_, trials)) {
    EDO_ASSIGN_OR_RETURN(auto learned, rows.LearnFromAll(trial->codec, learn_));
    EDO_ASSIGN_OR_RETURN(const auto codec, storage::Codec::Make(trial->codec, dim_, learned));
    Measured measured(dim_);
    const Status s = Measure(source_.part, *codec, hot_rows_, nullptr, &measured);
    if (s.code() == StatusCode::kBadInput) continue;
    EDO_RETURN_IF_ERROR(s);
    const QualityReport quality = Together(measured);
    const std::vector<std::string> misses = MissedOf(goal_, quality, trial->bytes);
    if (!misses.empty()) {
      missed = "; " + trial->codec.ToString() + ": " + misses.front();
      continue;
    }
    return Choice{trial->codec, std::move(learned), Figures(trial->codec, quality, trial->bytes)};
  }
  return NoneKeeps(missed);
}

}  // namespace edo::engine
