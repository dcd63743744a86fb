// See conformance.h. Stand-alone on a GPU:
//   nvcc -std=c++20 -arch=sm_80 -I. -DEDO_CONFORMANCE_MAIN tests/kernels/simt/conformance.cu
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "kernels/float_convert.h"
#include "tests/kernels/simt/conformance.h"
#include "tests/kernels/simt/device_array.h"

namespace edo::test {
namespace {

constexpr unsigned kLanes = 32;

// ---- what the kernels compute
// --------------------------------------------------------------------
enum WarpResult : unsigned {
  kShfl,
  kShfl64,
  kShflUp,
  kShflDown,
  kShflXor,
  kBallot,
  kAny,
  kAll,
  kMatchAny,
  kMatchAny64,
  kMatchAll,
  kMatchAllPredicate,
  kAddUnsigned,
  kAddSigned,
  kMinUnsigned,
  kMinSigned,
  kMaxUnsigned,
  kMaxSigned,
  kAnd,
  kOr,
  kXor,
  kWarpResults
};

struct WarpCase {
  unsigned mask;  // lanes that take part
  int width;
};
struct LaneInput {
  unsigned long long value;    // anything
  unsigned long long few;      // one of few, so that matches have something to find
  int shfl, up, down, across;  // arguments whose source takes part
  int predicate;
};

// One warp a case.
__global__ void WarpKernel(const WarpCase* cases, const LaneInput* inputs,
                           unsigned long long* results) {
  const unsigned lane = threadIdx.x;
  const WarpCase c = cases[blockIdx.x];
  const LaneInput in = inputs[blockIdx.x * kLanes + lane];
  unsigned long long* out = results + size_t{blockIdx.x} * kWarpResults * kLanes + lane;
  if ((c.mask >> lane & 1u) == 0) return;
  const unsigned m = c.mask;
  const unsigned v = static_cast<unsigned>(in.value);
  const int s = static_cast<int>(v);
  const unsigned few = static_cast<unsigned>(in.few);
  out[kShfl * kLanes] = __shfl_sync(m, v, in.shfl, c.width);
  out[kShfl64 * kLanes] = __shfl_sync(m, in.value, in.shfl, c.width);
  out[kShflUp * kLanes] = __shfl_up_sync(m, v, static_cast<unsigned>(in.up), c.width);
  out[kShflDown * kLanes] = __shfl_down_sync(m, v, static_cast<unsigned>(in.down), c.width);
  out[kShflXor * kLanes] = __shfl_xor_sync(m, v, in.across, c.width);
  out[kBallot * kLanes] = __ballot_sync(m, in.predicate);
  out[kAny * kLanes] = __any_sync(m, in.predicate) != 0;
  out[kAll * kLanes] = __all_sync(m, in.predicate) != 0;
  out[kMatchAny * kLanes] = __match_any_sync(m, few);
  out[kMatchAny64 * kLanes] = __match_any_sync(m, in.few);
  int all_equal = 0;
  out[kMatchAll * kLanes] = __match_all_sync(m, few, &all_equal);
  out[kMatchAllPredicate * kLanes] = all_equal != 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  out[kAddUnsigned * kLanes] = __reduce_add_sync(m, v);
  out[kAddSigned * kLanes] = static_cast<unsigned>(__reduce_add_sync(m, s));
  out[kMinUnsigned * kLanes] = __reduce_min_sync(m, v);
  out[kMinSigned * kLanes] = static_cast<unsigned>(__reduce_min_sync(m, s));
  out[kMaxUnsigned * kLanes] = __reduce_max_sync(m, v);
  out[kMaxSigned * kLanes] = static_cast<unsigned>(__reduce_max_sync(m, s));
  out[kAnd * kLanes] = __reduce_and_sync(m, v);
  out[kOr * kLanes] = __reduce_or_sync(m, v);
  out[kXor * kLanes] = __reduce_xor_sync(m, v);
#endif
}

template <unsigned N>
__global__ void TileKernel(const unsigned* values, unsigned* results) {
  const gpu::Tile<N> tile;
  const unsigned v = values[threadIdx.x];
  unsigned* out = results + threadIdx.x * 6;
  out[0] = tile.Ballot((v & 1u) != 0);
  out[1] = tile.Shfl(v, v % N);
  out[2] = tile.ShflXor(v, N - 1);
  out[3] = tile.ShflUp(v, 1);
  out[4] = tile.Min(v);
  out[5] = tile.Rank() * 1000 + tile.Count() * 10 + (tile.Any(v == 3) ? 1 : 0) +
           (tile.All(v != 3) ? 2 : 0);
}

enum ScalarResult : unsigned {
  kPopc,
  kPopcLong,
  kFfs,
  kClz,
  kClzLong,
  kBrev,
  kBytePerm,
  kMulHi,
  kMulHiLong,
  kMinLong,
  kMaxLong,
  kMinUnsignedLong,
  kHalfBits,
  kBfloatBits,
  kHalfValue,
  kBfloatValue,
  kFma,
  kToInt,
  kScalarResults
};

struct ScalarInput {
  unsigned long long a, b;
  float f, g, h;
};

__global__ void ScalarKernel(const ScalarInput* inputs, unsigned n, unsigned long long* results) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const ScalarInput in = inputs[i];
  const unsigned a = static_cast<unsigned>(in.a), b = static_cast<unsigned>(in.b);
  unsigned long long* out = results + size_t{i} * kScalarResults;
  out[kPopc] = static_cast<unsigned>(__popc(a));
  out[kPopcLong] = static_cast<unsigned>(__popcll(in.a));
  out[kFfs] = static_cast<unsigned>(__ffs(static_cast<int>(a)));
  out[kClz] = static_cast<unsigned>(__clz(static_cast<int>(a)));
  out[kClzLong] = static_cast<unsigned>(__clzll(static_cast<long long>(in.a)));
  out[kBrev] = __brev(a);
  out[kBytePerm] = __byte_perm(a, b, static_cast<unsigned>(in.a >> 32) & 0x7777u);
  out[kMulHi] = __umulhi(a, b);
  out[kMulHiLong] = __umul64hi(in.a, in.b);
  out[kMinLong] = static_cast<unsigned long long>(
      min(static_cast<long long>(in.a), static_cast<long long>(in.b)));
  out[kMaxLong] = static_cast<unsigned long long>(
      max(static_cast<long long>(in.a), static_cast<long long>(in.b)));
  out[kMinUnsignedLong] = min(in.a, in.b);
  out[kHalfBits] = __half_as_ushort(__float2half_rn(in.f));
  out[kBfloatBits] = __bfloat16_as_ushort(__float2bfloat16_rn(in.f));
  const unsigned short code = static_cast<unsigned short>(a);
  out[kHalfValue] = __float_as_uint(__half2float(__ushort_as_half(code)));
  out[kBfloatValue] = __float_as_uint(__bfloat162float(__ushort_as_bfloat16(code)));
  out[kFma] = __float_as_uint(__fmaf_rn(in.f, in.g, in.h));
  out[kToInt] = static_cast<unsigned>(__float2int_rn(in.f));
}

struct AtomicTotals {
  unsigned long long sum;
  unsigned added, subtracted, least, greatest, anded, ored, xored, incremented, decremented;
  int signed_least, signed_greatest;
  float float_sum;
  unsigned swapped;
  unsigned short relaxed;
};

// Results that do not depend on the order of the threads.
__global__ void AtomicKernel(const unsigned* values, AtomicTotals* t) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned v = values[i];
  atomicAdd(&t->sum, 0x100000000ull + v);
  atomicAdd(&t->added, v);
  atomicSub(&t->subtracted, v);
  atomicMin(&t->least, v);
  atomicMax(&t->greatest, v);
  atomicMin(&t->signed_least, static_cast<int>(v));
  atomicMax(&t->signed_greatest, static_cast<int>(v));
  atomicAnd(&t->anded, v | 0xf0u);
  atomicOr(&t->ored, v & 0x0fff0000u);
  atomicXor(&t->xored, v);
  atomicInc(&t->incremented, 99u);
  atomicDec(&t->decremented, 99u);
  atomicAdd(&t->float_sum, 0.5f);
  unsigned old = gpu::LoadRelaxed(&t->swapped);
  for (unsigned seen = old;; old = seen) {  // adds 3 by compare-and-swap
    seen = atomicCAS(&t->swapped, old, old + 3u);
    if (seen == old) break;
  }
  gpu::StoreRelaxed(&t->relaxed, 0xabcd);
}

