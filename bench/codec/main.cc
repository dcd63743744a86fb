// codec: every codec on one table, as a Markdown table: size, error on rows outside the training
// sample, and the time of encoding, decoding and learning beside an INT8 gather written by hand and
// an fp32 memcpy gather.
//
// Usage: codec TABLE | --make=heavy|uniform|outlier [--tensor=NAME] [--scale=X] [--codecs=A;B]
//              [--every-width] [--all-rows] [--untimed] [--rounds=N] [--threads=N] [--seed=N]
//              [--arena-mib=N] [--overlap-rows=N] [--csv=FILE] [--rows-to=DIR]
//        codec TABLE --time-learning=SPEC [--learn-rows=N] [--rounds=N] [--threads=N]
//   --scale        multiplies all values
//   --codecs       these instead of the ladder
//   --every-width  the ladder with PQ and OPQ at every width from 2 to 16
//   --all-rows     learns from all of the sample and measures on all rows, as an import judges
//   --arena-mib    encoded rows that decoding from memory picks from; 0: four last-level caches
//   --csv          the figures for programs (bench/codec_report.py)
//   --rows-to      writes the rows as they are, learn.f32 and test.f32 or, with --time-learning,
//                  first.f32 (bench/codec_faiss.py)
//   --time-learning  only the seconds to learn one codec from the first rows
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "bench/codec/bench_table.h"
#include "bench/codec/codec_figures.h"
#include "engine/row_sample.h"

namespace edo::bench {
namespace {

struct Settings {
  std::string path, make, tensor, codecs, csv, rows_to, time_learning;
  double scale = 1;
  bool every_width = false, all_rows = false, timed = true;
  int rounds = 9;
  uint32_t threads = 2;
  uint64_t seed = 1, arena_mib = 0, overlap_rows = 20000, learn_rows = 65536;
};

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "codec: %s\n", message.c_str());
  std::exit(1);
}
template <typename T>
T Take(Result<T> result) {
  if (!result.ok()) Fail(result.status().ToString());
  return std::move(result).value();
}

uint64_t Number(std::string_view option, const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || text[0] == '-') {
    Fail(std::string(option) + ": '" + text + "' is not a whole number");
  }
  return number;
}

Settings Parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (!argument.starts_with("--")) {
      if (!settings.path.empty()) Fail("one table at a time: '" + argument + "' is a second");
      settings.path = argument;
    } else if (name == "--make") {
      settings.make = value;
    } else if (name == "--tensor") {
      settings.tensor = value;
    } else if (name == "--codecs") {
      settings.codecs = value;
    } else if (name == "--csv") {
      settings.csv = value;
    } else if (name == "--rows-to") {
      settings.rows_to = value;
    } else if (name == "--time-learning") {
      settings.time_learning = value;
    } else if (name == "--scale") {
      char* end = nullptr;
      settings.scale = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != 0) Fail("--scale: '" + value + "' is not a number");
    } else if (argument == "--every-width") {
      settings.every_width = true;
    } else if (argument == "--all-rows") {
      settings.all_rows = true;
    } else if (argument == "--untimed") {
      settings.timed = false;
    } else if (name == "--rounds") {
      settings.rounds = std::max(1, static_cast<int>(Number(name, value)));
    } else if (name == "--threads") {
      settings.threads = std::max(1u, static_cast<uint32_t>(Number(name, value)));
    } else if (name == "--seed") {
      settings.seed = Number(name, value);
    } else if (name == "--arena-mib") {
      settings.arena_mib = Number(name, value);
    } else if (name == "--overlap-rows") {
      settings.overlap_rows = Number(name, value);
    } else if (name == "--learn-rows") {
      settings.learn_rows = Number(name, value);
    } else {
      Fail("unknown option '" + argument + "'; the head of bench/codec/main.cc lists them");
    }
  }
  if (settings.path.empty() == settings.make.empty()) {
    Fail("give one table: a file or --make=heavy|uniform|outlier");
  }
  return settings;
}

std::vector<CodecSpec> SpecsOf(const Settings& settings, uint32_t dim) {
  if (settings.every_width) return EveryWidth(dim);
  if (settings.codecs.empty()) return TableLadder(dim);
  std::vector<CodecSpec> specs;
  for (size_t at = 0; at < settings.codecs.size();) {
    const size_t end = std::min(settings.codecs.find(';', at), settings.codecs.size());
    specs.push_back(Take(CodecSpec::Parse(settings.codecs.substr(at, end - at))));
    at = end + 1;
  }
  return specs;
}

