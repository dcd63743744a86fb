// Workloads over whole stores: `export` (a scan), `open`, `keys`, `tables`.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/store/bench_util.h"
#include "bench/store/peers.h"
#include "edo/store.h"
#include "edo/transfer.h"

namespace edo::bench {
namespace {

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t OpenFiles() {
  uint64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

double ReadFilesMBs(const std::string& directory) {
  std::vector<char> buffer(1 << 20);
  uint64_t bytes = 0;
  const double start = Now();
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst") continue;
    const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;) {
      bytes += static_cast<uint64_t>(n);
    }
    ::close(fd);
  }
  return static_cast<double>(bytes) / 1e6 / (Now() - start);
}

double MemoryCopyMBs() {
  std::vector<char> from(64 << 20, 'a'), to(64 << 20);
  const double start = Now();
  for (int i = 0; i < 4; ++i) std::memcpy(to.data(), from.data(), from.size());
  return 4.0 * static_cast<double>(from.size()) / 1e6 / (Now() - start);
}

std::string KeyOf(uint64_t i) {  // about 12 bytes on average
  char text[32];
  std::snprintf(text, sizeof text, "w%x%.*s", static_cast<uint32_t>(i * 2654435761u),
                static_cast<int>(i % 7), "abcdefg");
  return text;
}

}  // namespace

void BenchExport(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  const auto store = Take(Store::Open(directory, {.read_only = true}));
  const auto table = Take(store->OpenOnlyTable());
  const double code_mb = static_cast<double>(table->info().rows * table->info().row_bytes) / 1e6;
  std::vector<double> copy, files, scan, npy;
  for (int round = 0; round < std::max(1, settings.rounds / 3); ++round) {
    copy.push_back(MemoryCopyMBs());
    files.push_back(ReadFilesMBs(directory));
    double start = Now();
    auto rows = Take(table->Scan({}));
    ScanBatch batch;
    while (Take(rows->Next(&batch))) {
    }
    scan.push_back(code_mb / (Now() - start));
    start = Now();
    ExportOptions options;
    options.path = settings.directory + "/out.npy";
    options.format = "npy";
    options.force = true;
    Take(Export(*table, options));
    npy.push_back(code_mb / (Now() - start));
    std::filesystem::remove(options.path);
  }
  Print(settings, "export", "MB of codes a second (page cache warm)",
        {{"reading the store's files (limit)", Median(files), "MB/s", ""},
         {"memory copy", Median(copy), "MB/s", ""},
         {"EDO scan, decoded to fp32", Median(scan), "MB/s", ""},
         {"EDO export to .npy (fp32: 4 bytes a code)", Median(npy), "MB/s", ""}});
}

void BenchOpen(const Settings& settings) {
  const std::string directory = MakeStore(settings);
  std::vector<double> file, read_only, writable;
  for (int round = 0; round < settings.rounds; ++round) {
    double start = Now();
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      std::ifstream in(entry.path(), std::ios::binary);
      char byte = 0;
      in.read(&byte, 1);
    }
    file.push_back((Now() - start) * 1e3);
    start = Now();
    {
      const auto store = Take(Store::Open(directory, {.read_only = true}));
      const auto table = Take(store->OpenOnlyTable());
      read_only.push_back((Now() - start) * 1e3);
    }
    start = Now();
    const auto store = Take(Store::Open(directory));
    writable.push_back((Now() - start) * 1e3);
  }
  Print(settings, "open", "milliseconds (less is better)",
        {{"opening each file of the store, one byte", Median(file), "ms", ""},
         {"EDO, read-only, with its table", Median(read_only), "ms", ""},
         {"EDO, for writing", Median(writable), "ms", ""}});
}

