// Workload `compress`: tables that shrink and one that does not. Bytes on disk, unpacking a core,
// what the choice costs an import, and cold lookups beside the same table uncompressed.
#include <array>
#include <filesystem>
#include <memory>

#include "bench/store/bench_util.h"
#include "edo/store.h"
#include "engine/compression_sample.h"
#include "storage/chunk_packing.h"
#include "storage/codec.h"

namespace edo::bench {
namespace {

constexpr uint64_t kGroup = 256;  // rows near each other

// Fills rows in order, as a file would give them.
class Rows {
 public:
  Rows(const std::string& kind, uint32_t dim)
      : near_(kind == "near"), smooth_(kind == "smooth"), base_(dim) {}
  void Fill(uint64_t rows, std::vector<float>* values) {
    values->resize(rows * base_.size());
    float* out = values->data();
    for (uint64_t r = 0; r < rows; ++r, ++row_) {
      for (float& base : base_) {
        if (near_ && row_ % kGroup == 0) base = random_.Normal();
        if (smooth_)
          base = row_ == 0 ? random_.Normal() : base * 0.9999f + random_.Normal() * 0.01f;
        *out++ = smooth_ ? base : base + random_.Normal() * (near_ ? 0.004f : 0.3f);
      }
    }
  }

 private:
  const bool near_, smooth_;
  std::vector<float> base_;
  Random random_{5};
  uint64_t row_ = 0;
};

// Of the kernel's time, and of the clock, most is the disk's.
double UserSeconds() {
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

// Writes table `name`; seconds of the CPU that were not spent on making rows.
double Write(Store* store, const std::string& name, const std::string& kind, const CodecSpec& codec,
             Compression compression, const Settings& settings) {
  TableOptions options;
  options.dim = settings.dim;
  options.codec = codec;
  options.compression = compression;
  options.replace = true;
  auto writer = Take(store->CreateTable(name, options));
  Rows rows(kind, settings.dim);
  std::vector<float> values;
  double seconds = 0;
  for (uint64_t done = 0; done < settings.rows;) {
    const uint64_t n = std::min<uint64_t>(20000, settings.rows - done);
    rows.Fill(n, &values);
    const double start = UserSeconds();
    Check(writer->Append({values, {}, {}, {}}));
    seconds += UserSeconds() - start;
    done += n;
  }
  const double start = UserSeconds();
  Take(writer->Commit());
  return seconds + UserSeconds() - start;
}

// MB of codes a second that one thread unpacks, of chunks as such a table has them.
double Unpacking(const std::string& kind, const CodecSpec& spec, const Settings& settings,
                 engine::ChunkPlan* plan) {
  const auto codec = Take(storage::Codec::Make(spec, settings.dim));
  const uint64_t row_bytes = codec->row_bytes();
  const uint64_t count = (uint64_t{8} << 20) / row_bytes;
  std::vector<float> values;
  Rows(kind, settings.dim).Fill(count, &values);
  std::string codes(count * row_bytes, '\0');
  uint64_t bad = 0;
  Check(codec->Encode(values.data(), count, reinterpret_cast<std::byte*>(codes.data()), &bad));
  const uint32_t value_bytes = row_bytes == settings.dim * 4u   ? 4
                               : row_bytes == settings.dim * 2u ? 2
                                                                : 1;
  engine::CompressionSample sample(row_bytes, value_bytes);
  for (uint64_t i = 0; i < 4; ++i) {
    sample.Add(std::string_view(codes).substr(i * (count / 4) * row_bytes,
                                              sample.window_rows() * row_bytes),
               1);
  }
  *plan = sample.Decide().best;
  storage::ChunkPacker packer;
  std::vector<std::string> chunks;
  for (uint64_t row = 0; row + plan->rows <= count; row += plan->rows) {
    std::string packed;
    if (packer.Pack(std::string_view(codes).substr(row * row_bytes, plan->rows * row_bytes),
                    plan->rows, plan->form, &packed)) {
      chunks.push_back(std::move(packed));
    }
  }
  storage::ChunkUnpacker unpacker;
  std::vector<double> rates;
  for (int round = 0; round < settings.rounds; ++round) {
    const double start = CpuSeconds();
    uint64_t bytes = 0;
    do {
      for (const std::string& chunk : chunks) {
        storage::PageView page{plan->rows, chunk, true, 0};
        Check(unpacker.Unpack(&page));
        bytes += page.payload.size();
      }
    } while (CpuSeconds() - start < settings.seconds / 2);
    rates.push_back(static_cast<double>(bytes) / 1e6 / (CpuSeconds() - start));
  }
  return Median(rates);
}

// Thousand rows a second of uniform random batches.
double Lookups(const Table& table, const Settings& settings, uint64_t seed, double* cpu_us) {
  Random random(seed);
  std::vector<uint64_t> rows(settings.batch);
  std::vector<float> out(settings.batch * settings.dim);
  uint64_t read = 0;
  const double start = Now();
  const double cpu = CpuSeconds();
  while (Now() - start < settings.seconds) {
    for (uint64_t& row : rows) row = random.Next() % settings.rows;
    Check(table.LookupRows(rows, {}, out.data()));
    read += rows.size();
  }
  *cpu_us = 1e6 * (CpuSeconds() - cpu) / static_cast<double>(read);
  return static_cast<double>(read) / 1e3 / (Now() - start);
}

}  // namespace

void BenchCompress(const Settings& settings) {
  const std::string directory = settings.directory + "/compress";
  std::filesystem::remove_all(directory);
  const std::array<std::string, 3> kinds = {"ordinary", "near", "smooth"};
  for (const char* word : {"INT8", "F16", "F32"}) {
    const CodecSpec codec = Take(CodecSpec::Parse(word));
    auto store = Take(Store::Create(directory));
    std::vector<Line> sizes, unpacking, lookups;
    for (const std::string& kind : kinds) {
      Write(store.get(), kind + " none", kind, codec, Compression::kNone, settings);
      Write(store.get(), kind + " zstd", kind, codec, Compression::kZstd, settings);
      Write(store.get(), kind + " auto", kind, codec, Compression::kAuto, settings);
      engine::ChunkPlan plan;
      const double rate = Unpacking(kind, codec, settings, &plan);
      unpacking.push_back({kind, rate, "MB/s a core",
                           std::to_string(plan.rows) + " rows a chunk, width " +
                               std::to_string(plan.form.width) +
                               (plan.form.delta ? ", delta" : "")});
      for (const char* wish : {" none", " zstd", " auto"}) {
        const TableInfo info = Take(store->OpenTable(kind + wish))->info();
        sizes.push_back({kind + wish,
                         static_cast<double>(info.chunk_file_bytes + info.key_file_bytes) / 1e6,
                         "MB", std::string(CompressionName(info.compression))});
      }
    }
    Print(settings, "compress", std::string("size on disk, ") + word, sizes);
    Print(settings, "compress", std::string("unpacking, ") + word, unpacking);
    std::vector<double> none, automatic;
    for (int round = 0; round < settings.rounds; ++round) {
      none.push_back(Write(store.get(), "import", "ordinary", codec, Compression::kNone, settings));
      automatic.push_back(
          Write(store.get(), "import", "ordinary", codec, Compression::kAuto, settings));
    }
    Print(settings, "compress", std::string("import of the ordinary table, ") + word,
          {{"none", 1e3 * Median(none), "CPU ms", ""},
           {"auto", 1e3 * Median(automatic), "CPU ms", ""}});
    store.reset();
    for (const uint32_t threads : {1u, 2u}) {
      const auto reading = Take(Store::Open(directory, ReadingOptions(/*direct=*/true, threads)));
      for (const std::string& kind : kinds) {
        const auto plain = Take(reading->OpenTable(kind + " none"));
        const auto packed = Take(reading->OpenTable(kind + " zstd"));
        std::vector<double> rates[2], cpus[2];
        for (int round = 0; round <= settings.rounds; ++round) {
          for (int i = 0; i < 2; ++i) {
            double cpu = 0;
            const double rate =
                Lookups(i == 0 ? *plain : *packed, settings, static_cast<uint64_t>(round), &cpu);
            if (round == 0) continue;  // opens files
            rates[i].push_back(rate);
            cpus[i].push_back(cpu);
          }
        }
        std::vector<Line> lines;
        for (int i = 0; i < 2; ++i) {
          char remark[64];
          std::snprintf(remark, sizeof remark, "%.1f us CPU a row", Median(cpus[i]));
          lines.push_back({i == 0 ? "none" : "zstd", Median(rates[i]), "krows/s", remark});
        }
        Print(settings, "compress",
              "cold lookups, " + kind + ", " + word + ", " + std::to_string(threads) +
                  " reading thread" + (threads == 1 ? "" : "s"),
              lines);
      }
    }
    std::filesystem::remove_all(directory);
  }
}

}  // namespace edo::bench
