#include "engine/codec_chooser.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "engine/row_quality.h"

namespace edo::engine {
namespace {

std::string Figures(const CodecSpec& codec, const QualityReport& quality, uint64_t bytes) {
  char text[256];
  std::snprintf(text, sizeof text,
                "%s over all %llu rows: relative squared error %.4g mean, %.4g p99; cosine %.6f "
                "mean, %.6f p1, %.6f worst",
                codec.ToString().c_str(), static_cast<unsigned long long>(quality.rows),
                quality.rel_error_mean, quality.rel_error_p99, quality.cosine_mean,
                quality.cosine_p1, quality.cosine_worst);
  std::string figures = text;
  if (quality.overlap) {
    std::snprintf(text, sizeof text, "; overlap %.4f", *quality.overlap);
    figures += text;
  }
  return figures + "; " + std::to_string(bytes) + " bytes";
}

}  // namespace

CodecChooser::CodecChooser(const CodecGoal& goal, Source source, const storage::LearnOptions& learn)
    : goal_(goal), source_(std::move(source)), learn_(learn) {}

Result<QualityReport> CodecChooser::Measure(const storage::Codec& codec, bool* fits) {
  *fits = true;
  RowQuality quality(dim_, {.worst_rows = 0});
  std::vector<std::byte> codes;
  std::vector<float> decoded, kept, kept_decoded;
  // Neighbours are sought among so many rows, spread over the table.
  const uint64_t wanted =
      goal_.quality.min_overlap ? std::min<uint64_t>(100000, (uint64_t{32} << 20) / dim_) : 0;
  const uint64_t stride =
      wanted == 0 ? 0 : std::max<uint64_t>(1, (source_.rows + wanted - 1) / wanted);
  uint64_t first = 0;
  EDO_RETURN_IF_ERROR(source_.for_each([&](std::span<const float> rows) -> Status {
    EDO_RETURN_IF_ERROR(learn_.step());
    if (!*fits) return Status::Ok();
    const Status s = EncodeInThreads(codec, rows, learn_.threads, &codes);
    if (s.code() == StatusCode::kBadInput) {
      *fits = false;
      return Status::Ok();
    }
    EDO_RETURN_IF_ERROR(s);
    DecodeInThreads(codec, codes, learn_.threads, &decoded);
    const uint64_t count = rows.size() / dim_;
    quality.Add(rows.data(), decoded.data(), count, first);
    for (uint64_t i = 0; stride != 0 && i < count; ++i) {
      if ((first + i) % stride != 0) continue;
      const auto at = static_cast<ptrdiff_t>(i * dim_);
      kept.insert(kept.end(), rows.begin() + at, rows.begin() + at + dim_);
      kept_decoded.insert(kept_decoded.end(), decoded.begin() + at, decoded.begin() + at + dim_);
    }
    first += count;
    return Status::Ok();
  }));
  QualityReport report = quality.Report();
  if (stride != 0) {
    OverlapOptions overlap;
    overlap.threads = learn_.threads;
    const double share =
        NeighbourOverlap(kept.data(), kept_decoded.data(), kept.size() / dim_, dim_, overlap);
    if (!std::isnan(share)) report.overlap = share;
  }
  return report;
}

Result<CodecChooser::Choice> CodecChooser::Run() {
  AdviseCodecOptions options;
  options.goal = goal_;
  options.threads = learn_.threads;
  options.seed = learn_.seed;
  if (!goal_.quality.min_overlap) options.overlap_rows = 0;
  std::vector<CodecTrial> trials;
  {
    const TrialRows rows(source_.sample, dim_, options);
    EDO_RETURN_IF_ERROR(TryForGoal(rows, source_.rows, options, learn_.step, &trials));
  }
  std::string missed;
  for (const CodecTrial* const trial : Candidates(goal_, trials)) {
    EDO_ASSIGN_OR_RETURN(auto learned,
                         storage::Codec::Learn(trial->codec, dim_, source_.sample, learn_));
    EDO_ASSIGN_OR_RETURN(const auto codec, storage::Codec::Make(trial->codec, dim_, learned));
    bool fits = false;
    EDO_ASSIGN_OR_RETURN(const QualityReport quality, Measure(*codec, &fits));
    if (!fits) continue;
    const std::vector<std::string> misses = MissedOf(goal_, quality, trial->bytes);
    if (!misses.empty()) {
      missed = "; " + trial->codec.ToString() + ": " + misses.front();
      continue;
    }
    return Choice{trial->codec, std::move(learned), Figures(trial->codec, quality, trial->bytes)};
  }
  return Status::BadInput("no codec keeps what was asked for" + missed);
}

}  // namespace edo::engine