// ---- differences --------------------------------------------------------------------------------
class Differences {
 public:
  void Expect(const char* what, size_t where, unsigned long long got, unsigned long long want) {
    if (got == want || ++count_ > 10) return;
    char line[200];
    std::snprintf(line, sizeof line, "%s at %zu: %016llx, expected %016llx\n", what, where, got,
                  want);
    text_ += line;
  }
  void Finish(int error) {
    if (error != 0) text_ += gpu::ErrorText(error) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t count_ = 0;
};

// ---- the plain model (CUDA Programming Guide, "Warp Shuffle Functions")
// --------------------------
unsigned ShflFrom(unsigned lane, int width, int source) {
  const int group = static_cast<int>(lane) / width;
  return static_cast<unsigned>(group * width + source % width);
}
unsigned UpFrom(unsigned lane, int width, int distance) {
  const int place = static_cast<int>(lane) % width;
  return place - distance < 0 ? lane : lane - static_cast<unsigned>(distance);
}
unsigned DownFrom(unsigned lane, int width, int distance) {
  const int place = static_cast<int>(lane) % width;
  return place + distance >= width ? lane : lane + static_cast<unsigned>(distance);
}
unsigned XorFrom(unsigned lane, int width, int lanes) {
  const int source = static_cast<int>(lane) ^ lanes;
  return source / width > static_cast<int>(lane) / width ? lane : static_cast<unsigned>(source);
}

using Random = std::mt19937_64;

// An argument whose source takes part in the case; 0 means the lane itself for all but shfl.
template <class From>
int Argument(Random& random, const WarpCase& c, unsigned lane, int limit, From from) {
  for (int tries = 0; tries < 8; ++tries) {
    const int argument = static_cast<int>(random() % static_cast<unsigned>(limit));
    if ((c.mask >> from(lane, c.width, argument) & 1u) != 0) return argument;
  }
  return from == &ShflFrom ? static_cast<int>(lane) % c.width : 0;
}

std::vector<WarpCase> MakeCases(Random& random) {
  std::vector<unsigned> masks = {0xffffffffu, 1u,          0x80000000u, 0x55555555u, 0xaaaaaaaau,
                                 0x0000ffffu, 0xfffffffeu, 0x80000001u, 0x00700000u};
  for (int i = 0; i < 12; ++i)
    masks.push_back(static_cast<unsigned>(random()) | 1u << random() % 32);
  std::vector<WarpCase> cases;
  for (const unsigned mask : masks) {
    for (int width = 1; width <= 32; width *= 2) cases.push_back({mask, width});
  }
  return cases;
}

std::vector<LaneInput> MakeInputs(Random& random, const std::vector<WarpCase>& cases) {
  std::vector<LaneInput> inputs;
  for (const WarpCase& c : cases) {
    const unsigned kinds = 1 + static_cast<unsigned>(random() % 3);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      LaneInput in{};
      in.value = random();
      in.few = random() % kinds * 0x100000001ull;
      in.shfl = Argument(random, c, lane, 64, &ShflFrom);
      in.up = Argument(random, c, lane, 32, &UpFrom);
      in.down = Argument(random, c, lane, 32, &DownFrom);
      in.across = Argument(random, c, lane, 32, &XorFrom);
      in.predicate = random() % kinds != 0 ? 7 : 0;
      inputs.push_back(in);
    }
  }
  return inputs;
}

