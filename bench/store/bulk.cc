// Workload `bulk`: a stream of a million ids, cold, that a job wants whole: Table::BulkLookup
// against loops of lookups over the same stream, RocksDB's MultiGet on the same files, and LMDB.
// Loops are as fast at the stream's beginning as anywhere, so they run for a while of it only;
// LMDB, whose pages stay in the page cache, is dropped from it first and has as long.
//
// Peak memory is what the process held at most above what it held when the job began (VmHWM, which
// /proc/self/clear_refs resets): windows of keys and rows, whatever the length of the stream.
#include <malloc.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "bench/store/bench_util.h"
#include "bench/store/peers.h"
#include "edo/store.h"

namespace edo::bench {
namespace {

constexpr uint64_t kIds = 1'000'000;

uint64_t MemoryKiB(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + std::strlen(name), nullptr, 10);
  }
  return 0;
}

class PeakMemory {
 public:
  PeakMemory() {
    ::malloc_trim(0);  // what earlier jobs freed would hide what this one takes
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = MemoryKiB("VmHWM:");
  }
  double mib() const { return static_cast<double>(MemoryKiB("VmHWM:") - before_) / 1024; }

 private:
  uint64_t before_ = 0;
};

// Ids of a stream, by their place: the same in any order of asking, and nothing to keep.
class Ids {
 public:
  // Zipf: exponent 0.99, by the inverse of a continuous distribution; the ranks are scattered over
  // the table, as hot rows of a table in no order are.
  Ids(uint64_t rows, bool zipf) : rows_(rows), zipf_(zipf) {}
  uint64_t At(uint64_t place) const {
    const uint64_t bits = Random(place).Next();
    if (!zipf_) return bits % rows_;
    constexpr double kOneMinusS = 0.01;
    const double u = static_cast<double>(bits >> 11) * 0x1p-53;
    const double most = std::pow(static_cast<double>(rows_), kOneMinusS);
    const auto rank = static_cast<uint64_t>(std::pow(u * (most - 1) + 1, 1 / kOneMinusS)) - 1;
    return Random(std::min(rank, rows_ - 1)).Next() % rows_;
  }
  void Fill(uint64_t first, std::span<uint64_t> rows) const {
    for (uint64_t& row : rows) row = At(first++);
  }

 private:
  const uint64_t rows_;
  const bool zipf_;
};

struct Figures {
  std::vector<double> rates;  // thousand rows a second
  std::vector<double> device_mbs, peak_mib;
  std::string remark;
};

std::unique_ptr<Store> OpenStore(const std::string& directory) {
  return Take(Store::Open(directory, ReadingOptions(/*direct=*/true, 1)));
}

void RunBulk(const std::string& directory, const Ids& ids, uint64_t count, uint64_t window_bytes,
             Figures* figures) {
  const auto store = OpenStore(directory);
  const auto table = Take(store->OpenOnlyTable());
  uint64_t next = 0;
  const auto source = [&](KeyBatch* batch) -> Result<bool> {
    if (next == count) return false;
    batch->rows.resize(std::min<uint64_t>(4096, count - next));
    ids.Fill(next, batch->rows);
    next += batch->rows.size();
    return true;
  };
  float sum = 0;
  const auto sink = [&](const BulkRows& rows) {
    sum += rows.values[0];
    return Status::Ok();
  };
  BulkOptions options;
  options.window_bytes = window_bytes;
  BulkReport report;
  const PeakMemory peak;
  const double start = Now();
  Check(table->BulkLookup(source, options, sink, &report));
  const double seconds = Now() - start;
  const double peak_mib = peak.mib();
  if (report.found != count || std::isnan(sum)) Check(Status::Corruption("bulk: rows are missing"));
  figures->rates.push_back(static_cast<double>(count) / seconds / 1e3);
  const Stats stats = store->stats();
  figures->device_mbs.push_back(static_cast<double>(stats.device_bytes) / 1e6 / seconds);
  figures->peak_mib.push_back(peak_mib);
  char remark[160];
  std::snprintf(remark, sizeof remark,
                "%llu windows; %.0f chunks a window; %.0f MB/s; peak memory %.0f MiB",
                static_cast<unsigned long long>(report.windows),
                static_cast<double>(report.chunks) / static_cast<double>(report.windows),
                Median(figures->device_mbs), Median(figures->peak_mib));
  figures->remark = remark;
}

