#include <cstdint>

#include "tests/kernels/simt/executor_kernels.h"

namespace edo::test {
namespace {

constexpr unsigned kFull = 0xffffffffu;

__global__ void Tickets(unsigned* counter, unsigned* tickets) {
  tickets[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}

__global__ void Add(int* values, int by, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += by;
}

__global__ void BarrierVotes(unsigned limit, int* results) {
  const unsigned t = threadIdx.x;
  results[t * 3] = __syncthreads_count(t % 3 == 0);
  results[t * 3 + 1] = __syncthreads_and(t < limit);
  results[t * 3 + 2] = __syncthreads_or(t >= limit);
}

__global__ void Coordinates(unsigned* places) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  places[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      1 + threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x +
      10000 * blockIdx.y + 100000 * blockIdx.z;
}

__global__ void SharedSums(unsigned* sums, unsigned dynamic_words) {
  SHARED_ARRAY(unsigned, first, 64);
  SHARED_ARRAY(unsigned short, second, 64);
  SHARED_VAR(unsigned, total);
  SHARED_DYNAMIC(unsigned, more);
  const unsigned t = threadIdx.x;
  first[t] = t + blockIdx.x;
  second[t] = static_cast<unsigned short>(t * 2);
  for (unsigned i = t; i < dynamic_words; i += blockDim.x) more[i] = i;
  if (t == 0) total = 0;
  __syncthreads();
  unsigned sum = first[63 - t] + second[63 - t];
  for (unsigned i = t; i < dynamic_words; i += blockDim.x) sum += more[dynamic_words - 1 - i];
  atomicAdd(&total, sum);
  __syncthreads();
  if (t == 0) sums[blockIdx.x] = total;
}

__global__ void SharedAlignment(unsigned* aligned) {
  SHARED_ARRAY(unsigned char, bytes, 3);
  SHARED_ARRAY(uint4, vecs, 2);
  SHARED_DYNAMIC(unsigned char, dynamic);
  aligned[0] = reinterpret_cast<uintptr_t>(bytes) % 16 == 0;
  aligned[1] = reinterpret_cast<uintptr_t>(vecs) % 16 == 0;
  aligned[2] = reinterpret_cast<uintptr_t>(dynamic) % 1024 == 0;
}

__global__ void ReadsFill(unsigned* out) {
  SHARED_ARRAY(unsigned, s, 32);
  out[threadIdx.x] = s[threadIdx.x];
}

__global__ void AsyncGroups(const unsigned* in, unsigned* out) {
  SHARED_ARRAY(uint4, a, 64);
  SHARED_ARRAY(uint4, b, 64);
  const unsigned t = threadIdx.x;
  __pipeline_memcpy_async(&a[t], in + t * 8, 16, 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&b[t], in + t * 8 + 4, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  gpu::StoreVecStreaming(out + t * 8, a[t]);
  __pipeline_wait_prior(0);
  __syncthreads();
  gpu::StoreVec(out + (63 - t) * 8 + 4, gpu::LoadVec<uint4>(&b[63 - t]));
}

__global__ void Relaxed16(unsigned short* values) {
  const unsigned t = threadIdx.x;
  gpu::StoreRelaxed(&values[t], static_cast<unsigned short>(t + 0x8000u));
  // Its neighbour may or may not have stored by now.
  const unsigned short next = gpu::LoadRelaxed(&values[(t + 1) % 64]);
  if (next != 0 && next != (t + 1) % 64 + 0x8000u) gpu::StoreRelaxed(&values[t], 1);
}

__global__ void StructParameter(ManyNumbers parameter, int* sum) {
  int total = 0;
  for (unsigned i = 0; i < 50; ++i) total += parameter.numbers[(i + threadIdx.x) % 50];
  sum[threadIdx.x] = total;
}

__global__ void Read(const int* from, int* to) { *to = *from; }

__global__ void Locked(LockBug bug, unsigned* lock, unsigned* counters) {
  const unsigned lane = threadIdx.x & 31u;
  for (int round = 0; round < 3; ++round) {
    if (lane == 0) {
      while (atomicCAS(lock, 0u, 1u) != 0u) gpu::Backoff(64);
      if (bug != LockBug::kNoAcquireFence) __threadfence();
    }
    __syncwarp();
    counters[lane] += 1;
    if (bug != LockBug::kNoWarpSync) __syncwarp();
    if (lane == 0) {
      if (bug != LockBug::kNoReleaseFence) __threadfence();
      atomicExch(lock, 0u);
    }
  }
}

__global__ void Trap() {
  if (threadIdx.x == 5) __trap();
}

__global__ void Deadlock() {
  if ((threadIdx.x & 31u) < 16) {
    __syncwarp(kFull);
  } else {
    __syncthreads();
  }
}

__global__ void NamesMissingLanes() { __syncwarp(kFull); }

#if !defined(__CUDACC__)  // nvcc refuses it at compile time
__global__ void TooMuchStaticShared() {
  SHARED_ARRAY(unsigned, s, 12 * 1024 + 1);
  s[0] = 1;
}
#endif

}  // namespace

int LaunchTickets(unsigned* counter, unsigned* tickets, dim3 grid, dim3 block) {
  return gpu::Launch(Tickets, grid, block, 0, nullptr, counter, tickets);
}
int LaunchAdd(int* values, int by, unsigned count, gpu::StreamHandle stream) {
  return gpu::Launch(Add, dim3((count + 63) / 64), dim3(64), 0, stream, values, by, count);
}
int LaunchBarrierVotes(unsigned limit, int* results) {
  return gpu::Launch(BarrierVotes, dim3(1), dim3(96), 0, nullptr, limit, results);
}
int LaunchCoordinates(unsigned* places, dim3 grid, dim3 block) {
  return gpu::Launch(Coordinates, grid, block, 0, nullptr, places);
}
int LaunchSharedSums(unsigned* sums, size_t dynamic_bytes) {
  return gpu::Launch(SharedSums, dim3(4), dim3(64), dynamic_bytes, nullptr, sums,
                     static_cast<unsigned>(dynamic_bytes / sizeof(unsigned)));
}
int LaunchSharedAlignment(unsigned* aligned) {
  return gpu::Launch(SharedAlignment, dim3(1), dim3(1), 10, nullptr, aligned);
}
int LaunchReadsFill(unsigned* out) {
  return gpu::Launch(ReadsFill, dim3(1), dim3(32), 0, nullptr, out);
}
int LaunchAsyncGroups(const unsigned* in, unsigned* out) {
  return gpu::Launch(AsyncGroups, dim3(1), dim3(64), 0, nullptr, in, out);
}
int LaunchRelaxed16(unsigned short* values) {
  return gpu::Launch(Relaxed16, dim3(1), dim3(64), 0, nullptr, values);
}
int LaunchStructParameter(ManyNumbers parameter, int* sum) {
  return gpu::Launch(StructParameter, dim3(1), dim3(32), 0, nullptr, parameter, sum);
}
int LaunchRead(const int* from, int* to) {
  return gpu::Launch(Read, dim3(1), dim3(1), 0, nullptr, from, to);
}
int LaunchLocked(LockBug bug, unsigned* lock, unsigned* counters) {
  return gpu::Launch(Locked, dim3(4), dim3(64), 0, nullptr, bug, lock, counters);
}
int LaunchTrap() { return gpu::Launch(Trap, dim3(1), dim3(32), 0, nullptr); }
int LaunchDeadlock() { return gpu::Launch(Deadlock, dim3(1), dim3(64), 0, nullptr); }
int LaunchNamesMissingLanes() {
  return gpu::Launch(NamesMissingLanes, dim3(1), dim3(20), 0, nullptr);
}
int LaunchTooMuchStaticShared() {
#if !defined(__CUDACC__)
  return gpu::Launch(TooMuchStaticShared, dim3(1), dim3(32), 0, nullptr);
#else
  return -1;
#endif
}

}  // namespace edo::test