void ExpectCase(const WarpCase& c, const LaneInput* in, const unsigned long long* got, size_t where,
                Differences* differences) {
  const auto takes_part = [&](unsigned lane) { return (c.mask >> lane & 1u) != 0; };
  unsigned ballot = 0, add = 0, ands = ~0u, ors = 0, xors = 0, least = ~0u, greatest = 0;
  int signed_least = INT32_MAX, signed_greatest = INT32_MIN;
  bool all_equal = true;
  unsigned first = 0;
  while (!takes_part(first)) ++first;
  for (unsigned j = 0; j < kLanes; ++j) {
    if (!takes_part(j)) continue;
    const auto v = static_cast<unsigned>(in[j].value);
    if (in[j].predicate != 0) ballot |= 1u << j;
    add += v;
    ands &= v;
    ors |= v;
    xors ^= v;
    least = std::min(least, v);
    greatest = std::max(greatest, v);
    signed_least = std::min(signed_least, static_cast<int>(v));
    signed_greatest = std::max(signed_greatest, static_cast<int>(v));
    all_equal = all_equal && in[j].few == in[first].few;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned long long want[kWarpResults] = {};
    if (takes_part(lane)) {
      unsigned equal = 0;
      for (unsigned j = 0; j < kLanes; ++j) {
        if (takes_part(j) && in[j].few == in[lane].few) equal |= 1u << j;
      }
      const auto low = [&](unsigned from) { return static_cast<unsigned>(in[from].value); };
      const unsigned source = ShflFrom(lane, c.width, in[lane].shfl);
      want[kShfl] = low(source);
      want[kShfl64] = in[source].value;
      want[kShflUp] = low(UpFrom(lane, c.width, in[lane].up));
      want[kShflDown] = low(DownFrom(lane, c.width, in[lane].down));
      want[kShflXor] = low(XorFrom(lane, c.width, in[lane].across));
      want[kBallot] = ballot;
      want[kAny] = ballot != 0;
      want[kAll] = ballot == c.mask;
      want[kMatchAny] = want[kMatchAny64] = equal;
      want[kMatchAll] = all_equal ? c.mask : 0;
      want[kMatchAllPredicate] = all_equal;
      want[kAddUnsigned] = want[kAddSigned] = add;
      want[kMinUnsigned] = least;
      want[kMinSigned] = static_cast<unsigned>(signed_least);
      want[kMaxUnsigned] = greatest;
      want[kMaxSigned] = static_cast<unsigned>(signed_greatest);
      want[kAnd] = ands;
      want[kOr] = ors;
      want[kXor] = xors;
    }
    static constexpr const char* kNames[] = {
        "shfl",         "shfl 64",   "shfl_up",      "shfl_down", "shfl_xor",  "ballot", "any",
        "all",          "match_any", "match_any 64", "match_all", "predicate", "add u",  "add s",
        "reduce min u", "min s",     "max u",        "max s",     "and",       "or",     "xor"};
    for (unsigned r = 0; r < kWarpResults; ++r) {
      differences->Expect(kNames[r], where * kLanes + lane, got[r * kLanes + lane], want[r]);
    }
  }
}

