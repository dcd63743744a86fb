#include "bench/codec/codec_figures.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "bench/codec/plain_int4.h"
#include "engine/row_quality.h"

namespace edo::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

QualityReport QualityOf(const BenchRows& rows, const std::vector<float>& decoded) {
  engine::RowQuality quality(rows.dim, {.worst_rows = 0});
  quality.Add(rows.test.data(), decoded.data(), rows.test.size() / rows.dim, 0);
  QualityReport report = quality.Report();
  if (rows.neighbours != nullptr) report.overlap = rows.neighbours->Overlap(decoded);
  return report;
}

// Median nanoseconds a row of one thread.
double EncodeTime(const storage::Codec& codec, std::span<const float> rows, int rounds) {
  const size_t count = std::min<size_t>(rows.size() / codec.dim(), 1024);
  std::vector<std::byte> codes(count * codec.row_bytes());
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    (void)codec.Encode(rows.data(), count, codes.data());
    times.push_back(Seconds(start) * 1e9 / static_cast<double>(count));
    if (times.back() > 100'000 && times.size() == 3) break;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Rows of L4+4 without the nibbles that refine them: rows of L4.
std::vector<std::byte> BaseHalf(const kernels::RowFormat& format,
                                const std::vector<std::byte>& codes) {
  const size_t rows = codes.size() / format.row_bytes();
  const size_t base_bytes = format.nibble_bytes() + size_t{2};
  std::vector<std::byte> base(rows * base_bytes);
  for (size_t r = 0; r < rows; ++r) {
    const std::byte* const from = codes.data() + r * format.row_bytes();
    std::memcpy(base.data() + r * base_bytes, from, format.nibble_bytes());
    std::memcpy(base.data() + r * base_bytes + format.nibble_bytes(), from + format.code_bytes, 2);
  }
  return base;
}

void AddSizes(const CodecSpec& codec, uint32_t dim, uint64_t table_rows, CodecFigures* figures) {
  figures->row_bytes = codec.RowBytes(dim);
  figures->learned_bytes = codec.LearnedBytes(dim);
  figures->row_bits = 8.0 * static_cast<double>(figures->row_bytes) / dim;
  figures->bits = figures->row_bits + 8.0 * static_cast<double>(figures->learned_bytes) /
                                          (static_cast<double>(table_rows) * dim);
}

CodecSpec Quantiser(uint32_t dim, uint32_t width, uint32_t bits, bool rotated) {
  CodecSpec spec;
  spec.kind = CodecKind::kPQ;
  spec.parts = (dim + width - 1) / width;
  spec.bits = bits;
  spec.rotated = rotated;
  return spec;
}

void AddNew(const CodecSpec& spec, uint32_t dim, std::vector<CodecSpec>* specs) {
  if (!spec.Check(dim).ok()) return;
  if (std::find(specs->begin(), specs->end(), spec) == specs->end()) specs->push_back(spec);
}

}  // namespace

std::vector<CodecFigures> FiguresOf(const CodecSpec& codec, const BenchRows& rows,
                                    uint64_t table_rows, const FiguresOptions& options) {
  const uint32_t dim = rows.dim;
  CodecFigures figures;
  figures.name = codec.ToString();
  AddSizes(codec, dim, table_rows, &figures);
  const auto refused = [&](const Status& s) {
    figures.refused = std::string(s.message());
    return std::vector<CodecFigures>{figures};
  };
  storage::LearnOptions learn;
  learn.seed = options.seed;
  learn.threads = options.threads;
  const auto start = Clock::now();
  const auto learned = storage::Codec::Learn(codec, dim, rows.learn, learn);
  if (!learned.ok()) return refused(learned.status());
  if (codec.learns()) figures.learn_seconds = Seconds(start);
  const auto made = storage::Codec::Make(codec, dim, *learned);
  if (!made.ok()) return refused(made.status());
  std::vector<std::byte> codes;
  const Status encoded = engine::EncodeInThreads(**made, rows.test, options.threads, &codes);
  if (!encoded.ok()) return refused(encoded);
  std::vector<float> decoded;
  engine::DecodeInThreads(**made, codes, options.threads, &decoded);
  figures.quality = QualityOf(rows, decoded);
  if (options.times != nullptr) {
    figures.encode_ns = EncodeTime(**made, rows.test, options.rounds);
    figures.hot.emplace();
    figures.memory.emplace();
    options.times->Measure((*made)->row_format(), codes, &*figures.hot, &*figures.memory);
  }
  std::vector<CodecFigures> all{figures};
  if (codec.kind == CodecKind::kL4Plus4 && !codec.profile) {
    CodecSpec half;
    half.kind = CodecKind::kL4;
    const auto base = storage::Codec::Make(half, dim);
    engine::DecodeInThreads(**base, BaseHalf((*made)->row_format(), codes), options.threads,
                            &decoded);
    CodecFigures of_base;
    of_base.name = figures.name + " base";
    AddSizes(half, dim, table_rows, &of_base);
    of_base.quality = QualityOf(rows, decoded);
    all.push_back(of_base);
  }
  return all;
}

std::vector<CodecFigures> PlainInt4Figures(const BenchRows& rows) {
  const uint32_t dim = rows.dim;
  CodecFigures absmax, min_max;
  absmax.name = "INT4 absmax (not EDO)";
  absmax.row_bits = absmax.bits = 4 + 16.0 / dim;
  absmax.quality = QualityOf(rows, ThroughAbsmaxInt4(rows.test, dim));
  min_max.name = "INT4 min-max (not EDO)";
  min_max.row_bits = min_max.bits = 4 + 32.0 / dim;
  min_max.quality = QualityOf(rows, ThroughMinMaxInt4(rows.test, dim));
  return {absmax, min_max};
}

std::vector<CodecSpec> TableLadder(uint32_t dim) {
  std::vector<CodecSpec> specs = CodecLadder(dim);
  AddNew(Quantiser(dim, 1, 8, false), dim, &specs);  // 8 bits a value
  for (const uint32_t width : {1u, 2u, 4u}) {        // 4, 2, 1
    AddNew(Quantiser(dim, width, 4, false), dim, &specs);
  }
  return specs;
}

std::vector<CodecSpec> EveryWidth(uint32_t dim) {
  std::vector<CodecSpec> specs = CodecLadder(dim);
  for (const bool rotated : {false, true}) {
    for (uint32_t width = 2; width <= std::min(dim, 16u); ++width) {
      AddNew(Quantiser(dim, width, 8, rotated), dim, &specs);
    }
  }
  return specs;
}

}  // namespace edo::bench
