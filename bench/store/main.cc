// store_bench: named workloads over a whole store, each beside the physical limit and the peers
// measured in the same run.
//
//   import      bulk load, against per-row WriteBatch into RocksDB and a plain file write
//   lookupcold  random rows with O_DIRECT, against raw io_uring 4K reads, RocksDB's MultiGet as
//               Debian ships it, and LMDB
//   lookupwarm  random rows in the page cache, against a gather from an array, RocksDB and LMDB
//   prefetch    a loop that computes on batches, rows read ahead by a pipeline: how much of the
//               disk's time it hides, by the ratio of computing to reading
//   bulk        a whole stream of ids, against loops of lookups, RocksDB's MultiGet and LMDB
//   export      a scan of the table, against reading its files and a memory copy
//   open        opening the store
//   keys        a text key directory: size, hits and misses
//   tables      a thousand tables in one store: make, open, hold
//   compress    tables that shrink and one that does not: size, unpacking, import, cold lookups
//   quality     what the codecs do to the table of --file (not run unless named)
//
// Usage: store_bench [--workloads=a,b] [--dir=DIR] [--rows=N] [--dim=D] [--rounds=N] [--seconds=S]
//                    [--file=TABLE] [--csv=FILE] [--keep]
// --csv: each figure also as a line workload,variant,value,unit,ratio,remark; ratio: to the first
// line of its group, or what the remark says.
#include <filesystem>
#include <map>

#include "bench/store/bench_util.h"

namespace {

using edo::bench::Settings;

bool TakeFlag(std::string_view argument, std::string_view name, std::string* value) {
  if (!argument.starts_with(name)) return false;
  *value = argument.substr(name.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<std::string, void (*)(const Settings&)>> workloads{
      {"import", edo::bench::BenchImport},
      {"lookupcold", edo::bench::BenchLookupCold},
      {"lookupwarm", edo::bench::BenchLookupWarm},
      {"prefetch", edo::bench::BenchPrefetch},
      {"bulk", edo::bench::BenchBulk},
      {"export", edo::bench::BenchExport},
      {"open", edo::bench::BenchOpen},
      {"keys", edo::bench::BenchKeys},
      {"tables", edo::bench::BenchTables},
      {"compress", edo::bench::BenchCompress},
      {"quality", edo::bench::BenchQuality}};
  Settings settings;
  std::string wanted =
      "import,lookupcold,lookupwarm,prefetch,bulk,export,open,keys,tables,compress";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    std::string value;
    if (TakeFlag(argument, "--workloads=", &value)) {
      wanted = value;
    } else if (TakeFlag(argument, "--dir=", &value)) {
      settings.directory = value;
    } else if (TakeFlag(argument, "--rows=", &value)) {
      settings.rows = std::strtoull(value.c_str(), nullptr, 10);
    } else if (TakeFlag(argument, "--dim=", &value)) {
      settings.dim = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (TakeFlag(argument, "--rounds=", &value)) {
      settings.rounds = std::atoi(value.c_str());
    } else if (TakeFlag(argument, "--seconds=", &value)) {
      settings.seconds = std::atof(value.c_str());
    } else if (TakeFlag(argument, "--file=", &value)) {
      settings.file = value;
    } else if (TakeFlag(argument, "--csv=", &value)) {
      settings.csv = std::fopen(value.c_str(), "w");
      if (settings.csv == nullptr) {
        std::fprintf(stderr, "store_bench: cannot write '%s'\n", value.c_str());
        return 1;
      }
      std::fprintf(settings.csv, "workload,variant,value,unit,ratio,remark\n");
    } else if (argument == "--keep") {
      settings.keep = true;
    } else {
      std::fprintf(stderr,
                   "store_bench: unknown argument '%s'; see the top of bench/store/main.cc\n",
                   argv[i]);
      return 2;
    }
  }
  const bool own_directory = settings.directory.empty();
  if (own_directory) {
    settings.directory = (std::filesystem::temp_directory_path() / "edo_store_bench").string();
  }
  std::filesystem::create_directories(settings.directory);
  std::printf("rows %llu, dim %u (INT8, %u bytes a row), batches of %zu, medians of %d rounds\n",
              static_cast<unsigned long long>(settings.rows), settings.dim, settings.dim + 2,
              settings.batch, settings.rounds);
  for (const auto& [name, run] : workloads) {
    if (("," + wanted + ",").find("," + name + ",") != std::string::npos) run(settings);
  }
  if (settings.csv != nullptr) std::fclose(settings.csv);
  if (!settings.keep) std::filesystem::remove_all(settings.directory);
  return 0;
}
