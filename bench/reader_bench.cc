// Every reader over a table of 20,000 rows of 100 values that lies in memory: rows and bytes a
// second of CPU time, one thread, until the last batch is out; nothing is stored. In the same run
// the limits that no reader can pass: memcpy of the same bytes and, for compressed input, inflate
// alone. Bytes are those of the input, decompressed.
// Run: build/release/bench/reader_bench --benchmark_min_time=0.5
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "storage/readers/readers.h"

namespace {

using namespace edo::storage;

constexpr uint32_t kRows = 20000, kDim = 100;

const std::vector<float>& Values() {
  static const std::vector<float> values = [] {
    std::vector<float> v(size_t{kRows} * kDim);
    std::mt19937 random(1);
    std::normal_distribution<float> gauss(0, 0.3f);
    for (float& x : v) x = gauss(random);
    return v;
  }();
  return values;
}

std::string Key(uint32_t row) { return "word" + std::to_string(row * 7919u % 1000003u); }

// `decimals` < 0: the shortest that reads back.
void AppendValue(float value, int decimals, std::string* out) {
  char digits[64];
  const auto end =
      decimals < 0 ? std::to_chars(digits, digits + 64, value)
                   : std::to_chars(digits, digits + 64, value, std::chars_format::fixed, decimals);
  out->append(digits, end.ptr);
}

// One line a row: what stands around key and values is the format's.
std::string Lines(const std::string& start, const char* before_key, const char* after_key,
                  char between, const char* after_row, int decimals) {
  std::string out = start;
  for (uint32_t r = 0; r < kRows; ++r) {
    out += before_key + Key(r) + after_key;
    for (uint32_t c = 0; c < kDim; ++c) {
      if (c > 0) out.push_back(between);
      AppendValue(Values()[size_t{r} * kDim + c], decimals, &out);
    }
    out += after_row;
  }
  return out;
}

const std::string kHeader = std::to_string(kRows) + " " + std::to_string(kDim) + "\n";

std::string Floats() {
  return {reinterpret_cast<const char*>(Values().data()), Values().size() * sizeof(float)};
}

std::string Npy() {
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(kRows) +
                     ", " + std::to_string(kDim) + "), }";
  dict.resize(117, ' ');
  return std::string("\x93NUMPY\1\0\x76\0", 10) + dict + "\n" + Floats();
}

std::string Safetensors() {
  const std::string data = Floats();
  std::string header = "{\"t\":{\"dtype\":\"F32\",\"shape\":[" + std::to_string(kRows) + "," +
                       std::to_string(kDim) + "],\"data_offsets\":[0," +
                       std::to_string(data.size()) + "]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string Word2vecBinary() {
  std::string out = kHeader;
  const std::string data = Floats();
  for (uint32_t r = 0; r < kRows; ++r) {
    out += Key(r) + " " + data.substr(size_t{r} * kDim * 4, kDim * 4) + "\n";
  }
  return out;
}

std::string Deflated(const std::string& bytes, int window_bits) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    std::abort();
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A zip archive of one entry "a.npy".
std::string Npz(const std::string& npy, bool deflate) {
  const std::string packed = deflate ? Deflated(npy, -15) : npy;
  const auto crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(npy.data()), npy.size()));
  const auto number = [](uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  const std::string shared = number(20, 2) + number(0, 2) + number(deflate ? 8 : 0, 2) +
                             number(0, 4) + number(crc, 4) + number(packed.size(), 4) +
                             number(npy.size(), 4) + number(5, 2) + number(0, 2);
  const std::string entry = "PK\3\4" + shared + "a.npy" + packed;
  const std::string directory = "PK\1\2" + number(20, 2) + shared + std::string(14, '\0') + "a.npy";
  return entry + directory + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(directory.size(), 4) + number(entry.size(), 4) + number(0, 2);
}

struct Source {
  std::string format;
  std::function<std::string()> make;
  std::function<std::string()> plain;  // of compressed formats: what is in them
};