void WriteFloats(const std::string& path, std::span<const float> values) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(values.data(), 4, values.size(), file) != values.size() ||
      std::fclose(file) != 0) {
    Fail("cannot write " + path);
  }
}

std::string Times(const std::optional<GatherTime>& time) {
  if (!time) return " | ";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f | %.2f / %.2f", time->ns, time->to_int8, time->to_copy);
  return text;
}

void PrintHead(bool timed) {
  std::printf(
      "| codec | bits a value, row | with learned | rel. sq. error | p1 cosine | worst | "
      "top-10 |%s\n",
      timed ? " learn s | encode ns | hot ns | x int8 / copy | memory ns | x int8 / copy |" : "");
  std::printf("|---|---|---|---|---|---|---|%s\n", timed ? "---|---|---|---|---|---|" : "");
}

void PrintLine(const CodecFigures& f, bool timed) {
  if (!f.refused.empty()) {
    std::printf("| %s | %.2f | %.2f | refused: %s |\n", f.name.c_str(), f.row_bits, f.bits,
                f.refused.c_str());
    return;
  }
  char overlap[16] = "";
  if (f.quality.overlap) std::snprintf(overlap, sizeof overlap, "%.3f", *f.quality.overlap);
  std::printf("| %s | %.2f | %.2f | %.2e | %.5f | %.4f | %s |", f.name.c_str(), f.row_bits, f.bits,
              f.quality.rel_error_mean, f.quality.cosine_p1, f.quality.cosine_worst, overlap);
  if (timed) {
    char learn[16] = "", encode[16] = "";
    if (f.learn_seconds) std::snprintf(learn, sizeof learn, "%.2f", *f.learn_seconds);
    if (f.encode_ns) std::snprintf(encode, sizeof encode, "%.0f", *f.encode_ns);
    std::printf(" %s | %s | %s | %s |", learn, encode, Times(f.hot).c_str(),
                Times(f.memory).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

void WriteCsv(std::FILE* csv, const std::string& table, const BenchTable& rows,
              const CodecFigures& f) {
  const auto time = [](const std::optional<GatherTime>& t) { return t.value_or(GatherTime{}); };
  const GatherTime hot = time(f.hot), memory = time(f.memory);
  std::fprintf(csv,
               "%s,%llu,%u,\"%s\",%llu,%llu,%.4f,%.4f,%.6e,%.6e,%.8f,%.8f,%.5f,%.4f,%.1f,"
               "%.2f,%.4f,%.4f,%.2f,%.2f,%.2f,%.4f,%.4f,%.2f,%.2f\n",
               table.c_str(), static_cast<unsigned long long>(rows.rows()), rows.dim,
               f.name.c_str(), static_cast<unsigned long long>(f.row_bytes),
               static_cast<unsigned long long>(f.learned_bytes), f.row_bits, f.bits,
               f.quality.rel_error_mean, f.quality.rel_error_p99, f.quality.cosine_p1,
               f.quality.cosine_worst, f.quality.overlap.value_or(-1), f.learn_seconds.value_or(0),
               f.encode_ns.value_or(0), hot.ns, hot.to_int8, hot.to_copy, hot.int8_ns, hot.copy_ns,
               memory.ns, memory.to_int8, memory.to_copy, memory.int8_ns, memory.copy_ns);
  std::fflush(csv);
}

constexpr char kCsvHead[] =
    "table,rows,dim,codec,row_bytes,learned_bytes,row_bits,bits,error,error_p99,cosine_p1,"
    "cosine_worst,overlap,learn_s,encode_ns,hot_ns,hot_x_int8,hot_x_copy,hot_int8_ns,hot_copy_ns,"
    "memory_ns,memory_x_int8,memory_x_copy,memory_int8_ns,memory_copy_ns\n";

int TimeLearning(const Settings& settings, const BenchTable& table) {
  const CodecSpec spec = Take(CodecSpec::Parse(settings.time_learning));
  const uint64_t rows = std::min(settings.learn_rows, table.rows());
  storage::LearnOptions learn;
  learn.seed = settings.seed;
  learn.threads = settings.threads;
  if (!settings.rows_to.empty()) {
    WriteFloats(settings.rows_to + "/first.f32", std::span(table.values).first(rows * table.dim));
  }
  std::vector<double> seconds;
  for (int i = 0; i < settings.rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Take(storage::Codec::Learn(spec, table.dim, std::span(table.values).first(rows * table.dim),
                               learn));
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%s,%llu,%u,%u,%.3f,%.3f\n", spec.ToString().c_str(),
              static_cast<unsigned long long>(rows), table.dim, settings.threads,
              seconds[seconds.size() / 2], seconds.front());
  return 0;
}

int Run(const Settings& settings) {
  BenchTable table = Take(settings.make.empty() ? ReadTable(settings.path, settings.tensor)
                                                : MakeTable(settings.make, settings.seed));
  const auto scale = static_cast<float>(settings.scale);
  for (float& value : table.values) value *= scale;
  if (!settings.time_learning.empty()) return TimeLearning(settings, table);

  engine::RowSample sample(table.dim, storage::SampleRows(table.dim));
  sample.Offer(table.values);
  const std::vector<float> drawn = sample.Take();
  BenchRows rows{table.dim, drawn, table.values};
  std::optional<engine::TrialRows> trial;
  bool held_out = false;
  if (!settings.all_rows) {
    AdviseCodecOptions advise;
    advise.overlap_rows = settings.overlap_rows;
    advise.threads = settings.threads;
    trial.emplace(drawn, table.dim, advise);
    rows = {table.dim, trial->learn(), trial->test(), &*trial};
    held_out = trial->held_out();
  }
  const uint64_t tested = rows.test.size() / table.dim;
  if (!settings.rows_to.empty()) {
    WriteFloats(settings.rows_to + "/learn.f32", rows.learn);
    WriteFloats(settings.rows_to + "/test.f32", rows.test);
  }
  if (!held_out && !settings.all_rows) {
    std::fprintf(
        stderr,
        "codec: %s has only %llu rows: codecs are measured on rows that they learned from\n",
        table.name.c_str(), static_cast<unsigned long long>(table.rows()));
  }

  FiguresOptions options;
  options.threads = settings.threads;
  options.seed = settings.seed;
  options.rounds = settings.rounds;
  std::optional<GatherTimes> times;
  if (settings.timed) {
    const auto int8 = Take(storage::Codec::Make({CodecKind::kInt8}, table.dim));
    std::vector<std::byte> codes;
    if (const Status s = engine::EncodeInThreads(*int8, rows.test, 1, &codes); !s.ok()) {
      Fail(s.ToString());
    }
    const uint64_t arena = settings.arena_mib != 0
                               ? settings.arena_mib << 20
                               : std::max(uint64_t{512} << 20, 4 * LastLevelCacheBytes());
    times.emplace(codes, rows.test, table.dim, arena, settings.rounds);
    options.times = &*times;
  }
  std::printf("%s: %llu rows of %u values; learned from %llu, measured on %llu %s\n\n",
              table.name.c_str(), static_cast<unsigned long long>(table.rows()), table.dim,
              static_cast<unsigned long long>(rows.learn.size() / table.dim),
              static_cast<unsigned long long>(tested), held_out ? "others" : "(none held out)");
  std::FILE* csv = nullptr;
  if (!settings.csv.empty()) {
    csv = std::fopen(settings.csv.c_str(), "w");
    if (csv == nullptr) Fail("cannot write " + settings.csv);
    std::fputs(kCsvHead, csv);
  }
  PrintHead(settings.timed);
  std::optional<GatherTime> hot, memory;
  const auto tell = [&](const std::vector<CodecFigures>& all) {
    for (const CodecFigures& figures : all) {
      PrintLine(figures, settings.timed);
      if (csv != nullptr && figures.refused.empty()) {
        WriteCsv(csv, table.name, table, figures);
      }
      if (figures.hot && !hot) hot = figures.hot;
      if (figures.memory && !memory) memory = figures.memory;
    }
  };
  for (const CodecSpec& spec : SpecsOf(settings, table.dim)) {
    tell(FiguresOf(spec, rows, table.rows(), options));
  }
  if (settings.codecs.empty() && !settings.every_width) tell(PlainInt4Figures(rows));
  if (hot && memory) {
    std::printf(
        "\nYardsticks, ns a row, hot / memory: INT8 by hand %.1f / %.1f, fp32 copy %.1f / "
        "%.1f\n",
        hot->int8_ns, memory->int8_ns, hot->copy_ns, memory->copy_ns);
  }
  if (csv != nullptr && std::fclose(csv) != 0) Fail("cannot write " + settings.csv);
  return 0;
}

}  // namespace
}  // namespace edo::bench

int main(int argc, char** argv) { return edo::bench::Run(edo::bench::Parse(argc, argv)); }
