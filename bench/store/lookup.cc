// Workloads `lookupcold` and `lookupwarm`: random rows, batch after batch, variants interleaved.
#include <filesystem>
#include <memory>
#include <span>
#include <thread>
#include <utility>

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
    // Several callers read for a while, not for one batch: their starts and ends cost something.
    const size_t batches = peer_->callers() == 1 ? 1 : 8 * peer_->callers();
    std::vector<uint64_t> rows(settings.batch * batches);
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
  OurTable(const std::string& directory, const StoreOptions& options)
      : OurTable(std::shared_ptr<Store>(Take(Store::Open(directory, options)))) {}
  explicit OurTable(std::shared_ptr<Store> store)
      : store_(std::move(store)), table_(Take(store_->OpenOnlyTable())) {}
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
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<Table> table_;
  std::vector<float> out_;
};

// Several callers at once, each with batches of its own.
class Callers : public RowPeer {
 public:
  Callers(std::vector<std::unique_ptr<RowPeer>> peers, size_t batch)
      : peers_(std::move(peers)), batch_(batch) {}
  size_t callers() const override { return peers_.size(); }
  void ReadBatch(std::span<const uint64_t> rows) override {
    const size_t share = rows.size() / peers_.size();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < peers_.size(); ++i) {
      threads.emplace_back([this, own = rows.subspan(i * share, share), i] {
        for (size_t begin = 0; begin < own.size(); begin += batch_) {
          peers_[i]->ReadBatch(own.subspan(begin, std::min(batch_, own.size() - begin)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  const std::vector<std::unique_ptr<RowPeer>> peers_;
  const size_t batch_;
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

void Run(const Settings& settings, const std::string& workload, const std::string& title,
         std::vector<Variant>* variants) {
  for (Variant& v : *variants) v.Round(settings, 7);  // warm up what can be warm
  for (int round = 0; round < settings.rounds; ++round) {
    for (Variant& v : *variants) v.Round(settings, 100 + static_cast<uint64_t>(round));
  }
  std::vector<Line> lines;
  for (const Variant& v : *variants) lines.push_back(v.Result());
  Print(settings, workload, title, lines);
}

}  // namespace

void BenchLookupCold(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  TableInfo info;
  {
    const auto store = Take(Store::Open(directory, {.read_only = true}));
    info = store->Tables()[0];
  }
  const std::string chunks = LargestChunkFile(directory);
  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, const StoreOptions& options) {
    variants.emplace_back(name, std::make_unique<OurTable>(directory, options));
  };
  const auto add_callers = [&](const std::string& name, size_t callers, const auto& make) {
    std::vector<std::unique_ptr<RowPeer>> peers;
    for (size_t i = 0; i < callers; ++i) peers.push_back(make());
    variants.emplace_back(name, std::make_unique<Callers>(std::move(peers), settings.batch));
  };
  StoreOptions multiget = ReadingOptions(/*direct=*/true, 1);
  multiget.chunk_files_directly = false;
  StoreOptions no_uring = ReadingOptions(true, 1);
  no_uring.io_uring = false;
  variants.emplace_back("raw file, io_uring 4K, depth 128 (limit)",
                        MakeRawReader(chunks, info.chunk_rows, 128));
  variants.emplace_back("raw file, io_uring 4K, depth 32",
                        MakeRawReader(chunks, info.chunk_rows, 32));
  add_callers("raw file, depth 128, 2 callers", 2,
              [&] { return MakeRawReader(chunks, info.chunk_rows, 128); });
  add("EDO, SST by arithmetic, 1 reading thread", ReadingOptions(true, 1));
  add("EDO, SST by arithmetic, 2 reading threads", ReadingOptions(true, 2));
  add("EDO, as it comes", ReadingOptions(true, 0));
  // One store, as a program has it: the callers share its rings.
  auto shared = std::shared_ptr<Store>(Take(Store::Open(directory, ReadingOptions(true, 1))));
  add_callers("EDO, SST by arithmetic, 2 callers", 2,
              [&] { return std::make_unique<OurTable>(shared); });
  add("EDO, MultiGet over io_uring, 1 reading thread", multiget);
  multiget.read_threads = 2;
  add("EDO, MultiGet over io_uring, 2 reading threads", multiget);
  multiget.read_threads = 4;
  add("EDO, MultiGet over io_uring, 4 reading threads", multiget);
  add("EDO without io_uring", no_uring);
  variants.emplace_back("RocksDB as shipped, MultiGet, same files",
                        MakeStockRocksdb(directory, info.generation, info.chunk_rows, true));
  if (auto lmdb = MakeLmdb(settings.directory + "/lmdb", settings.rows,
                           static_cast<uint32_t>(info.row_bytes), true)) {
    variants.emplace_back("LMDB, one row a key, NORDAHEAD", std::move(lmdb));
  } else {
    SayLeftOut(settings, "lookupcold", "LMDB", "no liblmdb in this build");
  }
  variants.emplace_back(
      "fp32 file, mmap, MADV_RANDOM",
      MakeMappedRows(settings.directory + "/rows.f32", settings.rows, settings.dim));
  Run(settings, "lookupcold",
      "uniform random rows, O_DIRECT (LMDB, mmap: dropped from the page cache)", &variants);
  const Stats stats = shared->stats();
  std::printf(
      "  2 callers: %s; %llu chunks by address, %llu by MultiGet, mean queue depth %.0f%s\n",
      stats.read_path.c_str(), static_cast<unsigned long long>(stats.chunks_by_address),
      static_cast<unsigned long long>(stats.chunks_by_multiget),
      static_cast<double>(stats.read_depth_sum) /
          static_cast<double>(std::max<uint64_t>(stats.read_depth_samples, 1)),
      stats.read_path_note.empty() ? "" : ("; " + stats.read_path_note).c_str());
}

void BenchLookupWarm(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  std::vector<Variant> variants;
  variants.emplace_back("fp32 array in memory, gather (limit)",
                        std::make_unique<ArrayGather>(settings.rows, settings.dim));
  StoreOptions options = ReadingOptions(/*direct=*/false, 1);
  options.cache_bytes = settings.rows * (settings.dim + 64) * 2;
  auto cached = std::make_unique<OurTable>(directory, options);
  cached->Warm(settings.rows);
  variants.emplace_back("EDO, row cache, decoded to fp32", std::move(cached));
  options.cache_bytes = 0;
  variants.emplace_back("EDO, page cache, SST by arithmetic, decoded",
                        std::make_unique<OurTable>(directory, options));
  options.io_uring = false;
  variants.emplace_back("EDO, page cache, SST by arithmetic, pread",
                        std::make_unique<OurTable>(directory, options));
  options.io_uring = true;
  options.chunk_files_directly = false;
  variants.emplace_back("EDO, page cache, MultiGet, decoded to fp32",
                        std::make_unique<OurTable>(directory, options));
  variants.emplace_back(
      "RocksDB, INT8 row a key, MultiGet, block cache",
      MakeRocksdbBlockCache(settings.directory + "/blocks", settings.rows, settings.dim + 2));
  variants.emplace_back(
      "RocksDB, fp32 row a key, Get",
      MakeRocksdbRows(settings.directory + "/rows", settings.rows, settings.dim, false));
  if (auto lmdb = MakeLmdb(settings.directory + "/lmdb", settings.rows, settings.dim + 2, false)) {
    variants.emplace_back("LMDB, INT8 row a key", std::move(lmdb));
  }
  Run(settings, "lookupwarm", "uniform random rows, everything in memory", &variants);
}

}  // namespace edo::bench
