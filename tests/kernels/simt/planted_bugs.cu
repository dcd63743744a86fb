// See planted_bugs.h. Compiles with nvcc as well.
#include <cstdint>

#include "tests/kernels/simt/planted_bugs.h"

namespace edo::test {
namespace {

constexpr unsigned kFull = 0xffffffffu;

// 1. Missing __syncthreads: reversal through shared memory.
template <bool kBug>
__global__ void NoBarrier(const int* in, int* out) {
  SHARED_ARRAY(int, s, 128);
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  if (!kBug) __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}
// 2. Missing second barrier in a two-step loop (write after read).
template <bool kBug>
__global__ void NoSecondBarrier(const int* in, int* out) {
  SHARED_ARRAY(int, s, 128);
  int acc = 0;
  for (int r = 0; r < 4; ++r) {
    s[threadIdx.x] = in[threadIdx.x] + r;
    __syncthreads();
    acc += s[(threadIdx.x + 33) & 127];
    if (!kBug) __syncthreads();
  }
  out[blockIdx.x * 128 + threadIdx.x] = acc;
}
// 3. Full-mask shuffle in a divergent branch.
template <bool kBug>
__global__ void ShflDivergent(const int* in, int* out) {
  const unsigned lane = threadIdx.x & 31u;
  int v = in[threadIdx.x];
  if (lane < 16)
    v += __shfl_xor_sync(kBug ? kFull : 0xffffu, v, 1);
  else
    v -= __shfl_xor_sync(kBug ? kFull : 0xffff0000u, v, 1);
  out[blockIdx.x * 128 + threadIdx.x] = v;
}
// 4. Shuffle reads a lane outside the mask.
template <bool kBug>
__global__ void ShflSource(const int* in, int* out) {
  const unsigned lane = threadIdx.x & 31u;
  int v = in[threadIdx.x];
  if (lane < 16)
    v = __shfl_sync(0xffffu, v, kBug ? static_cast<int>(lane) + 8 : 15 - static_cast<int>(lane));
  out[blockIdx.x * 128 + threadIdx.x] = v;
}
// 5. Mask does not name the caller.
template <bool kBug>
__global__ void MaskSelf(const int* in, int* out) {
  int v = in[threadIdx.x];
  v += __shfl_xor_sync(kBug && (threadIdx.x & 31u) == 31 ? 0x7fffffffu : kFull, v, 1);
  out[blockIdx.x * 128 + threadIdx.x] = v;
}
// 6. Out of bounds in shared memory: one past the end.
template <bool kBug>
__global__ void SharedOob(const int* in, int* out) {
  SHARED_ARRAY(int, a, 128);
  SHARED_ARRAY(int, b, 128);
  b[threadIdx.x] = in[threadIdx.x];
  a[threadIdx.x + (kBug ? 1 : 0)] = in[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] =
      b[127 - threadIdx.x] + a[127 - threadIdx.x + (kBug ? 1 : 0)];
}
// 7. __syncthreads in a divergent branch (two textual barriers).
template <bool kBug>
__global__ void DivergentBarrier(const int* in, int* out) {
  SHARED_ARRAY(int, s, 128);
  if (kBug && threadIdx.x >= 64) {
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
  } else {
    s[threadIdx.x] = in[threadIdx.x];
    if (kBug) __syncthreads();
  }
  if (!kBug) __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}
// 8. Lock-step assumption: no __syncwarp between shared steps of one warp.
template <bool kBug>
__global__ void NoSyncwarp(const int* in, int* out) {
  SHARED_ARRAY(int, s, 128);
  const unsigned t = threadIdx.x, lane = t & 31u;
  s[t] = in[t];
  __syncwarp();
  for (unsigned d = 16; d; d >>= 1) {
    int v = lane < d ? s[t + d] : 0;
    if (!kBug) __syncwarp();
    if (lane < d) s[t] += v;
    if (!kBug) __syncwarp();
  }
  __syncwarp();
  out[blockIdx.x * 128 + t] = s[t & ~31u];
}
// 9. Message passing between blocks without fences.
template <bool kBug>
__global__ void NoFence(int* data, unsigned* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      data[0] = 42;
      if (!kBug) __threadfence();
      atomicExch(flag, 1u);
      out[0] = 42;
    } else {
      while (gpu::LoadRelaxed(flag) == 0) gpu::Backoff(32);
      if (!kBug) __threadfence();
      out[blockIdx.x] = data[0];
    }
  }
}
// 10. Misaligned 16-byte load.
template <bool kBug>
__global__ void Misaligned(const unsigned char* in, int* out) {
  const uint4 v = gpu::LoadVec<uint4>(in + threadIdx.x * 16 + (kBug ? 4 : 0));
  out[blockIdx.x * 128 + threadIdx.x] = static_cast<int>(v.x + v.y + v.z + v.w);
}
// 11. Read of shared memory nobody wrote.
template <bool kBug>
__global__ void Uninit(const int* in, int* out) {
  SHARED_ARRAY(int, s, 129);
  s[threadIdx.x] = in[threadIdx.x];
  if (!kBug && threadIdx.x == 0) s[128] = 0;
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x] + s[128];
}
// 12. Non-atomic counter.
template <bool kBug>
__global__ void PlainCounter(unsigned* c) {
  if (kBug)
    c[0] = c[0] + 1;
  else
    atomicAdd(c, 1u);
}
// 13. Exit before a full-mask collective.
template <bool kBug>
__global__ void EarlyExit(const int* in, int* out, unsigned n) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  if (kBug && i >= n) return;
  int v = i < n ? in[i & 127u] : 0;
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(kFull, v, d);
  if (i < n) out[i] = v;
}
// 14. Global write out of bounds.
template <bool kBug>
__global__ void GlobalOob(const int* in, int* out, unsigned n) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  if (i < n + (kBug ? 1 : 0)) out[i] = in[i & 127u];
}
// 15. Pointer to a local variable given to another lane.
template <bool kBug>
__global__ void ForeignLocal(const int* in, int* out) {
  int mine[2] = {in[threadIdx.x], static_cast<int>(threadIdx.x)};
  const unsigned long long p = reinterpret_cast<unsigned long long>(&mine[threadIdx.x & 1u]);
  const unsigned long long q = __shfl_xor_sync(kFull, p, 1);
  int v;
  if (kBug)
    v = *reinterpret_cast<int*>(q);
  else
    v = __shfl_xor_sync(kFull, mine[threadIdx.x & 1u], 1);
  __syncwarp();
  out[blockIdx.x * 128 + threadIdx.x] = v + static_cast<int>(p & 0);
}
// 16. cp.async read before its wait.
template <bool kBug>
__global__ void NoAsyncWait(const int* in, int* out) {
  SHARED_ARRAY(int, s, 128);
  __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  if (!kBug) __pipeline_wait_prior(0);
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}
// 17. A grid barrier by spinning: needs co-resident blocks.
template <bool kBug>
__global__ void SpinGrid(unsigned* c, int* out) {
  if (threadIdx.x == 0) {
    atomicAdd(c, 1u);
    if (kBug)
      while (gpu::LoadRelaxed(c) < gridDim.x) gpu::Backoff(32);
  }
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = 1;
}