void BenchKeys(const Settings& settings) {
  const std::string directory = settings.directory + "/keys";
  std::filesystem::remove_all(directory);
  const auto store = Take(Store::Create(directory));
  TableOptions options;
  options.key_kind = KeyKind::kText;
  options.dim = 1;
  const double cpu = CpuSeconds();
  auto writer = Take(store->CreateTable("words", options));
  uint64_t key_bytes = 0;
  for (uint64_t done = 0; done < settings.rows; done += 10000) {
    std::vector<std::string> keys;
    for (uint64_t i = done; i < std::min(done + 10000, settings.rows); ++i) {
      keys.push_back(KeyOf(i));
      key_bytes += keys.back().size();
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::vector<float> values(keys.size(), 1.0f);
    TableWriter::Rows rows;
    rows.values = values;
    rows.text_keys = views;
    Check(writer->Append(rows));
  }
  const TableInfo info = Take(writer->Commit());
  const double build = (CpuSeconds() - cpu) / static_cast<double>(settings.rows) * 1e6;
  const auto table = Take(store->OpenOnlyTable());
  std::vector<double> hit, miss;
  Random random(3);
  for (int round = 0; round < settings.rounds; ++round) {
    for (const bool present : {true, false}) {
      std::vector<std::string> keys;
      for (size_t i = 0; i < settings.batch; ++i) {
        keys.push_back(KeyOf(random.Next() % settings.rows) + (present ? "" : "?"));
      }
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      const double start = Now();
      Take(table->FindRows(std::span<const std::string_view>(views)));
      (present ? hit : miss).push_back((Now() - start) / static_cast<double>(settings.batch) * 1e6);
    }
  }
  std::printf("\nkeys: text key directory, both ways, %llu tokens of %.1f bytes on average\n",
              static_cast<unsigned long long>(settings.rows),
              static_cast<double>(key_bytes) / static_cast<double>(settings.rows));
  std::printf(
      "  %.2f bytes a token on disk; built in %.2f us CPU a row (all work of the row);\n"
      "  %.2f us a hit, %.2f us a miss (batches of %zu)\n",
      static_cast<double>(info.key_file_bytes) / static_cast<double>(settings.rows), build,
      Median(hit), Median(miss), settings.batch);
}

void BenchTables(const Settings& settings) {
  constexpr int kTables = 1000;
  const std::string directory = settings.directory + "/tables";
  std::filesystem::remove_all(directory);
  double start = Now();
  {
    const auto store = Take(Store::Create(directory));
    const std::vector<float> values(100 * 16, 1.0f);
    std::vector<int64_t> keys(100);
    for (int i = 0; i < 100; ++i) keys[static_cast<size_t>(i)] = i * 3;
    for (int t = 0; t < kTables; ++t) {
      TableOptions options;
      options.dim = 16;
      options.key_kind = KeyKind::kInt64;
      auto writer = Take(store->CreateTable("table" + std::to_string(t), options));
      TableWriter::Rows rows;
      rows.values = values;
      rows.int_keys = keys;
      Check(writer->Append(rows));
      Take(writer->Commit());
    }
  }
  const double make = Now() - start;
  std::printf("\ntables: %d int64 tables of 100 rows in one store\n", kTables);
  std::printf("  make: %.2f ms a table (durable each)\n", make / kTables * 1e3);
  for (const bool read_only : {true, false}) {
    std::vector<double> open;
    uint64_t memory = 0, files = 0;
    for (int round = 0; round < 5; ++round) {
      const uint64_t before = ResidentBytes();
      const uint64_t files_before = OpenFiles();
      start = Now();
      StoreOptions options;
      options.read_only = read_only;
      const auto store = Take(Store::Open(directory, options));
      open.push_back((Now() - start) * 1e3);
      const uint64_t now = ResidentBytes();
      if (round == 0) memory = now > before ? now - before : 0;
      files = OpenFiles() - files_before;
    }
    std::printf("  open %s: %.1f ms, %.1f MB resident, %llu files held\n",
                read_only ? "read-only" : "for writing", Median(open),
                static_cast<double>(memory) / 1e6, static_cast<unsigned long long>(files));
  }
  (void)settings;
}

}  // namespace edo::bench
