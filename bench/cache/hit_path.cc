// Workload `cache`: what the row cache costs. Probe, gather and decode of INT8 rows against the
// plain gather of the same rows from an array, which is the limit: same ids, same run, in turns.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/cache/cache_bench.h"
#include "bench/cache/traces.h"
#include "bench/store/bench_util.h"
#include "gpucache/row_cache.h"
#include "kernels/codec_kernels.h"

namespace edo::bench {
namespace {

constexpr size_t kBatch = 4096;

// A table of INT8 rows in an array and, as many as fit, in a cache.
struct Tables {
  std::shared_ptr<kernels::Backend> backend = kernels::MakeCpuBackend();
  std::unique_ptr<gpucache::RowCache> cache;
  std::shared_ptr<const gpucache::CachedTable> table;
  kernels::RowFormat format;
  std::vector<std::byte> rows;  // (count, row_bytes), as on disk
  uint64_t count = 0;
  std::vector<uint32_t> resident;

  // `load`: rows a slot of the cache.
  Tables(uint32_t dim, uint64_t row_count, double load) : count(row_count) {
    format = kernels::MakeRowFormat(kernels::RowCodec::kInt8, dim);
    const kernels::BlockShape shape = kernels::ShapeOf(format);
    gpucache::RowCacheOptions options;
    options.bytes = static_cast<uint64_t>(static_cast<double>(count) / load / kernels::kSlots + 1) *
                    shape.block_bytes();
    cache = Take(gpucache::RowCache::Make(backend, options));
    table = Take(cache->AddTable(format, count * 2));  // no smaller than the budget
    rows.resize(count * format.row_bytes());
    std::vector<float> values(dim);
    Random random(dim);
    for (uint64_t r = 0; r < count; ++r) {
      for (float& v : values) v = random.Normal();
      kernels::EncodeInt8Row(values.data(), dim, rows.data() + r * format.row_bytes());
    }
    for (int pass = 0; pass < 2; ++pass) FillAll();
    FindResident();
  }

  void FillAll() {
    std::vector<uint64_t> numbers(kBatch);
    for (uint64_t first = 0; first < count; first += kBatch) {
      numbers.clear();
      for (uint64_t r = first; r < std::min(count, first + kBatch); ++r) numbers.push_back(r);
      const auto* const at = rows.data() + first * format.row_bytes();
      cache->Fill(*table, numbers,
                  std::vector<std::byte>(at, at + numbers.size() * format.row_bytes()));
    }
    Check(cache->Flush());
  }

  void FindResident() {
    std::vector<uint64_t> numbers(kBatch);
    std::vector<float> out(kBatch * format.dim);
    std::vector<uint32_t> misses(kBatch);
    std::vector<kernels::RowMark> marks(kBatch);
    for (uint64_t first = 0; first + kBatch <= count; first += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) numbers[i] = first + i;
      kernels::QueryCounts counts;
      Check(cache->Gather(*table, {numbers.data(),
                                   kBatch,
                                   {out.data(), FloatType::kF32, format.dim},
                                   true,
                                   misses.data(),
                                   marks.data(),
                                   &counts}));
      for (size_t i = 0; i < kBatch; ++i) {
        if (marks[i] == kernels::RowMark::kFound) {
          resident.push_back(static_cast<uint32_t>(numbers[i]));
        }
      }
    }
  }
};

// Batches of ids, the same for both sides: row numbers in two widths.
struct Batches {
  std::vector<uint64_t> rows;
  std::vector<uint32_t> sources;
  size_t count() const { return rows.size() / kBatch; }
};

// `miss_share` of the ids lie beyond the rows that were filled.
Batches MakeBatches(const Tables& tables, double zipf, double miss_share, uint64_t seed) {
  constexpr size_t kBatches = 128;
  Batches batches;
  Random random(seed);
  const auto domain = static_cast<uint32_t>(tables.resident.size());
  std::vector<uint32_t> ids;
  if (zipf > 0) {
    ids = ZipfTrace(domain, kBatches * kBatch, {.exponent = zipf});
  } else {
    for (size_t i = 0; i < kBatches * kBatch; ++i) {
      ids.push_back(static_cast<uint32_t>((random.Next() >> 32) * domain >> 32));
    }
  }
  for (const uint32_t id : ids) {
    uint64_t row = tables.resident[id];
    batches.sources.push_back(static_cast<uint32_t>(row));
    // The upper half of the table was never filled.
    if (static_cast<double>(random.Next() >> 40) < miss_share * 0x1p24) row += tables.count;
    batches.rows.push_back(row);
  }
  return batches;
}

double TimeThreads(int threads, const std::function<void(int)>& work) {
  const double start = Now();
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& t : others) t.join();
  return Now() - start;
}

struct Times {
  double plain = 0, cache = 0;  // ns a row and thread, medians
  double ratio = 0;             // median of the rounds' ratios
};

