// A store that is several times larger than the memory it is served in. small_memory.sh runs this
// under a limit; it is no part of engine_tests, whose other tests need more.
//
//   small_memory build DIRECTORY ROWS    a table of rows made from their number, F32, 128 bytes
//   each small_memory serve DIRECTORY         random batches, a pipeline and a bulk lookup, every
//   row
//                                        compared to the bit, with and without the page cache
//
// Exit codes: 0, 1 (an error or a wrong row, named on standard error). Rates are for the reader.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edo/store.h"

namespace {

constexpr uint32_t kDim = 32;
constexpr size_t kBatch = 4096;

uint64_t Mix(uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 32);
}
void MakeRow(uint64_t row, float* values) {
  for (uint32_t c = 0; c < kDim; c += 2) {
    const uint64_t bits = Mix(row * kDim + c);
    values[c] = static_cast<float>(static_cast<int32_t>(bits)) / 65536.0f;
    values[c + 1] = static_cast<float>(static_cast<int32_t>(bits >> 32)) / 65536.0f;
  }
}

void Check(const edo::Status& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "small_memory: %s\n", s.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Take(edo::Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

void CheckRows(std::span<const uint64_t> rows, const float* values) {
  float expected[kDim];
  for (size_t i = 0; i < rows.size(); ++i) {
    MakeRow(rows[i], expected);
    if (std::memcmp(expected, values + i * kDim, sizeof expected) == 0) continue;
    std::fprintf(stderr, "small_memory: row %llu is wrong\n",
                 static_cast<unsigned long long>(rows[i]));
    std::exit(1);
  }
}

void Build(const std::string& directory, uint64_t rows) {
  {
    const auto store = Take(edo::Store::Create(directory));
    edo::TableOptions options;
    options.dim = kDim;
    options.codec = Take(edo::CodecSpec::Parse("F32"));
    const auto writer = Take(store->CreateTable("t", options));
    std::vector<float> values(kBatch * kDim);
    for (uint64_t row = 0; row < rows;) {
      const uint64_t count = std::min<uint64_t>(kBatch, rows - row);
      for (uint64_t i = 0; i < count; ++i) MakeRow(row++, &values[i * kDim]);
      Check(writer->Append({.values = std::span(values).first(count * kDim)}));
    }
    Take(writer->Commit());
  }
  // What the page cache holds of it was charged to the builder: the server is to pay for its own.
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ::fdatasync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  }
}

void Fill(std::vector<uint64_t>* rows, uint64_t seed, uint64_t table_rows) {
  for (size_t i = 0; i < rows->size(); ++i) (*rows)[i] = Mix(seed * kBatch + i) % table_rows;
}

void Say(const char* what, uint64_t rows, std::chrono::steady_clock::time_point start) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("  %s: %llu rows, all right, %.0f thousand a second\n", what,
              static_cast<unsigned long long>(rows), static_cast<double>(rows) / seconds / 1e3);
}

void Serve(const std::string& directory, bool direct) {
  edo::StoreOptions options;
  options.read_only = true;
  options.direct_reads = direct;
  options.cache_bytes = uint64_t{16} << 20;
  options.prefetch_bytes = uint64_t{16} << 20;
  const auto store = Take(edo::Store::Open(directory, options));
  const auto table = Take(store->OpenOnlyTable());
  const uint64_t table_rows = table->info().rows;
  std::printf("direct_reads %s, a store of %llu MB\n", direct ? "on" : "off",
              static_cast<unsigned long long>(table->info().chunk_file_bytes / 1000000));
  std::vector<uint64_t> rows(kBatch);
  std::vector<float> values(kBatch * kDim);

  auto start = std::chrono::steady_clock::now();
  for (uint64_t batch = 0; batch < 50; ++batch) {
    Fill(&rows, batch, table_rows);
    Check(table->LookupRows(rows, {}, values.data()));
    CheckRows(rows, values.data());
  }
  Say("random batches", 50 * kBatch, start);

  start = std::chrono::steady_clock::now();
  const auto source = [&](uint64_t first, uint64_t batches) {
    return [=, next = first](edo::KeyBatch* batch) mutable -> edo::Result<bool> {
      if (next == first + batches) return false;
      batch->rows.resize(kBatch);
      Fill(&batch->rows, next++, table_rows);
      return true;
    };
  };
  const auto pipeline = Take(table->MakePipeline(source(1000, 50), {.depth = 2}));
  for (const edo::PipelineBatch& batch : *pipeline) {
    Check(batch.status);
    CheckRows(batch.keys->rows, batch.values.data());
  }
  Check(pipeline->status());
  Say("pipeline", 50 * kBatch, start);

  start = std::chrono::steady_clock::now();
  edo::BulkOptions bulk;
  bulk.window_bytes = uint64_t{24} << 20;
  edo::BulkReport report;
  Check(table->BulkLookup(
      source(2000, 150), bulk,
      [](const edo::BulkRows& piece) {
        CheckRows(std::span(piece.keys->rows).subspan(piece.first_in_batch, piece.count),
                  piece.values.data());
        return edo::Status::Ok();
      },
      &report));
  if (report.found != 150 * kBatch) Check(edo::Status::Corruption("the bulk lookup lost rows"));
  Say("bulk lookup", report.found, start);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "build") == 0) {
    Build(argv[2], std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "serve") == 0) {
    for (const bool direct : {false, true}) Serve(argv[2], direct);
    return 0;
  }
  std::fprintf(stderr, "usage: small_memory build DIRECTORY ROWS | serve DIRECTORY\n");
  return 2;
}
