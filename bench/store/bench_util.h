// What the store workloads share: clocks, medians, ids, rows made from their number, CPU seconds.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edo/options.h"
#include "edo/status.h"

namespace edo::bench {

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline double CpuSeconds() {
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// A benchmark has nobody to hand an error to.
inline void Check(const Status& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "store_bench: %s\n", s.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Take(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

class Random {  // xorshift64*
 public:
  explicit Random(uint64_t seed) : state_(seed * 2685821657736338717u + 1) {}
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717u;
  }
  float Normal() {  // near enough: the sum of four uniforms
    float sum = 0;
    const uint64_t bits = Next();
    for (int i = 0; i < 4; ++i) sum += static_cast<float>((bits >> (16 * i)) & 0xffff);
    return (sum - 131070.0f) / 37837.0f;
  }

 private:
  uint64_t state_;
};

struct Settings {
  std::string directory;  // where stores and files are made; removed afterwards
  uint64_t rows = 1'000'000;
  uint32_t dim = 126;  // INT8: 128 bytes a row
  int rounds = 9;
  size_t batch = 4096;
  double seconds = 0.5;  // of each variant in each round
  std::string file;      // workload `quality`: the table
  bool keep = false;
  std::FILE* csv = nullptr;  // every figure once more, for programs; or null
};

// One line of results: what, figure, unit; printed with the ratio to the first line of its group.
struct Line {
  std::string what;
  double value = 0;
  std::string unit;
  std::string remark;
};

// A line of the CSV file: workload,variant,value,unit,ratio,remark.
inline void WriteCsv(const Settings& settings, const std::string& workload, const Line& line,
                     double ratio) {
  if (settings.csv == nullptr) return;
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  };
  std::fprintf(settings.csv, "%s,%s,%.6g,%s,%.4g,%s\n", workload.c_str(), quoted(line.what).c_str(),
               line.value, quoted(line.unit).c_str(), ratio, quoted(line.remark).c_str());
  std::fflush(settings.csv);
}

// A peer that is not installed.
inline void SayLeftOut(const Settings& settings, const std::string& workload,
                       const std::string& peer, const std::string& why) {
  std::printf("\n%s: %s is left out: %s\n", workload.c_str(), peer.c_str(), why.c_str());
  WriteCsv(settings, workload, {peer, 0, "left out", why}, 0);
}

inline void Print(const Settings& settings, const std::string& workload, const std::string& title,
                  const std::vector<Line>& lines) {
  std::printf("\n%s: %s\n", workload.c_str(), title.c_str());
  for (const Line& line : lines) {
    const double ratio = lines[0].value > 0 ? line.value / lines[0].value : 0;
    std::printf("  %-46s %12.1f %-10s x%-8.3f %s\n", line.what.c_str(), line.value,
                line.unit.c_str(), ratio, line.remark.c_str());
    WriteCsv(settings, workload, line, ratio);
  }
  std::fflush(stdout);
}

// The workloads (one file each).
void BenchImport(const Settings& settings);
void BenchLookupCold(const Settings& settings);
void BenchLookupWarm(const Settings& settings);
void BenchPrefetch(const Settings& settings);
void BenchBulk(const Settings& settings);
void BenchExport(const Settings& settings);
void BenchOpen(const Settings& settings);
void BenchTables(const Settings& settings);
void BenchQuality(const Settings& settings);
void BenchKeys(const Settings& settings);
void BenchCompress(const Settings& settings);

// A store read without its cache of hot rows.
inline StoreOptions ReadingOptions(bool direct, uint32_t threads) {
  StoreOptions options;
  options.read_only = true;
  options.direct_reads = direct;
  options.read_threads = threads;
  options.cache_bytes = 0;
  return options;
}

// A store with one dense INT8 table "t" of settings.rows rows, made when it is not there yet.
std::string MakeStore(const Settings& settings);

}  // namespace edo::bench