Times Measure(const Tables& tables, const Batches& batches, FloatType type, int threads,
              int rounds) {
  const uint32_t dim = tables.format.dim;
  std::vector<std::vector<float>> outs(static_cast<size_t>(threads),
                                       std::vector<float>(kBatch * dim));
  const auto plain = [&](int t) {
    for (size_t b = static_cast<size_t>(t); b < batches.count();
         b += static_cast<size_t>(threads)) {
      kernels::GatherArgs args;
      args.rows = tables.rows.data();
      args.row_stride = tables.format.row_bytes();
      args.format = tables.format;
      args.sources = batches.sources.data() + b * kBatch;
      args.count = kBatch;
      args.out = {outs[static_cast<size_t>(t)].data(), type, dim};
      Check(tables.backend->Gather(args, {}));
    }
  };
  const auto cached = [&](int t) {
    std::vector<uint32_t> misses(kBatch);
    for (size_t b = static_cast<size_t>(t); b < batches.count();
         b += static_cast<size_t>(threads)) {
      kernels::QueryCounts counts;
      Check(tables.cache->Gather(*tables.table, {batches.rows.data() + b * kBatch,
                                                 kBatch,
                                                 {outs[static_cast<size_t>(t)].data(), type, dim},
                                                 true,
                                                 misses.data(),
                                                 nullptr,
                                                 &counts}));
    }
  };
  std::vector<double> plain_ns, cache_ns, ratios;
  const double rows = static_cast<double>(batches.rows.size()) / threads;
  for (int round = -1; round < rounds; ++round) {
    const double p = TimeThreads(threads, plain) / rows * 1e9;
    const double c = TimeThreads(threads, cached) / rows * 1e9;
    if (round < 0) continue;  // warms up
    plain_ns.push_back(p);
    cache_ns.push_back(c);
    ratios.push_back(c / p);
  }
  return {Median(plain_ns), Median(cache_ns), Median(ratios)};
}

std::string Name(double zipf) {
  if (zipf == 0) return "uniform";
  char text[32];
  std::snprintf(text, sizeof text, "Zipf %.2f", zipf);
  return text;
}

// What a missed row costs beyond its read: the offer to the cache. Of ids of which few are
// resident, so most rows are refused; and of a cache that is empty, which takes them all.
void MeasureFill() {
  constexpr uint32_t kDim = 128;
  constexpr uint64_t kRows = 1 << 20;
  for (const bool empty : {true, false}) {
    const auto format = kernels::MakeRowFormat(kernels::RowCodec::kInt8, kDim);
    gpucache::RowCacheOptions options;
    options.bytes = kernels::ShapeOf(format).block_bytes() * kRows / kernels::kSlots;
    if (!empty) options.bytes /= 32;
    std::vector<double> ns;
    for (int round = 0; round < 5; ++round) {
      const auto cache = Take(gpucache::RowCache::Make(kernels::MakeCpuBackend(), options));
      const auto table = Take(cache->AddTable(format, kRows));
      Random random(static_cast<uint64_t>(round));
      double seconds = 0;
      uint64_t rows = 0;
      for (int batch = 0; batch < 120; ++batch) {
        std::vector<uint64_t> numbers(kBatch);
        for (uint64_t& n : numbers) n = random.Next() % kRows;
        std::vector<std::byte> codes(kBatch * format.row_bytes());
        const double start = Now();
        cache->Fill(*table, numbers, std::move(codes));
        seconds += Now() - start;
        rows += kBatch;
      }
      ns.push_back(seconds / static_cast<double>(rows) * 1e9);
    }
    std::printf("offer of a missed row, %s: %.0f ns\n",
                empty ? "cache with room" : "cache of 1/32 of the rows", Median(ns));
  }
}

}  // namespace

bool RunHitPath(const CacheSettings& settings) {
  const int rounds = 9;
  bool passed = true;
  std::printf("\ncache: INT8 rows, batches of %zu, ns a row and thread (medians of %d)\n\n", kBatch,
              rounds);
  std::printf(
      "| dim | load | ids | out | threads | hits | plain gather | cache | cache / plain |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  const auto line = [&](const Tables& tables, double load, double zipf, FloatType type, int threads,
                        double miss_share) {
    const Batches batches = MakeBatches(tables, zipf, miss_share, 7);
    const Times t = Measure(tables, batches, type, threads, rounds);
    std::printf("| %u | %.2f | %s | %s | %d | %.0f %% | %.1f | %.1f | %.2f |\n", tables.format.dim,
                load, Name(zipf).c_str(), std::string(FloatTypeName(type)).c_str(), threads,
                100 * (1 - miss_share), t.plain, t.cache, t.ratio);
    std::fflush(stdout);
    return t;
  };
  const uint64_t bytes = uint64_t{192} << 20;  // of codes: far beyond the processor's caches
  for (const uint32_t dim : {64u, 128u, 768u}) {
    const uint64_t rows = bytes / dim;
    for (const double load : {0.5, 0.75, 1.0}) {
      const Tables tables(dim, rows, load);
      const Times one = line(tables, load, 0, FloatType::kF32, 1, 0);
      if (dim == 128 && settings.check) {
        passed &= Verdict(one.ratio <= 1.3, "all hit, d = 128, load " + std::to_string(load) +
                                                ", one thread: " + std::to_string(one.ratio) +
                                                " of the plain gather (asked: at most 1.3)");
      }
      if (load < 1.0) continue;
      const Times two = line(tables, load, 0, FloatType::kF32, 2, 0);
      if (dim == 128 && settings.check) {
        const double scaling = (one.cache / two.cache) / (one.plain / two.plain);
        passed &= Verdict(scaling >= 0.9, "two threads scale " + std::to_string(scaling) +
                                              " times as well as the plain gather's (asked: 0.9)");
      }
      for (const double zipf : {0.85, 0.99, 1.05, 1.2}) {
        line(tables, load, zipf, FloatType::kF32, 1, 0);
      }
      if (dim != 128) continue;
      line(tables, load, 0, FloatType::kF16, 1, 0);
      line(tables, load, 0, FloatType::kF32, 1, 0.2);
      line(tables, load, 0, FloatType::kF32, 1, 1.0);
    }
  }
  std::printf("\n");
  MeasureFill();
  return passed;
}

}  // namespace edo::bench