template <unsigned N>
void CheckTile(Random& random, Differences* differences) {
  constexpr unsigned kThreads = 64;
  std::vector<unsigned> values(kThreads);
  for (unsigned& v : values) v = static_cast<unsigned>(random() % 50);
  const DeviceArray<unsigned> in(values, "tile values");
  const DeviceArray<unsigned> out(size_t{kThreads} * 6, "tile results");
  gpu::Launch(TileKernel<N>, dim3(1), dim3(kThreads), 0, nullptr, in.get(), out.get());
  differences->Finish(gpu::StreamSync(nullptr));
  const std::vector<unsigned> got = out.Read();
  for (unsigned t = 0; t < kThreads; ++t) {
    const unsigned* tile = &values[t / N * N];
    unsigned ballot = 0, least = ~0u;
    bool three = false;
    for (unsigned i = 0; i < N; ++i) {
      ballot |= (tile[i] & 1u) << i;
      least = std::min(least, tile[i]);
      three = three || tile[i] == 3;
    }
    const unsigned lane = t % N;
    const unsigned want[6] = {ballot,
                              tile[values[t] % N],
                              tile[lane ^ (N - 1)],
                              tile[lane == 0 ? 0 : lane - 1],
                              least,
                              t / N * 1000 + kThreads / N * 10 + (three ? 1u : 2u)};
    for (unsigned i = 0; i < 6; ++i)
      differences->Expect("tile", t * 6 + i, got[t * 6 + i], want[i]);
  }
}

std::vector<ScalarInput> MakeScalars(Random& random) {
  std::vector<float> floats = {0.0f,      -0.0f,    1.0f,      65504.0f, 65519.9f, 65520.0f,
                               -65520.0f, 1e-8f,    5.96e-8f,  2.98e-8f, 6.1e-5f,  1e38f,
                               -1e38f,    INFINITY, -INFINITY, NAN,      -NAN,     0.5f,
                               1.5f,      2.5f,     -2.5f,     3e9f,     -3e9f,    2147483648.0f};
  for (int i = 0; i < 400; ++i) {  // every exponent
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    floats.push_back(std::ldexp(1.0f + static_cast<float>(random() % 4096) / 4096.0f,
                                static_cast<int>(random() % 48) - 30));
  }
  std::vector<ScalarInput> inputs;
  for (const float f : floats) {
    const auto any = [&] { return random() >> random() % 64; };
    const auto small = [&] { return static_cast<float>(random() % 1000) / 7.0f; };
    inputs.push_back({any(), any(), f, small(), small()});
  }
  inputs[0].a = 0;
  return inputs;
}