template <bool kBug>
int LaunchCase(int id, const PlantedBuffers& b, gpu::StreamHandle s) {
  const dim3 grid(4), block(128);
  switch (id) {
    case 1:
      return gpu::Launch(NoBarrier<kBug>, grid, block, 0, s, b.in, b.out);
    case 2:
      return gpu::Launch(NoSecondBarrier<kBug>, grid, block, 0, s, b.in, b.out);
    case 3:
      return gpu::Launch(ShflDivergent<kBug>, grid, block, 0, s, b.in, b.out);
    case 4:
      return gpu::Launch(ShflSource<kBug>, grid, block, 0, s, b.in, b.out);
    case 5:
      return gpu::Launch(MaskSelf<kBug>, grid, block, 0, s, b.in, b.out);
    case 6:
      return gpu::Launch(SharedOob<kBug>, grid, block, 0, s, b.in, b.out);
    case 7:
      return gpu::Launch(DivergentBarrier<kBug>, grid, block, 0, s, b.in, b.out);
    case 8:
      return gpu::Launch(NoSyncwarp<kBug>, grid, block, 0, s, b.in, b.out);
    case 9:
      return gpu::Launch(NoFence<kBug>, grid, block, 0, s, b.in, b.words, b.out);
    case 10:
      return gpu::Launch(Misaligned<kBug>, grid, block, 0, s, b.bytes, b.out);
    case 11:
      return gpu::Launch(Uninit<kBug>, grid, block, 0, s, b.in, b.out);
    case 12:
      return gpu::Launch(PlainCounter<kBug>, grid, block, 0, s, b.words);
    case 13:
      return gpu::Launch(EarlyExit<kBug>, grid, block, 0, s, b.in, b.out, kTightInts);
    case 14:
      return gpu::Launch(GlobalOob<kBug>, grid, block, 0, s, b.in, b.out_tight, kTightInts);
    case 15:
      return gpu::Launch(ForeignLocal<kBug>, grid, block, 0, s, b.in, b.out);
    case 16:
      return gpu::Launch(NoAsyncWait<kBug>, grid, block, 0, s, b.in, b.out);
    case 17:
      return gpu::Launch(SpinGrid<kBug>, grid, block, 0, s, b.words, b.out);
  }
  return -1;
}

}  // namespace

int LaunchPlanted(int id, bool bug, const PlantedBuffers& buffers, gpu::StreamHandle stream) {
  return bug ? LaunchCase<true>(id, buffers, stream) : LaunchCase<false>(id, buffers, stream);
}

}  // namespace edo::test
