// cache_bench: what the row cache costs, and simulations behind its choices.
//
//   cache   probe, gather and decode against a plain gather from an array
//   policy  hit rates of the cache's scores and admission, against LRU, LFU, S3-FIFO, W-TinyLFU and
//           Belady's optimum
//   lookahead  hit rates of the cache when its next batches are known, against Belady's optimum
//   zorder  bytes that an L2 cache reads from memory for gathers, by the layout of a block of slots
//
// Usage: cache_bench [--workloads=a,b] [--rows=N] [--accesses=N] [--capacities=P,P] [--check]
// --check prints whether each target is met and exits with 1 when one is not.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "bench/cache/cache_bench.h"

namespace edo::bench {

bool Verdict(bool passed, const std::string& what) {
  std::printf("%s %s\n", passed ? "PASS" : "FAIL", what.c_str());
  return passed;
}

}  // namespace edo::bench

namespace {

bool TakeFlag(std::string_view argument, std::string_view name, std::string* value) {
  if (!argument.starts_with(name)) return false;
  *value = argument.substr(name.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<std::string, bool (*)(const edo::bench::CacheSettings&)>> workloads{
      {"cache", edo::bench::RunHitPath},
      {"policy", edo::bench::RunPolicy},
      {"lookahead", edo::bench::RunLookahead},
      {"zorder", edo::bench::RunZorder}};
  edo::bench::CacheSettings settings;
  std::string wanted = "cache,policy,lookahead,zorder";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    std::string value;
    if (TakeFlag(argument, "--workloads=", &value)) {
      wanted = value;
    } else if (TakeFlag(argument, "--rows=", &value)) {
      settings.rows = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (TakeFlag(argument, "--accesses=", &value)) {
      settings.accesses = std::strtoull(value.c_str(), nullptr, 10);
    } else if (TakeFlag(argument, "--capacities=", &value)) {
      settings.capacities.clear();
      std::stringstream list(value);
      for (std::string item; std::getline(list, item, ',');) {
        settings.capacities.push_back(std::atof(item.c_str()));
      }
    } else if (argument == "--check") {
      settings.check = true;
    } else {
      std::fprintf(stderr,
                   "cache_bench: unknown argument '%s'; see the top of bench/cache/main.cc\n",
                   argv[i]);
      return 2;
    }
  }
  bool passed = true;
  for (const auto& [name, run] : workloads) {
    if (("," + wanted + ",").find("," + name + ",") != std::string::npos) {
      passed &= run(settings);
    }
  }
  return passed ? 0 : 1;
}