unsigned long long HighProduct(unsigned long long a, unsigned long long b) {
  const unsigned long long mask = 0xffffffffull;
  const unsigned long long low = (a & mask) * (b & mask);
  const unsigned long long mid = (a >> 32) * (b & mask) + (low >> 32);
  const unsigned long long mid2 = (a & mask) * (b >> 32) + (mid & mask);
  return (a >> 32) * (b >> 32) + (mid >> 32) + (mid2 >> 32);
}

unsigned FloatBits(float f) { return std::bit_cast<unsigned>(f); }

void ExpectScalar(const ScalarInput& in, const unsigned long long* got, size_t where,
                  Differences* differences) {
  const auto a = static_cast<unsigned>(in.a), b = static_cast<unsigned>(in.b);
  unsigned popc = 0, popc_long = 0, reversed = 0, first = 0, top = 32, top_long = 64, bytes = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if ((in.a >> i & 1) == 0) continue;
    ++popc_long;
    top_long = 63 - i;
    if (i >= 32) continue;
    ++popc;
    reversed |= 1u << (31 - i);
    top = 31 - i;
    if (first == 0) first = i + 1;
  }
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = static_cast<unsigned>(in.a >> (32 + 4 * i)) & 7u;
    bytes |= ((choice < 4 ? a >> (8 * choice) : b >> (8 * (choice - 4))) & 0xffu) << (8 * i);
  }
  const auto expect = [&](const char* what, ScalarResult r, unsigned long long want) {
    differences->Expect(what, where, got[r], want);
  };
  expect("popc", kPopc, popc);
  expect("popcll", kPopcLong, popc_long);
  expect("ffs", kFfs, first);
  expect("clz", kClz, top);
  expect("clzll", kClzLong, top_long);
  expect("brev", kBrev, reversed);
  expect("byte_perm", kBytePerm, bytes);
  expect("umulhi", kMulHi, static_cast<unsigned long long>(a) * b >> 32);
  expect("umul64hi", kMulHiLong, HighProduct(in.a, in.b));
  const auto signed_a = static_cast<long long>(in.a), signed_b = static_cast<long long>(in.b);
  expect("min", kMinLong, static_cast<unsigned long long>(std::min(signed_a, signed_b)));
  expect("max", kMaxLong, static_cast<unsigned long long>(std::max(signed_a, signed_b)));
  expect("min u", kMinUnsignedLong, std::min(in.a, in.b));
  const bool nan = std::isnan(in.f);
  expect("float to half", kHalfBits, nan ? 0x7fffu : kernels::F32ToF16(in.f));
  expect("float to bfloat16", kBfloatBits, nan ? 0x7fffu : kernels::F32ToBF16(in.f));
  const auto code = static_cast<uint16_t>(a);
  const float half = kernels::F16ToF32(code);
  expect("half to float", kHalfValue, std::isnan(half) ? 0x7fffffffu : FloatBits(half));
  expect("bfloat16 to float", kBfloatValue, uint32_t{code} << 16);
  if (nan) return;
  expect("fma", kFma, FloatBits(std::fma(in.f, in.g, in.h)));
  const double rounded = std::nearbyint(static_cast<double>(in.f));
  const double clamped = std::clamp(rounded, -2147483648.0, 2147483647.0);
  expect("float to int", kToInt, static_cast<unsigned>(static_cast<int>(clamped)));
}

