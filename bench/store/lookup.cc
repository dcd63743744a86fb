// Workloads `lookupcold` and `lookupwarm`: random rows, batch after batch, variants interleaved.
#include <filesystem>
#include <memory>

#include "bench/store/bench_util.h"
#include "bench/store/peers.h"
#include "edo/store.h"

namespace edo::bench {
namespace {

class Variant {
 public:
  Variant(std::string name, std::unique_ptr<RowPeer> peer)
      : name_(std::move(name)), peer_(std::move(peer)) {}
  // Runs for about `seconds`, at least one batch.
  void Round(const Settings& settings, uint64_t seed) {
    Random random(seed);
    std::vector<uint64_t> rows(settings.batch);
    uint64_t done = 0;
    double cpu = 0;
    double seconds = 0;
    do {
      for (uint64_t& row : rows) row = random.Next() % settings.rows;
      peer_->Prepare();
      const double cpu_start = CpuSeconds();
      const double start = Now();
      peer_->ReadBatch(rows);
      seconds += Now() - start;
      cpu += CpuSeconds() - cpu_start;
      done += rows.size();
    } while (seconds < settings.seconds);
    rates_.push_back(static_cast<double>(done) / seconds / 1e3);
    cpu_.push_back(cpu / static_cast<double>(done) * 1e6);
  }
  Line Result() const {
    char remark[64];
    std::snprintf(remark, sizeof remark, "%.2f us CPU a row", Median(cpu_));
    return {name_, Median(rates_), "krows/s", remark};
  }

 private:
  std::string name_;
  std::unique_ptr<RowPeer> peer_;
  std::vector<double> rates_, cpu_;
};

class OurTable : public RowPeer {
 public:
  OurTable(const std::string& directory, bool direct, bool uring, uint32_t threads = 1,
           uint64_t cache_bytes = 0) {
    StoreOptions options;
    options.read_only = true;
    options.direct_reads = direct;
    options.io_uring = uring;
    options.read_threads = threads;
    options.cache_bytes = cache_bytes;
    store_ = Take(Store::Open(directory, options));
    table_ = Take(store_->OpenOnlyTable());
  }
  void ReadBatch(std::span<const uint64_t> rows) override {
    out_.resize(rows.size() * table_->info().dim);
    Check(table_->LookupRows(rows, {}, out_.data()));
  }
  // Reads every row twice.
  void Warm(uint64_t count) {
    std::vector<uint64_t> rows;
    for (uint64_t row = 0; row < 2 * count; ++row) {
      rows.push_back(row % count);
      if (rows.size() < 4096 && row + 1 < 2 * count) continue;
      ReadBatch(rows);
      rows.clear();
    }
  }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Table> table_;
  std::vector<float> out_;
};

class ArrayGather : public RowPeer {
 public:
  ArrayGather(uint64_t rows, uint32_t dim) : dim_(dim), values_(rows * dim, 1.0f) {}
  void ReadBatch(std::span<const uint64_t> rows) override {
    out_.resize(rows.size() * dim_);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(&out_[i * dim_], &values_[rows[i] * dim_], dim_ * sizeof(float));
    }
  }

 private:
  const uint64_t dim_;
  std::vector<float> values_, out_;
};

std::string LargestChunkFile(const std::string& directory) {
  std::string best;
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".sst" && entry.file_size() > bytes) {
      bytes = entry.file_size();
      best = entry.path().string();
    }
  }
  return best;
}

void Run(const std::string& title, const Settings& settings, std::vector<Variant>* variants) {
  for (Variant& v : *variants) v.Round(settings, 7);  // warm up what can be warm
  for (int round = 0; round < settings.rounds; ++round) {
    for (Variant& v : *variants) v.Round(settings, 100 + static_cast<uint64_t>(round));
  }
  std::vector<Line> lines;
  for (const Variant& v : *variants) lines.push_back(v.Result());
  Print(title, lines);
}

}  // namespace

void BenchLookupCold(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  TableInfo info;
  {
    const auto store = Take(Store::Open(directory, {.read_only = true}));
    info = store->Tables()[0];
  }
  std::vector<Variant> variants;
  variants.emplace_back("raw file, io_uring 4K, depth 128 (limit)",
                        MakeRawReader(LargestChunkFile(directory), info.chunk_rows, 128));
  variants.emplace_back("raw file, io_uring 4K, depth 32",
                        MakeRawReader(LargestChunkFile(directory), info.chunk_rows, 32));
  variants.emplace_back("EDO, MultiGet over io_uring, 1 thread",
                        std::make_unique<OurTable>(directory, true, true, 1));
  variants.emplace_back("EDO, as it comes (4 reading threads)",
                        std::make_unique<OurTable>(directory, true, true, 0));
  variants.emplace_back("EDO without io_uring", std::make_unique<OurTable>(directory, true, false));
  variants.emplace_back("RocksDB as shipped, MultiGet, same files",
                        MakeStockRocksdb(directory, info.generation, info.chunk_rows, true));
  if (auto lmdb = MakeLmdb(settings.directory + "/lmdb", settings.rows,
                           static_cast<uint32_t>(info.row_bytes), true)) {
    variants.emplace_back("LMDB, one row a key, NORDAHEAD", std::move(lmdb));
  }
  Run("lookupcold: uniform random rows, O_DIRECT (LMDB: dropped from the page cache)", settings,
      &variants);
}

void BenchLookupWarm(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  std::vector<Variant> variants;
  variants.emplace_back("fp32 array in memory, gather (limit)",
                        std::make_unique<ArrayGather>(settings.rows, settings.dim));
  auto cached = std::make_unique<OurTable>(directory, false, true, 1,
                                           settings.rows * (settings.dim + 64) * 2);
  cached->Warm(settings.rows);
  variants.emplace_back("EDO, row cache, decoded to fp32", std::move(cached));
  variants.emplace_back("EDO, page cache, decoded to fp32",
                        std::make_unique<OurTable>(directory, false, true));
  variants.emplace_back("EDO, page cache, pread",
                        std::make_unique<OurTable>(directory, false, false));
  variants.emplace_back(
      "RocksDB, INT8 row a key, MultiGet, block cache",
      MakeRocksdbBlockCache(settings.directory + "/blocks", settings.rows, settings.dim + 2));
  variants.emplace_back(
      "RocksDB, fp32 row a key, Get",
      MakeRocksdbRows(settings.directory + "/rows", settings.rows, settings.dim, false));
  if (auto lmdb = MakeLmdb(settings.directory + "/lmdb", settings.rows, settings.dim + 2, false)) {
    variants.emplace_back("LMDB, INT8 row a key", std::move(lmdb));
  }
  Run("lookupwarm: uniform random rows, everything in memory", settings, &variants);
}

}  // namespace edo::bench
