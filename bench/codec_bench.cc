// Encode, decode and gather of every codec, one thread, rows a second and time a row, beside a
// plain memcpy of the decoded rows as the limit.
//   hot     1,024 rows that stay in the caches
//   random  rows picked at random from 256 MiB of codes (what a lookup sees after its reads)
// Run: build/release/bench/codec_bench --benchmark_min_time=0.2
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "storage/codec.h"

namespace {

using edo::CodecKind;
using edo::FloatType;
using edo::storage::Codec;

constexpr size_t kRows = 1024;
constexpr size_t kArenaBytes = size_t{256} << 20;

struct Fixture {
  Fixture(CodecKind kind, uint32_t dim)
      : codec(std::move(Codec::Make({kind}, dim)).value()), rows(kRows * dim), out(kRows * dim) {
    std::mt19937 random(1);
    std::normal_distribution<float> gauss(0, 1);
    for (float& x : rows) x = gauss(random);
    codes.resize(kRows * codec->row_bytes());
    if (!codec->Encode(rows.data(), kRows, codes.data()).ok()) std::abort();
  }
  std::unique_ptr<Codec> codec;
  std::vector<float> rows, out;
  std::vector<std::byte> codes;
};

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

}  // namespace

BENCHMARK_MAIN();
