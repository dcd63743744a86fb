#include "bench/codec/gather_times.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "bench/codec/hand_gathers.h"
#include "kernels/backend.h"
#include "kernels/cpu/bodies.h"

namespace edo::bench {
namespace {

constexpr uint32_t kBatch = 1024;  // rows a call
constexpr uint32_t kBatches = 32;  // calls a round
constexpr uint32_t kHotRows = 1024;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

// Encoded rows, repeated, in memory as the row cache has it (large pages where the system gives
// them).
struct GatherTimes::Arena {
  Arena(kernels::Backend* from, std::span<const std::byte> codes, size_t row_bytes, uint64_t wanted)
      : backend(from),
        rows(std::max<uint64_t>(wanted / row_bytes, kHotRows)),
        bytes(rows * row_bytes) {
    auto memory = backend->Allocate(bytes);
    if (!memory.ok()) {
      std::fprintf(stderr, "codec: %s\n", memory.status().ToString().c_str());
      std::exit(1);
    }
    data = static_cast<std::byte*>(*memory);
    const uint64_t given = codes.size() / row_bytes;
    for (uint64_t r = 0; r < rows; ++r) {
      std::memcpy(data + r * row_bytes, codes.data() + r % given * row_bytes, row_bytes);
    }
  }
  ~Arena() { backend->Free(data, bytes); }
  kernels::Backend* const backend;
  const uint64_t rows;
  const uint64_t bytes;
  std::byte* data = nullptr;
};

GatherTimes::GatherTimes(std::span<const std::byte> int8, std::span<const float> f32, uint32_t dim,
                         uint64_t arena_bytes, int rounds)
    : dim_(dim),
      arena_bytes_(arena_bytes),
      rounds_(rounds),
      backend_(kernels::MakeCpuBackend()),
      int8_(std::make_unique<Arena>(backend_.get(), int8, dim + 2, arena_bytes)),
      f32_(std::make_unique<Arena>(backend_.get(), std::as_bytes(f32), size_t{dim} * 4,
                                   arena_bytes)) {}

GatherTimes::~GatherTimes() = default;

void GatherTimes::Measure(const kernels::RowFormat& format, std::span<const std::byte> codes,
                          GatherTime* hot, GatherTime* memory) const {
  const Arena coded(backend_.get(), codes, format.row_bytes(), arena_bytes_);
  std::vector<float> out(size_t{kBatch} * dim_);
  Picks picks(size_t{kBatch} * kBatches);
  std::mt19937_64 random(7);
  const auto time = [&](uint64_t rows, const std::function<void(const uint32_t*)>& gather) {
    for (uint32_t& pick : picks) pick = static_cast<uint32_t>(random() % rows);
    const auto start = std::chrono::steady_clock::now();
    for (uint32_t b = 0; b < kBatches; ++b) gather(&picks[size_t{b} * kBatch]);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    return spent.count() / static_cast<double>(picks.size());
  };
  const auto measure = [&](bool from_memory) {
    const auto among = [&](const Arena& arena) { return from_memory ? arena.rows : kHotRows; };
    std::vector<double> ours, to_int8, to_copy, int8s, copies;
    for (int round = 0; round <= rounds_; ++round) {
      const double int8 = time(among(*int8_), [&](const uint32_t* p) {
        GatherInt8ByHand(int8_->data, dim_, p, kBatch, out.data());
      });
      const double own = time(among(coded), [&](const uint32_t* p) {
        kernels::GatherArgs args;
        args.rows = coded.data;
        args.row_stride = format.row_bytes();
        args.format = format;
        args.sources = p;
        args.count = kBatch;
        args.out = {out.data(), FloatType::kF32, dim_};
        kernels::cpu::Gather(args);
      });
      const double copy = time(among(*f32_), [&](const uint32_t* p) {
        GatherCopy(f32_->data, dim_, p, kBatch, out.data());
      });
      if (round == 0) continue;  // warms up
      ours.push_back(own);
      to_int8.push_back(own / int8);
      to_copy.push_back(own / copy);
      int8s.push_back(int8);
      copies.push_back(copy);
    }
    return GatherTime{Median(ours), Median(to_int8), Median(to_copy), Median(int8s),
                      Median(copies)};
  };
  *hot = measure(false);
  *memory = measure(true);
}

uint64_t LastLevelCacheBytes() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : uint64_t{32} << 20;
}

}  // namespace edo::bench