// The stream's beginning, `batch` ids at a time, for about `seconds`.
void RunLoop(const Ids& ids, size_t batch, double seconds,
             const std::function<void(std::span<const uint64_t>)>& read, Figures* figures) {
  std::vector<uint64_t> rows(batch);
  uint64_t done = 0;
  double spent = 0;
  do {
    ids.Fill(done, rows);
    const double start = Now();
    read(rows);
    spent += Now() - start;
    done += batch;
  } while (spent < seconds && done + batch <= kIds);
  figures->rates.push_back(static_cast<double>(done) / spent / 1e3);
  figures->remark = "the first " + std::to_string(done) + " ids";
}

void RunOurLoop(const std::string& directory, const Ids& ids, size_t batch, double seconds,
                Figures* figures) {
  const auto store = OpenStore(directory);
  const auto table = Take(store->OpenOnlyTable());
  std::vector<float> out(batch * table->info().dim);
  RunLoop(
      ids, batch, seconds,
      [&](std::span<const uint64_t> rows) { Check(table->LookupRows(rows, {}, out.data())); },
      figures);
}

void BenchStream(const Settings& settings, const std::string& directory, bool zipf) {
  TableInfo info;
  {
    const auto store = OpenStore(directory);
    info = store->Tables()[0];
  }
  const Ids ids(settings.rows, zipf);
  const double seconds = settings.seconds;
  struct Variant {
    std::string name;
    std::function<void(Figures*)> run;
    Figures figures{};
  };
  std::vector<Variant> variants;
  const auto add = [&](std::string name, std::function<void(Figures*)> run) {
    variants.push_back({std::move(name), std::move(run)});
  };
  add("EDO, LookupRows, a key at a time",
      [&](Figures* f) { RunOurLoop(directory, ids, 1, seconds, f); });
  add("EDO, LookupRows, batches of 4096",
      [&](Figures* f) { RunOurLoop(directory, ids, 4096, seconds, f); });
  const auto bulk = [&](uint64_t count, uint64_t mib) {
    return [&, count, mib](Figures* f) { RunBulk(directory, ids, count, mib << 20, f); };
  };
  add("EDO, BulkLookup", bulk(kIds, 256));
  add("EDO, BulkLookup, window of 64 MiB", bulk(kIds, 64));
  add("EDO, BulkLookup, window of 16 MiB", bulk(kIds, 16));
  add("EDO, BulkLookup, 4 times as many ids", bulk(4 * kIds, 256));
  add("EDO, BulkLookup, 4 times as many ids, window of 64 MiB", bulk(4 * kIds, 64));
  add("RocksDB as shipped, MultiGet of 4096, same files", [&](Figures* f) {
    const auto peer = MakeStockRocksdb(directory, info.generation, info.chunk_rows, true);
    RunLoop(
        ids, 4096, seconds, [&](std::span<const uint64_t> rows) { peer->ReadBatch(rows); }, f);
  });
  auto lmdb = MakeLmdb(settings.directory + "/lmdb", settings.rows,
                       static_cast<uint32_t>(info.row_bytes), true);
  if (lmdb) {
    add("LMDB, one row a key, NORDAHEAD", [&](Figures* f) {
      lmdb->Prepare();
      RunLoop(
          ids, 4096, seconds, [&](std::span<const uint64_t> rows) { lmdb->ReadBatch(rows); }, f);
    });
  } else {
    SayLeftOut(settings, zipf ? "bulk zipf" : "bulk uniform", "LMDB", "no liblmdb in this build");
  }
  std::vector<double> limit;
  for (int round = 0; round < settings.rounds; ++round) {
    limit.push_back(ReadThroughMBs(directory));
    for (Variant& v : variants) v.run(&v.figures);
  }
  std::vector<Line> lines;
  for (const Variant& v : variants) {
    lines.push_back({v.name, Median(v.figures.rates), "krows/s", v.figures.remark});
  }
  const char* const name = zipf ? "bulk zipf" : "bulk uniform";
  Print(settings, name,
        zipf ? "1,000,000 ids, Zipf 0.99, O_DIRECT" : "1,000,000 ids, uniform, O_DIRECT", lines);
  const Line files{"limit: the store's files read through, O_DIRECT", Median(limit), "MB/s", ""};
  std::printf("  %s: %.0f MB/s\n", files.what.c_str(), files.value);
  WriteCsv(settings, name, files, 1);
}

}  // namespace

void BenchBulk(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  for (const bool zipf : {false, true}) BenchStream(settings, directory, zipf);
}

}  // namespace edo::bench