void CheckAtomics(Random& random, Differences* differences) {
  constexpr unsigned kThreads = 96, kBlocks = 3;
  std::vector<unsigned> values(kThreads * kBlocks);
  for (unsigned& v : values) v = static_cast<unsigned>(random());
  AtomicTotals want{};
  want.least = want.anded = ~0u;
  want.signed_least = INT32_MAX;
  want.signed_greatest = INT32_MIN;
  const DeviceArray<AtomicTotals> totals(std::vector<AtomicTotals>{want}, "totals");
  const DeviceArray<unsigned> in(values, "values");
  gpu::Launch(AtomicKernel, dim3(kBlocks), dim3(kThreads), 0, nullptr, in.get(), totals.get());
  differences->Finish(gpu::StreamSync(nullptr));
  const AtomicTotals got = totals.Read()[0];
  for (const unsigned v : values) {
    want.sum += 0x100000000ull + v;
    want.added += v;
    want.subtracted -= v;
    want.least = std::min(want.least, v);
    want.greatest = std::max(want.greatest, v);
    want.signed_least = std::min(want.signed_least, static_cast<int>(v));
    want.signed_greatest = std::max(want.signed_greatest, static_cast<int>(v));
    want.anded &= v | 0xf0u;
    want.ored |= v & 0x0fff0000u;
    want.xored ^= v;
    want.incremented = want.incremented >= 99 ? 0 : want.incremented + 1;
    want.decremented = want.decremented == 0 ? 99 : want.decremented - 1;
    want.float_sum += 0.5f;
    want.swapped += 3;
  }
  differences->Expect("atomicAdd 64", 0, got.sum, want.sum);
  differences->Expect("atomicAdd", 0, got.added, want.added);
  differences->Expect("atomicSub", 0, got.subtracted, want.subtracted);
  differences->Expect("atomicMin", 0, got.least, want.least);
  differences->Expect("atomicMax", 0, got.greatest, want.greatest);
  differences->Expect("atomicMin signed", 0, static_cast<unsigned>(got.signed_least),
                      static_cast<unsigned>(want.signed_least));
  differences->Expect("atomicMax signed", 0, static_cast<unsigned>(got.signed_greatest),
                      static_cast<unsigned>(want.signed_greatest));
  differences->Expect("atomicAnd", 0, got.anded, want.anded);
  differences->Expect("atomicOr", 0, got.ored, want.ored);
  differences->Expect("atomicXor", 0, got.xored, want.xored);
  differences->Expect("atomicInc", 0, got.incremented, want.incremented);
  differences->Expect("atomicDec", 0, got.decremented, want.decremented);
  differences->Expect("atomicAdd float", 0, FloatBits(got.float_sum), FloatBits(want.float_sum));
  differences->Expect("atomicCAS", 0, got.swapped, want.swapped);
  differences->Expect("16-bit relaxed store", 0, got.relaxed, 0xabcd);
}

}  // namespace

std::string CheckWarpConformance(uint64_t seed) {
  Random random(seed);
  const std::vector<WarpCase> cases = MakeCases(random);
  const std::vector<LaneInput> inputs = MakeInputs(random, cases);
  const DeviceArray<WarpCase> device_cases(cases, "cases");
  const DeviceArray<LaneInput> device_inputs(inputs, "inputs");
  const DeviceArray<unsigned long long> results(cases.size() * kWarpResults * kLanes, "results");
  Differences differences;
  gpu::Launch(WarpKernel, dim3(static_cast<unsigned>(cases.size())), dim3(kLanes), 0, nullptr,
              device_cases.get(), device_inputs.get(), results.get());
  differences.Finish(gpu::StreamSync(nullptr));
  const std::vector<unsigned long long> got = results.Read();
  for (size_t i = 0; i < cases.size(); ++i) {
    ExpectCase(cases[i], &inputs[i * kLanes], &got[i * kWarpResults * kLanes], i, &differences);
  }
  CheckTile<2>(random, &differences);
  CheckTile<8>(random, &differences);
  CheckTile<32>(random, &differences);
  return differences.text();
}

std::string CheckScalarConformance(uint64_t seed) {
  Random random(seed);
  const std::vector<ScalarInput> inputs = MakeScalars(random);
  const auto count = static_cast<unsigned>(inputs.size());
  const DeviceArray<ScalarInput> device_inputs(inputs, "inputs");
  const DeviceArray<unsigned long long> results(size_t{count} * kScalarResults, "results");
  Differences differences;
  gpu::Launch(ScalarKernel, dim3((count + 63) / 64), dim3(64), 0, nullptr, device_inputs.get(),
              count, results.get());
  differences.Finish(gpu::StreamSync(nullptr));
  const std::vector<unsigned long long> got = results.Read();
  for (size_t i = 0; i < inputs.size(); ++i) {
    ExpectScalar(inputs[i], &got[i * kScalarResults], i, &differences);
  }
  CheckAtomics(random, &differences);
  return differences.text();
}

}  // namespace edo::test

#if defined(EDO_CONFORMANCE_MAIN)
int main() {
  if (edo::gpu::DeviceCount() == 0) {
    std::puts("conformance: SKIPPED, no device");
    return 77;
  }
  std::string differences;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    differences += edo::test::CheckWarpConformance(seed) + edo::test::CheckScalarConformance(seed);
  }
  std::fputs(differences.c_str(), stdout);
  std::puts(differences.empty() ? "conformance: ok" : "conformance: FAILED");
  return differences.empty() ? 0 : 1;
}
#endif
