// The hit path on a GPU: ProbeGather, ProbePool and Gather against a device-to-device copy and a
// naive gather of float rows. One line a measurement; medians of 20 launches timed by events, after
// 3 that are not counted. Without a GPU it says why and exits 77.
//
//   gpu_gather_bench            everything
//   gpu_gather_bench --layouts  only the kernels that read half rows from three layouts, once each,
//                               for a profiler to count sectors
//
// Bytes moved are the useful ones: ids, tags (64 bytes a row), the entry (8), codes, output. An
// entry costs the memory a sector of 32, so the memory moves 24 bytes a row more than is counted.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/morton.h"
#include "kernels/row_layout.h"
#include "kernels/score.h"

namespace {

using namespace edo::kernels;  // NOLINT: a benchmark of these
using edo::FloatType;
using edo::FloatTypeBytes;

constexpr int kLaunches = 20;
constexpr uint32_t kClock = 7;
constexpr uint32_t kIds = 1u << 22;
constexpr uint32_t kBag = 50;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
void Check(const edo::Status& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "%s\n", s.ToString().c_str());
  std::exit(1);
}

template <class T>
struct Device {
  explicit Device(uint64_t count) : count(count) {
    Check(cudaMalloc(&p, count * sizeof(T)), "cudaMalloc");
    Check(cudaMemset(p, 0, count * sizeof(T)), "cudaMemset");
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    Check(cudaMemcpy(p, values.data(), count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Device() { cudaFree(p); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  T* p = nullptr;
  uint64_t count;
};

// Median milliseconds of a launch.
double Median(const std::function<void()>& launch) {
  cudaEvent_t begin, end;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int i = 0; i < 3 + kLaunches; ++i) {
    Check(cudaEventRecord(begin), "event");
    launch();
    Check(cudaEventRecord(end), "event");
    Check(cudaEventSynchronize(end), "launch");
    float ms = 0;
    Check(cudaEventElapsedTime(&ms, begin, end), "event");
    if (i >= 3) times.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// ---- a full cache ----------------------------------------------------------------------------

// With 2^k blocks and groups of one, the upper k bits of the mixed position are the block, so the
// position of slot j of block b is known and every slot can be filled: load factor 1.
__host__ __device__ inline uint64_t PositionAt(uint64_t slot, int block_bits) {
  const uint64_t mixed = slot / kSlots << (kPositionBits - block_bits) | (slot % kSlots) * 0x01357;
  return Unmix(mixed, kPositionBits);
}

__device__ uint32_t Bits(uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return static_cast<uint32_t>(x >> 32);
}

__global__ void FillCacheKernel(BlockView blocks, int block_bits, uint32_t code_bytes) {
  const uint64_t slots = blocks.blocks * kSlots;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < slots;
       i += uint64_t{gridDim.x} * blockDim.x) {
    const Place place = PlaceOf(PositionAt(i, block_bits), blocks.blocks, blocks.group_shift);
    std::byte* const entry = blocks.Entry(i / kSlots, i % kSlots);
    *reinterpret_cast<uint32_t*>(entry + kEntryHighTag) = place.high_tag;
    // Hot, so that a touch changes nothing: the hit path as it is for hot rows.
    *reinterpret_cast<uint16_t*>(entry + kEntryScore) = MakeScore(kMostValue, kClock);
    if (blocks.shape.entry_bytes >= kEntrySide + 2) {
      *reinterpret_cast<uint16_t*>(entry + kEntrySide) = 0x3c00;  // scale 2^-7
    }
    blocks.LowTags(i / kSlots)[i % kSlots] = place.low_tag;
    for (uint32_t at = 0; at < code_bytes; at += 4) {
      *reinterpret_cast<uint32_t*>(blocks.Payload(i / kSlots) + blocks.CodeOffset(i % kSlots, at)) =
          Bits(i * 4096 + at);
    }
  }
}

// The same rows as an array, 16-byte aligned, for Gather.
__global__ void FillRowsKernel(std::byte* rows, uint64_t count, uint64_t stride,
                               uint32_t code_bytes) {
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += uint64_t{gridDim.x} * blockDim.x) {
    for (uint32_t at = 0; at < code_bytes; at += 4) {
      *reinterpret_cast<uint32_t*>(rows + i * stride + at) = Bits(i * 4096 + at);
    }
    *reinterpret_cast<uint16_t*>(rows + i * stride + code_bytes) = 0x3c00;
  }
}

// What anyone writes first: a warp a row, a float a lane.
__global__ void NaiveGatherKernel(const float* rows, const uint32_t* ids, uint32_t count,
                                  uint32_t dim, float* out) {
  const uint64_t warps = uint64_t{gridDim.x} * (blockDim.x / 32);
  for (uint64_t i = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < count; i += warps) {
    for (uint32_t c = threadIdx.x % 32; c < dim; c += 32) {
      out[i * dim + c] = rows[uint64_t{ids[i]} * dim + c];
    }
  }
}

// ---- half rows from three layouts --------------------------------------------------------------

enum class Layout { kRowMajor, kZOrder, kPlaneMajor };

constexpr uint32_t kCell = 32;    // bytes
constexpr uint32_t kColumns = 4;  // cells of a row: 128 bytes
constexpr uint32_t kHalf = kColumns / 2;

template <Layout kLayout>
__device__ uint64_t CellAt(uint64_t slot, uint32_t column, uint64_t slots) {
  if constexpr (kLayout == Layout::kRowMajor) return (slot * kColumns + column) * kCell;
  if constexpr (kLayout == Layout::kPlaneMajor) return (column * slots + slot) * kCell;
  return (slot / kSlots * kSlots * kColumns +
          MortonCell(static_cast<uint32_t>(slot % kSlots), column, kColumns)) *
         kCell;
}

// Four lanes a half row, 16 bytes a lane.
template <Layout kLayout>
__global__ void HalfRowKernel(const std::byte* codes, uint64_t slots, const uint32_t* ids,
                              uint32_t count, uint32_t* out) {
  const uint64_t lanes = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t t = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < uint64_t{count} * 4;
       t += lanes) {
    const auto at = static_cast<uint32_t>(t % 4) * 16;
    const uint4 v = __ldcg(reinterpret_cast<const uint4*>(
        codes + CellAt<kLayout>(ids[t / 4], at / kCell, slots) + at % kCell));
    out[t] = v.x ^ v.y ^ v.z ^ v.w;
  }
}

template <Layout kLayout>
void MeasureLayout(const char* name, const char* pattern, const std::vector<uint32_t>& ids,
                   uint64_t slots, const Device<std::byte>& codes, bool once) {
  const Device<uint32_t> device_ids(ids);
  const Device<uint32_t> out(uint64_t{ids.size()} * 4);
  const auto launch = [&] {
    HalfRowKernel<kLayout>
        <<<4096, 256>>>(codes.p, slots, device_ids.p, static_cast<uint32_t>(ids.size()), out.p);
    Check(cudaGetLastError(), name);
  };
  if (once) {
    launch();
    Check(cudaDeviceSynchronize(), name);
    return;
  }
  const double ms = Median(launch);
  std::printf("half rows, %-11s %-18s %8.1f us %8.1f GB/s of codes\n", name, pattern, ms * 1e3,
              static_cast<double>(ids.size()) * kHalf * kCell / ms / 1e6);
}

void MeasureLayouts(bool once) {
  constexpr uint64_t kSlotsInAll = uint64_t{1} << 25;  // 4 GiB
  const Device<std::byte> codes(kSlotsInAll * kColumns * kCell);
  std::mt19937_64 random(1);
  for (const uint32_t together : {1u, 2u, 4u}) {  // neighbours used together
    std::vector<uint32_t> ids(kIds);
    for (uint32_t i = 0; i < kIds; ++i) {
      const bool begins = i % together == 0;
      ids[i] = begins ? static_cast<uint32_t>(random() % (kSlotsInAll / together)) * together
                      : ids[i - 1] + 1;
    }
    const std::string pattern = std::to_string(together) + " neighbour" + (together > 1 ? "s" : "");
    MeasureLayout<Layout::kRowMajor>("row-major", pattern.c_str(), ids, kSlotsInAll, codes, once);
    MeasureLayout<Layout::kZOrder>("Z-order", pattern.c_str(), ids, kSlotsInAll, codes, once);
    MeasureLayout<Layout::kPlaneMajor>("plane-major", pattern.c_str(), ids, kSlotsInAll, codes,
                                       once);
  }
}

// ---- the hit path
// --------------------------------------------------------------------------------

std::vector<uint32_t> ChooseSlots(bool zipf, uint64_t slots) {
  std::vector<uint32_t> chosen(kIds);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0, 1);
  const double power = 1 - 1.05;
  const double span = std::pow(static_cast<double>(slots), power) - 1;
  for (uint32_t i = 0; i < kIds; ++i) {
    // An odd factor makes a permutation of the slots: each at most once, in random places.
    uint64_t place = i;
    if (zipf) place = static_cast<uint64_t>(std::pow(uniform(random) * span + 1, 1 / power)) - 1;
    chosen[i] = static_cast<uint32_t>(place * 0x9e3779b1u % slots);
  }
  return chosen;
}

void MeasureDim(Backend& backend, uint32_t dim, double copy_gbs) {
  const RowFormat format = MakeRowFormat(RowCodec::kInt8, dim);
  BlockView view;
  view.shape = ShapeOf(format);
  view.group_shift = 0;
  int block_bits = 0;  // up to 4 GiB of payload, 2^25 slots
  while (block_bits < 20 && view.shape.payload_bytes() << (block_bits + 1) <= uint64_t{4} << 30) {
    ++block_bits;
  }
  view.blocks = uint64_t{1} << block_bits;
  const uint64_t slots = view.blocks * kSlots;
  const Device<std::byte> headers(view.blocks * view.shape.header_bytes);
  const Device<std::byte> payload(view.blocks * view.shape.payload_bytes());
  const Device<uint8_t> pins(slots);
  view.headers = headers.p;
  view.payload = payload.p;
  view.pins = pins.p;
  FillCacheKernel<<<8192, 256>>>(view, block_bits, format.code_bytes);
  Check(cudaGetLastError(), "filling the cache");
  const uint64_t stride = (format.row_bytes() + 15) / 16 * 16;
  const Device<std::byte> rows(slots * stride);
  FillRowsKernel<<<8192, 256>>>(rows.p, slots, stride, format.code_bytes);
  Check(cudaDeviceSynchronize(), "filling");

  const uint32_t count = dim > 256 ? kIds / 4 : kIds;
  const Device<std::byte> out(uint64_t{count} * dim * 4);
  const Device<uint32_t> misses(count);
  const Device<QueryCounts> counts(1);
  std::printf("# INT8, dim %u: %llu rows resident of %llu slots (load factor 1.0), %u ids a call\n",
              dim, static_cast<unsigned long long>(slots), static_cast<unsigned long long>(slots),
              count);

  for (const bool zipf : {false, true}) {
    const char* const ids_name = zipf ? "Zipf 1.05" : "unique";
    std::vector<uint32_t> chosen = ChooseSlots(zipf, slots);
    chosen.resize(count);
    std::vector<uint64_t> positions(count);
    for (uint32_t i = 0; i < count; ++i) positions[i] = PositionAt(chosen[i], block_bits);
    const Device<uint64_t> ids(positions);
    const Device<uint32_t> sources(chosen);

    ProbeGatherArgs probe;
    probe.blocks = view;
    probe.format = format;
    probe.query = {ids.p, count, 0, uint64_t{1} << kPositionBits};
    probe.clock = kClock;
    probe.misses = misses.p;
    probe.counts = counts.p;
    GatherArgs gather;
    gather.rows = rows.p;
    gather.row_stride = stride;
    gather.format = format;
    gather.sources = sources.p;
    gather.count = count;
    for (const FloatType type : {FloatType::kF16, FloatType::kF32}) {
      probe.out = gather.out = {out.p, type, dim};
      const double out_bytes = static_cast<double>(dim) * FloatTypeBytes(type);
      const double probe_ms = Median([&] { Check(backend.ProbeGather(probe, {})); });
      QueryCounts found{};
      Check(cudaMemcpy(&found, counts.p, sizeof found, cudaMemcpyDeviceToHost), "counts");
      if (found.misses != 0 || found.absent != 0) {
        std::fprintf(stderr, "%u rows were not found: the measurement is void\n", found.misses);
        std::exit(1);
      }
      const double gather_ms = Median([&] { Check(backend.Gather(gather, {})); });
      const double probe_gbs = count * (8 + 64 + 8 + dim + out_bytes) / probe_ms / 1e6;
      const double gather_gbs = count * (4 + 2 + dim + out_bytes) / gather_ms / 1e6;
      const char* const type_name = type == FloatType::kF16 ? "f16" : "f32";
      std::printf(
          "ProbeGather d%-4u int8->%s %-9s %8.1f us %7.2f Grows/s %8.1f GB/s %5.1f%% of copy\n",
          dim, type_name, ids_name, probe_ms * 1e3, count / probe_ms / 1e6, probe_gbs,
          100 * probe_gbs / copy_gbs);
      std::printf(
          "Gather      d%-4u int8->%s %-9s %8.1f us %7.2f Grows/s %8.1f GB/s %5.1f%% of copy"
          "; ProbeGather takes %.2f times as long\n",
          dim, type_name, ids_name, gather_ms * 1e3, count / gather_ms / 1e6, gather_gbs,
          100 * gather_gbs / copy_gbs, probe_ms / gather_ms);
    }

    std::vector<uint64_t> offsets;
    for (uint64_t at = 0; at + kBag <= count; at += kBag) offsets.push_back(at);
    offsets.push_back(offsets.back() + kBag);
    const auto bags = static_cast<uint32_t>(offsets.size() - 1);
    const Device<uint64_t> device_offsets(offsets);
    ProbePoolArgs pool;
    pool.blocks = view;
    pool.format = format;
    pool.query = probe.query;
    pool.bags = {device_offsets.p, bags, nullptr, PoolMode::kSum};
    pool.out = {out.p, FloatType::kF32, dim};
    pool.clock = kClock;
    pool.incomplete = misses.p;
    pool.counts = counts.p;
    const double pool_ms = Median([&] { Check(backend.ProbePool(pool, {})); });
    const double pooled = static_cast<double>(bags) * kBag;
    const double pool_gbs =
        (pooled * (8 + 64 + 8 + dim) + bags * static_cast<double>(dim) * 4) / pool_ms / 1e6;
    std::printf(
        "ProbePool   d%-4u bags of %u %-9s %8.1f us %7.2f Grows/s %8.1f GB/s %5.1f%% of copy\n",
        dim, kBag, ids_name, pool_ms * 1e3, pooled / pool_ms / 1e6, pool_gbs,
        100 * pool_gbs / copy_gbs);

    // Float rows, as many as fit beside the rest.
    const uint64_t float_rows = std::min<uint64_t>(slots, (uint64_t{4} << 30) / (dim * 4));
    std::vector<uint32_t> float_ids(chosen);
    for (uint32_t& id : float_ids) id = static_cast<uint32_t>(id % float_rows);
    const Device<float> floats(float_rows * dim);
    const Device<uint32_t> device_float_ids(float_ids);
    const double naive_ms = Median([&] {
      NaiveGatherKernel<<<8192, 256>>>(floats.p, device_float_ids.p, count, dim,
                                       reinterpret_cast<float*>(out.p));
      Check(cudaGetLastError(), "naive gather");
    });
    const double naive_gbs = count * (4.0 + dim * 8.0) / naive_ms / 1e6;
    std::printf(
        "naive       d%-4u f32 ->f32 %-9s %8.1f us %7.2f Grows/s %8.1f GB/s %5.1f%% of copy\n", dim,
        ids_name, naive_ms * 1e3, count / naive_ms / 1e6, naive_gbs, 100 * naive_gbs / copy_gbs);
    std::fflush(stdout);
  }
}

double MeasureCopy() {
  constexpr uint64_t kBytes = uint64_t{2} << 30;
  const Device<std::byte> from(kBytes), to(kBytes);
  const double ms = Median(
      [&] { Check(cudaMemcpyAsync(to.p, from.p, kBytes, cudaMemcpyDeviceToDevice), "copy"); });
  const double gbs = 2.0 * kBytes / ms / 1e6;
  std::printf("copy device to device %.1f GB/s (read and written)\n", gbs);
  return gbs;
}

}  // namespace

int main(int argc, char** argv) {
  auto backend = MakeCudaBackend();
  if (!backend.ok()) {
    std::printf("SKIPPED: %s\n", std::string(backend.status().message()).c_str());
    return 77;
  }
  if (argc > 1 && std::strcmp(argv[1], "--layouts") == 0) {
    MeasureLayouts(true);
    return 0;
  }
  std::printf("# %s; medians of %d launches\n", (*backend)->device().c_str(), kLaunches);
  const double copy_gbs = MeasureCopy();
  for (const uint32_t dim : {128u, 64u, 768u}) MeasureDim(**backend, dim, copy_gbs);
  MeasureLayouts(false);
  return 0;
}
