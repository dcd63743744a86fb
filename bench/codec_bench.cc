// Encode, decode and gather of every codec, one thread, rows a second and time a row, beside a
// plain memcpy of the decoded rows and an INT8 gather written by hand (bench/codec/hand_gathers.h).
// Gaussian rows: errors, and times on real tables, are the business of `codec` (bench/codec/).
//   hot     1,024 rows that stay in the caches
//   random  rows picked at random from 256 MiB of codes (what a lookup sees after its reads)
// Run: build/release/bench/codec_bench --benchmark_min_time=0.2
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/codec/hand_gathers.h"
#include "storage/codec.h"

namespace {

using edo::CodecKind;
using edo::CodecSpec;
using edo::FloatType;
using edo::storage::Codec;

constexpr size_t kRows = 1024;
constexpr size_t kArenaBytes = size_t{256} << 20;

struct Fixture {
  Fixture(CodecKind kind, uint32_t dim) : Fixture(CodecSpec{kind}, dim) {}
  Fixture(const CodecSpec& spec, uint32_t dim) : rows(kRows * dim), out(kRows * dim) {
    std::mt19937 random(1);
    std::normal_distribution<float> gauss(0, 1);
    for (float& x : rows) x = gauss(random);
    const auto learned = Codec::Learn(spec, dim, rows, {});
    if (!learned.ok()) std::abort();
    codec = std::move(Codec::Make(spec, dim, *learned)).value();
    codes.resize(kRows * codec->row_bytes());
    if (!codec->Encode(rows.data(), kRows, codes.data()).ok()) std::abort();
  }
  std::unique_ptr<Codec> codec;
  std::vector<float> rows, out;
  std::vector<std::byte> codes;
};

// "PQ/4": a code of 8 bits for every 4 values; other words are those of CodecSpec.
CodecSpec SpecOf(const std::string& word, uint32_t dim) {
  const size_t slash = word.find('/');
  if (slash == std::string::npos) return std::move(CodecSpec::Parse(word)).value();
  CodecSpec spec;
  spec.kind = word.find("RQ") == 0 ? CodecKind::kRQ : CodecKind::kPQ;
  spec.rotated = word[0] == 'O';
  const auto width = static_cast<uint32_t>(std::stoul(word.substr(slash + 1)));
  spec.parts = (dim + width - 1) / width;
  spec.bits = 8;
  return spec;
}

void Report(benchmark::State& state, uint32_t dim) {
  const double rows = static_cast<double>(state.iterations()) * kRows;
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(rows * dim * 4));
  state.counters["row"] =
      benchmark::Counter(rows, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Encode(benchmark::State& state, CodecKind kind) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(kind, dim);
  for (auto _ : state) {
    benchmark::DoNotOptimize(f.codec->Encode(f.rows.data(), kRows, f.codes.data()).ok());
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

void BM_Decode(benchmark::State& state, CodecKind kind, FloatType type) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(kind, dim);
  for (auto _ : state) {
    f.codec->Decode(f.codes.data(), kRows, {f.out.data(), type});
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

void BM_EncodeAs(benchmark::State& state, const char* word) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(SpecOf(word, dim), dim);
  for (auto _ : state) {
    benchmark::DoNotOptimize(f.codec->Encode(f.rows.data(), kRows, f.codes.data()).ok());
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

void BM_DecodeAs(benchmark::State& state, const char* word) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(SpecOf(word, dim), dim);
  for (auto _ : state) {
    f.codec->Decode(f.codes.data(), kRows, {f.out.data(), FloatType::kF32});
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

// The same INT8 rows as BM_Gather's, by hand.
void BM_GatherInt8ByHand(benchmark::State& state) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(CodecKind::kInt8, dim);
  const size_t row_bytes = f.codec->row_bytes();
  const size_t arena_rows = kArenaBytes / row_bytes;
  std::vector<std::byte> arena(arena_rows * row_bytes);
  for (size_t r = 0; r < arena_rows; ++r) {
    std::memcpy(arena.data() + r * row_bytes, f.codes.data() + r % kRows * row_bytes, row_bytes);
  }
  std::mt19937_64 random(2);
  std::vector<uint32_t> picks(kRows * 64);
  for (auto& p : picks) p = static_cast<uint32_t>(random() % arena_rows);
  size_t round = 0;
  for (auto _ : state) {
    edo::bench::GatherInt8ByHand(arena.data(), dim, picks.data() + round++ % 64 * kRows, kRows,
                                 f.out.data());
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

// Random rows of an arena much larger than the caches. `copy`: memcpy of dim floats instead of a
// decode, from an arena of floats.
void BM_Gather(benchmark::State& state, CodecKind kind, bool copy) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(kind, dim);
  const size_t row_bytes = f.codec->row_bytes();
  const size_t arena_rows = kArenaBytes / row_bytes;
  std::vector<std::byte> arena(arena_rows * row_bytes);
  for (size_t r = 0; r < arena_rows; ++r) {
    std::memcpy(arena.data() + r * row_bytes, f.codes.data() + r % kRows * row_bytes, row_bytes);
  }
  std::mt19937_64 random(2);
  std::vector<const std::byte*> picks(kRows * 64);
  for (auto& p : picks) p = arena.data() + random() % arena_rows * row_bytes;
  std::vector<uint64_t> places(kRows);
  for (size_t i = 0; i < kRows; ++i) places[i] = i;
  size_t round = 0;
  for (auto _ : state) {
    const std::byte* const* rows = picks.data() + round++ % 64 * kRows;
    if (copy) {
      for (size_t i = 0; i < kRows; ++i) {
        std::memcpy(f.out.data() + i * dim, rows[i], row_bytes);
      }
    } else {
      f.codec->DecodeGather(rows, places.data(), kRows, {f.out.data(), FloatType::kF32});
    }
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

void BM_Memcpy(benchmark::State& state) {
  const auto dim = static_cast<uint32_t>(state.range(0));
  Fixture f(CodecKind::kF32, dim);
  for (auto _ : state) {
    std::memcpy(f.out.data(), f.rows.data(), kRows * dim * 4);
    benchmark::ClobberMemory();
  }
  Report(state, dim);
}

#define EDO_DIMS ->Arg(100)->Arg(128)->Arg(300)->Arg(768)
BENCHMARK(BM_Memcpy) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, F32, CodecKind::kF32, FloatType::kF32) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, F16, CodecKind::kF16, FloatType::kF32) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, BF16, CodecKind::kBF16, FloatType::kF32) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, INT8, CodecKind::kInt8, FloatType::kF32) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, F32_to_f16, CodecKind::kF32, FloatType::kF16) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, INT8_to_f16, CodecKind::kInt8, FloatType::kF16) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Decode, INT8_to_bf16, CodecKind::kInt8, FloatType::kBF16) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Gather, memcpy_F32, CodecKind::kF32, true) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Gather, F32, CodecKind::kF32, false) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Gather, F16, CodecKind::kF16, false) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Gather, BF16, CodecKind::kBF16, false) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Gather, INT8, CodecKind::kInt8, false) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Encode, F32, CodecKind::kF32) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Encode, F16, CodecKind::kF16) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Encode, BF16, CodecKind::kBF16) EDO_DIMS;
BENCHMARK_CAPTURE(BM_Encode, INT8, CodecKind::kInt8) EDO_DIMS;
BENCHMARK(BM_GatherInt8ByHand) EDO_DIMS;
#define EDO_CODEC(name, word)                          \
  BENCHMARK_CAPTURE(BM_DecodeAs, name, word) EDO_DIMS; \
  BENCHMARK_CAPTURE(BM_EncodeAs, name, word) EDO_DIMS
EDO_CODEC(F8, "F8");
EDO_CODEC(L4, "L4");
EDO_CODEC(L4_4, "L4+4");
EDO_CODEC(P_INT8, "P,INT8");
EDO_CODEC(P_L4, "P,L4");
EDO_CODEC(P_L4_4, "P,L4+4");
EDO_CODEC(PQ_2, "PQ/2");
EDO_CODEC(PQ_4, "PQ/4");
EDO_CODEC(PQ_8, "PQ/8");
BENCHMARK_CAPTURE(BM_DecodeAs, OPQ_4, "OPQ/4")->Arg(100);  // larger ones learn for too long
BENCHMARK_CAPTURE(BM_DecodeAs, RQ_8, "RQ/8")->Arg(100);
BENCHMARK_CAPTURE(BM_EncodeAs, OPQ_4, "OPQ/4")->Arg(100);
BENCHMARK_CAPTURE(BM_EncodeAs, RQ_8, "RQ/8")->Arg(100);

}  // namespace

BENCHMARK_MAIN();