const std::map<std::string, Source>& Sources() {
  const auto vec = [](int decimals) {
    return [decimals] { return Lines(kHeader, "", " ", ' ', "\n", decimals); };
  };
  const auto npy = [] { return Npy(); };
  static const std::map<std::string, Source> sources{
      {"word2vec_6_decimals", {"word2vec", vec(6), {}}},
      {"glove_5_decimals", {"glove", [] { return Lines("", "", " ", ' ', "\n", 5); }, {}}},
      {"glove_shortest", {"glove", [] { return Lines("", "", " ", ' ', "\n", -1); }, {}}},
      {"vec_gz_4_decimals", {"fasttext", [vec] { return Deflated(vec(4)(), 31); }, vec(4)}},
      {"csv_6_decimals", {"csv", [] { return Lines("", "", ",", ',', "\n", 6); }, {}}},
      {"jsonl_shortest",
       {"jsonl", [] { return Lines("", "{\"id\":\"", "\",\"vector\":[", ',', "]}\n", -1); }, {}}},
      {"npy", {"npy", npy, {}}},
      {"npz_stored", {"npz", [] { return Npz(Npy(), false); }, npy}},
      {"npz_deflated", {"npz", [] { return Npz(Npy(), true); }, npy}},
      {"safetensors", {"safetensors", [] { return Safetensors(); }, {}}},
      {"word2vec_bin", {"word2vec-bin", [] { return Word2vecBinary(); }, {}}},
  };
  return sources;
}

void Report(benchmark::State& state, size_t bytes) {
  const auto passes = static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(passes * kRows);
  state.SetBytesProcessed(passes * static_cast<int64_t>(bytes));
}

std::string PlainOf(const Source& source) { return source.plain ? source.plain() : source.make(); }

void BM_Read(benchmark::State& state, const std::string& name) {
  const Source& source = Sources().at(name);
  const std::string bytes = source.make();
  edo::SourceOptions options;
  options.path = name;
  options.format = source.format;
  RowBatch batch;
  for (auto _ : state) {
    auto input = Input::FromMemory(name, bytes);
    if (!input.ok()) std::abort();
    auto reader = OpenRowReaderOn(std::move(*input), options);
    if (!reader.ok()) {
      state.SkipWithError(reader.status().ToString().c_str());
      return;
    }
    uint64_t rows = 0;
    for (;;) {
      const auto more = (*reader)->Next(&batch);
      if (!more.ok() || !*more) break;
      rows += batch.row_count;
    }
    if (rows != kRows) {
      state.SkipWithError("the table was not read whole");
      return;
    }
  }
  Report(state, PlainOf(source).size());
}

void BM_Memcpy(benchmark::State& state, const std::string& name) {
  const std::string bytes = PlainOf(Sources().at(name));
  std::string to(bytes.size(), '\0');
  for (auto _ : state) {
    std::memcpy(to.data(), bytes.data(), bytes.size());
    benchmark::ClobberMemory();
  }
  Report(state, bytes.size());
}

// zlib over the whole of the compressed bytes at once, without the CRC-32 of gzip or zip.
void BM_Inflate(benchmark::State& state, const std::string& name) {
  const std::string bytes = PlainOf(Sources().at(name));
  const std::string packed = Deflated(bytes, -15);
  std::string to(bytes.size(), '\0');
  for (auto _ : state) {
    z_stream stream{};
    if (inflateInit2(&stream, -15) != Z_OK) std::abort();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(to.size());
    if (inflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
    inflateEnd(&stream);
  }
  Report(state, bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [name, source] : Sources()) {
    const auto add = [&](const char* what, void (*run)(benchmark::State&, const std::string&)) {
      benchmark::RegisterBenchmark((std::string(what) + "/" + name).c_str(), run, name)
          ->Unit(benchmark::kMillisecond);
    };
    add("read", BM_Read);
    add("memcpy", BM_Memcpy);
    if (name.find("gz") != name.npos || name.find("deflated") != name.npos) {
      add("inflate", BM_Inflate);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
