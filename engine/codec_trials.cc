#include "engine/codec_trials.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/row_quality.h"
#include "storage/parallel.h"

namespace edo::engine {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr size_t kRowsAtOnce = 256;  // that a thread takes

// Nanoseconds to decode a row, rows in random order.
double DecodeTime(const storage::Codec& codec, const std::vector<std::byte>& codes, uint64_t seed) {
  const size_t rows = codes.size() / codec.row_bytes();
  if (rows == 0) return 0;
  std::vector<const std::byte*> order(rows);
  for (size_t i = 0; i < rows; ++i) order[i] = codes.data() + i * codec.row_bytes();
  std::mt19937_64 random(seed);
  for (size_t i = 0; i + 1 < rows; ++i) std::swap(order[i], order[i + random() % (rows - i)]);
  constexpr size_t kBatch = 1024;
  std::vector<uint64_t> places(kBatch);
  std::iota(places.begin(), places.end(), uint64_t{0});
  std::vector<float> out(kBatch * codec.dim());
  std::vector<double> times;
  const auto begin = Clock::now();
  for (size_t at = 0; times.size() < 9 || SecondsSince(begin) < 0.02; at += kBatch) {
    if (at >= rows) at = 0;
    const size_t count = std::min(kBatch, rows - at);
    const auto start = Clock::now();
    codec.DecodeGather(order.data() + at, places.data(), count,
                       {out.data(), FloatType::kF32, 0, 0});
    times.push_back(SecondsSince(start) * 1e9 / static_cast<double>(count));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

CodecSpec Spec(CodecKind kind, bool profile = false) {
  CodecSpec spec;
  spec.kind = kind;
  spec.profile = profile;
  return spec;
}

CodecSpec Quantiser(CodecKind kind, uint32_t parts, bool rotated, uint32_t bits) {
  CodecSpec spec;
  spec.kind = kind;
  spec.parts = parts;
  spec.bits = bits;
  spec.rotated = rotated;
  return spec;
}

// Sub-vectors of so many values; the largest rows first. Of small dims several widths are one
// codec.
std::vector<CodecSpec> Family(CodecKind kind, uint32_t dim, std::span<const uint32_t> widths,
                              bool rotated = false, uint32_t bits = 8) {
  std::vector<CodecSpec> family;
  for (const uint32_t width : widths) {
    if (width > dim) break;
    const CodecSpec spec = Quantiser(kind, (dim + width - 1) / width, rotated, bits);
    if (!family.empty() && family.back() == spec) continue;
    if (spec.Check(dim).ok()) family.push_back(spec);
  }
  return family;
}

constexpr uint32_t kWidths[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
// Codes of 4 bits: their centroids take a sixteenth of the bytes, which counts in small tables.
constexpr uint32_t kNibbleWidths[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr uint32_t kResidualWidths[] = {6, 8, 10, 12, 16};
// A rotation of more columns takes minutes to learn and microseconds a row.
constexpr uint32_t kMostColumnsRotated = 512;

std::vector<std::vector<CodecSpec>> Families(uint32_t dim) {
  std::vector<std::vector<CodecSpec>> families{Family(CodecKind::kPQ, dim, kWidths)};
  if (dim <= kMostColumnsRotated) {
    families.push_back(Family(CodecKind::kPQ, dim, kWidths, true));
    families.push_back(Family(CodecKind::kRQ, dim, kResidualWidths));
  }
  families.push_back(Family(CodecKind::kPQ, dim, kNibbleWidths, false, 4));
  return families;
}

const CodecSpec kSingles[] = {Spec(CodecKind::kF32),        Spec(CodecKind::kF16),
                              Spec(CodecKind::kBF16),       Spec(CodecKind::kInt8),
                              Spec(CodecKind::kF8),         Spec(CodecKind::kL4Plus4),
                              Spec(CodecKind::kInt8, true), Spec(CodecKind::kL4Plus4, true),
                              Spec(CodecKind::kL4),         Spec(CodecKind::kL4, true)};

// How far a sample may miss and the whole table still keep a goal.
bool MayKeep(const CodecGoal& goal, const CodecTrial& trial) {
  CodecGoal eased = goal;
  QualityBudget& q = eased.quality;
  // The worst row of a table is not in a sample: any codec may keep or miss it.
  if (q.max_rel_error) *q.max_rel_error *= 1.15;
  if (q.min_cosine) *q.min_cosine = 1 - (1 - *q.min_cosine) * 1.15;
  if (q.min_overlap) *q.min_overlap -= 0.02;
  return trial.quality.rows > 0 && MissedOf(eased, trial.quality, trial.bytes).empty();
}

bool Better(const CodecGoal& goal, const CodecTrial& a, const CodecTrial& b) {
  if (goal.max_bytes && a.quality.cosine_p1 != b.quality.cosine_p1) {
    return a.quality.cosine_p1 > b.quality.cosine_p1;
  }
  if (a.bytes != b.bytes) return a.bytes < b.bytes;
  return a.quality.rel_error_mean < b.quality.rel_error_mean;
}

}  // namespace

Status EncodeInThreads(const storage::Codec& codec, std::span<const float> rows, uint32_t threads,
                       std::vector<std::byte>* codes) {
  const size_t count = rows.size() / codec.dim();
  codes->resize(count * codec.row_bytes());
  return storage::ParallelFor((count + kRowsAtOnce - 1) / kRowsAtOnce, threads, [&](size_t block) {
    const size_t first = block * kRowsAtOnce;
    return codec.Encode(rows.data() + first * codec.dim(), std::min(kRowsAtOnce, count - first),
                        codes->data() + first * codec.row_bytes());
  });
}

void DecodeInThreads(const storage::Codec& codec, std::span<const std::byte> codes,
                     uint32_t threads, std::vector<float>* rows) {
  const size_t count = codes.size() / codec.row_bytes();
  rows->resize(count * codec.dim());
  (void)storage::ParallelFor((count + kRowsAtOnce - 1) / kRowsAtOnce, threads, [&](size_t block) {
    const size_t first = block * kRowsAtOnce;
    codec.Decode(codes.data() + first * codec.row_bytes(), std::min(kRowsAtOnce, count - first),
                 {rows->data() + first * codec.dim(), FloatType::kF32, 0, 0});
    return Status::Ok();
  });
}

TrialRows::TrialRows(std::vector<float> sample, uint32_t dim, const AdviseCodecOptions& options,
                     SettledRows settled)
    : sample_(std::move(sample)), dim_(dim), settled_(std::move(settled)) {
  constexpr uint64_t kFewRows = 20000;
  const uint64_t rows = sample_.size() / dim;
  const std::span<const float> all = sample_;
  held_out_ = rows >= kFewRows;
  uint64_t for_test =
      std::min(held_out_ ? rows / 5 : rows, std::max(options.test_rows, options.overlap_rows));
  if (settled_.share > 0) {
    // As many of both as the table has, in proportion.
    const uint64_t others = settled_.sample.size() / dim;
    auto wanted = std::llround(settled_.share * static_cast<double>(for_test));
    if (static_cast<uint64_t>(wanted) > others) {
      wanted = static_cast<long long>(others);
      for_test = std::clamp<uint64_t>(
          static_cast<uint64_t>(static_cast<double>(others) / settled_.share), 1, for_test);
    }
    settled_.sample.resize(static_cast<uint64_t>(wanted) * dim);
    settled_.decoded.resize(settled_.sample.size());
  }
  test_ = all.last(for_test * dim);
  learn_ = held_out_ ? all.first((rows - for_test) * dim) : all;
  overlap_rows_ = std::min<uint64_t>(for_test + settled_.sample.size() / dim, options.overlap_rows);
  if (overlap_rows_ >= 2) {
    OverlapOptions overlap;
    overlap.seed = options.seed;
    overlap.threads = options.threads;
    std::vector<float> together(test_.begin(), test_.end());
    together.insert(together.end(), settled_.sample.begin(), settled_.sample.end());
    neighbours_ = std::make_unique<NeighbourSample>(together.data(), overlap_rows_, dim, overlap);
  }
}

uint64_t TrialRows::BytesWith(const CodecSpec& codec, uint64_t table_rows) const {
  return codec.RowBytes(dim_) * table_rows + codec.LearnedBytes(dim_) + settled_.bytes;
}

Result<std::vector<std::byte>> TrialRows::LearnFrom(std::span<const float> rows,
                                                    const CodecSpec& codec,
                                                    const storage::LearnOptions& options) const {
  std::vector<std::byte> learned;
  if (settled_.known && settled_.known(codec, &learned)) return learned;
  return storage::Codec::Learn(codec, dim_, rows, options);
}

Result<std::vector<std::byte>> TrialRows::Learn(const CodecSpec& codec,
                                                const storage::LearnOptions& options) const {
  return LearnFrom(learn_, codec, options);
}

Result<std::vector<std::byte>> TrialRows::LearnFromAll(const CodecSpec& codec,
                                                       const storage::LearnOptions& options) const {
  return LearnFrom(sample_, codec, options);
}

QualityReport TrialRows::Quality(std::vector<float> decoded) const {
  RowQuality quality(dim_, {.worst_rows = 0});
  quality.Add(test_.data(), decoded.data(), test_.size() / dim_, 0);
  quality.Add(settled_.sample.data(), settled_.decoded.data(), settled_.sample.size() / dim_, 0);
  QualityReport report = quality.Report();
  report.overlap = Overlap(std::move(decoded));
  return report;
}

std::optional<double> TrialRows::Overlap(std::vector<float> decoded) const {
  if (neighbours_ == nullptr) return std::nullopt;
  decoded.insert(decoded.end(), settled_.decoded.begin(), settled_.decoded.end());
  const double overlap = neighbours_->Overlap(decoded.data());
  return std::isnan(overlap) ? std::nullopt : std::optional(overlap);  // nan: no row takes part
}

Result<CodecTrial> TryCodec(const CodecSpec& codec, const TrialRows& rows, uint64_t table_rows,
                            const AdviseCodecOptions& options,
                            const std::function<Status()>& step) {
  CodecTrial trial;
  trial.codec = codec;
  const uint32_t dim = rows.dim();
  if (const Status s = codec.Check(dim); !s.ok()) {
    trial.missed.push_back(std::string(s.message()));
    return trial;
  }
  trial.row_bytes = codec.RowBytes(dim);
  trial.bytes = rows.BytesWith(codec, table_rows);
  trial.bits = 8.0 * static_cast<double>(trial.row_bytes) / dim;
  storage::LearnOptions learn;
  learn.seed = options.seed;
  learn.threads = options.threads;
  learn.step = step;
  auto start = Clock::now();
  EDO_ASSIGN_OR_RETURN(const auto learned, rows.Learn(codec, learn));
  trial.learn_seconds = codec.learns() ? SecondsSince(start) : 0;
  EDO_ASSIGN_OR_RETURN(const auto made, storage::Codec::Make(codec, dim, learned));

  std::vector<std::byte> codes;
  if (const Status s = EncodeInThreads(*made, rows.test(), options.threads, &codes); !s.ok()) {
    trial.missed.push_back(std::string(s.message()));
    return trial;
  }
  const size_t tested = rows.test().size() / dim;
  if (tested > 0) {
    const size_t few = std::min<size_t>(tested, 512);
    std::vector<std::byte> again(few * made->row_bytes());
    start = Clock::now();
    (void)made->Encode(rows.test().data(), few, again.data());
    trial.encode_ns = SecondsSince(start) * 1e9 / static_cast<double>(few);
  }
  std::vector<float> decoded;
  DecodeInThreads(*made, codes, options.threads, &decoded);
  trial.decode_ns = DecodeTime(*made, codes, options.seed);
  trial.quality = rows.Quality(std::move(decoded));
  trial.missed = MissedOf(options.goal, trial.quality, trial.bytes);
  EDO_RETURN_IF_ERROR(step());
  return trial;
}

std::vector<std::string> MissedOf(const CodecGoal& goal, const QualityReport& quality,
                                  uint64_t bytes) {
  std::vector<std::string> missed = edo::MissedOf(goal.quality, quality);
  if (goal.max_bytes && bytes > *goal.max_bytes) {
    missed.push_back(std::to_string(bytes) + " bytes are above " + std::to_string(*goal.max_bytes));
  }
  return missed;
}

const CodecTrial* BestOf(const CodecGoal& goal, std::span<const CodecTrial> trials) {
  const CodecTrial* best = nullptr;
  for (const CodecTrial& trial : trials) {
    if (!trial.missed.empty()) continue;
    if (best == nullptr || Better(goal, trial, *best)) best = &trial;
  }
  return best;
}

std::vector<const CodecTrial*> Candidates(const CodecGoal& goal,
                                          std::span<const CodecTrial> trials) {
  std::vector<const CodecTrial*> candidates;
  for (const CodecTrial& trial : trials) {
    if (MayKeep(goal, trial)) candidates.push_back(&trial);
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](const CodecTrial* a, const CodecTrial* b) { return Better(goal, *a, *b); });
  return candidates;
}

Status TryForGoal(const TrialRows& rows, uint64_t table_rows, const AdviseCodecOptions& options,
                  const std::function<Status()>& step, std::vector<CodecTrial>* trials) {
  uint64_t least = UINT64_MAX;  // bytes of what keeps the goal
  const auto attempt = [&](const CodecSpec& codec) -> Result<bool> {
    auto trial = std::find_if(trials->begin(), trials->end(),
                              [&](const CodecTrial& t) { return t.codec == codec; });
    if (trial == trials->end()) {
      EDO_ASSIGN_OR_RETURN(CodecTrial made, TryCodec(codec, rows, table_rows, options, step));
      trial = trials->insert(trials->end(), std::move(made));
    }
    if (trial->missed.empty() && !options.goal.max_bytes) least = std::min(least, trial->bytes);
    return MayKeep(options.goal, *trial);
  };
  for (const CodecSpec& codec : kSingles) EDO_RETURN_IF_ERROR(attempt(codec).status());
  for (const auto& family : Families(rows.dim())) {
    for (const CodecSpec& codec : family) {
      // Larger than what will do, or than what is allowed: smaller ones of the family may do.
      const uint64_t bytes = rows.BytesWith(codec, table_rows);
      if (bytes > least) continue;
      if (options.goal.max_bytes && bytes > *options.goal.max_bytes) continue;
      EDO_ASSIGN_OR_RETURN(const bool may_keep, attempt(codec));
      // Within a family quality falls with size; what is allowed at most is the best of it.
      if (!may_keep || options.goal.max_bytes) break;
    }
  }
  return Status::Ok();
}

}  // namespace edo::engine

namespace edo {

std::vector<CodecSpec> CodecLadder(uint32_t dim) {
  std::vector<CodecSpec> ladder(std::begin(engine::kSingles), std::end(engine::kSingles));
  for (const auto& family : engine::Families(dim)) {
    // The rungs at about 4, 2 and 1 bits a value.
    for (const CodecSpec& codec : family) {
      const uint32_t width = (dim + codec.parts - 1) / codec.parts;
      if (codec.bits != 8) continue;
      if (width == 2 || width == 4 || width == 8) ladder.push_back(codec);
    }
  }
  return ladder;
}

}  // namespace edo
