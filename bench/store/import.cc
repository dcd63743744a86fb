// Workload `import`: bulk load of generated rows, and making the store that others read.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "bench/store/bench_util.h"
#include "bench/store/peers.h"
#include "edo/store.h"

namespace edo::bench {
namespace {

// Rows are made once and repeated: making them must not be what is measured.
std::vector<float> SomeRows(uint64_t count, uint32_t dim) {
  std::vector<float> values(count * dim);
  Random random(1);
  for (float& v : values) v = random.Normal();
  return values;
}

double LoadOnce(Store* store, const std::string& name, uint64_t rows, uint32_t dim,
                const std::vector<float>& values) {
  TableOptions options;
  options.dim = dim;
  options.codec = Take(CodecSpec::Parse("INT8"));
  options.replace = true;
  const double start = Now();
  auto writer = Take(store->CreateTable(name, options));
  const uint64_t step = values.size() / dim;
  for (uint64_t done = 0; done < rows; done += step) {
    const uint64_t n = std::min(step, rows - done);
    Check(writer->Append({.values = std::span(values).first(n * dim)}));
  }
  Take(writer->Commit());
  return Now() - start;
}

// Rows that are encoded already (as from an archive): the storage path alone, as for WriteBatch.
double LoadCodesOnce(Store* store, uint64_t rows, uint32_t dim) {
  TableOptions options;
  options.dim = dim;
  options.codec = Take(CodecSpec::Parse("INT8"));
  const uint64_t row_bytes = options.codec.RowBytes(dim);
  const uint64_t step = 4096;
  std::vector<std::byte> codes(step * row_bytes, std::byte{3});
  const double start = Now();
  auto writer = Take(store->CreateTable("codes", options));
  for (uint64_t done = 0; done < rows; done += step) {
    const uint64_t n = std::min(step, rows - done);
    Check(writer->AppendCodes(std::span(codes).first(n * row_bytes), {}));
  }
  Take(writer->Commit());
  return Now() - start;
}

double PlainWriteMBs(const std::string& path, uint64_t bytes) {
  const std::vector<char> block(1 << 20, 'x');
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const double start = Now();
  for (uint64_t done = 0; done < bytes; done += block.size()) {
    if (::write(fd, block.data(), block.size()) < 0) Check(Status::IoError("write"));
  }
  ::fsync(fd);
  const double seconds = Now() - start;
  ::close(fd);
  std::filesystem::remove(path);
  return static_cast<double>(bytes) / 1e6 / seconds;
}

}  // namespace

std::string MakeStore(const Settings& settings) {
  const std::string directory = settings.directory + "/store";
  if (Store::Exists(directory)) return directory;
  const auto store = Take(Store::Create(directory));
  const std::vector<float> values = SomeRows(65536, settings.dim);
  LoadOnce(store.get(), "t", settings.rows, settings.dim, values);
  return directory;
}

void BenchImport(const Settings& settings) {
  const uint64_t row_bytes = settings.dim + 2;
  const double mb = static_cast<double>(settings.rows * row_bytes) / 1e6;
  const std::vector<float> values = SomeRows(65536, settings.dim);
  std::vector<double> plain, ours, codes, batch;
  const int rounds = std::max(1, settings.rounds / 3);
  for (int round = 0; round < rounds; ++round) {
    const std::string directory = settings.directory + "/import";
    std::filesystem::remove_all(directory);
    plain.push_back(PlainWriteMBs(settings.directory + "/plain", settings.rows * row_bytes));
    {
      const auto store = Take(Store::Create(directory));
      ours.push_back(mb / LoadOnce(store.get(), "t", settings.rows, settings.dim, values));
    }
    std::filesystem::remove_all(directory);
    {
      const auto store = Take(Store::Create(directory));
      codes.push_back(mb / LoadCodesOnce(store.get(), settings.rows, settings.dim));
    }
    std::filesystem::remove_all(directory);
    batch.push_back(RocksdbWriteBatchMBs(settings.directory + "/batch", settings.rows,
                                         static_cast<uint32_t>(row_bytes)));
  }
  Print(settings, "import",
        "MB of codes a second, durable at the end (limit: a plain file, written and synced)",
        {{"plain file, write + fsync", Median(plain), "MB/s", ""},
         {"EDO, bulk load of codes", Median(codes), "MB/s",
          "x" + std::to_string(Median(codes) / Median(batch)) + " of WriteBatch"},
         {"EDO, bulk load of fp32 rows, encoded INT8", Median(ours), "MB/s",
          "x" + std::to_string(Median(ours) / Median(batch)) + " of WriteBatch"},
         {"RocksDB, WriteBatch of rows, log, compacted", Median(batch), "MB/s", ""}});
  const std::string directory = MakeStore(settings);
  const auto store = Take(Store::Open(directory, {.read_only = true}));
  const TableInfo info = store->Tables()[0];
  std::printf(
      "  file size / codes: %.4f (%llu rows of %llu bytes, dense keys)\n",
      static_cast<double>(info.chunk_file_bytes) / static_cast<double>(info.rows * info.row_bytes),
      static_cast<unsigned long long>(info.rows), static_cast<unsigned long long>(info.row_bytes));
}

}  // namespace edo::bench
