// Streams, events, copies and memory of the executor, and their use from several threads.
#include "kernels/simt/runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/kernels/simt/device_array.h"
#include "tests/kernels/simt/executor_kernels.h"
#include "tests/kernels/simt/schedules.h"

namespace edo::test {
namespace {

using simt::Bug;

// Nothing runs before the host waits.
void ConfigureLazily(uint64_t seed = 1) {
  simt::Config config;
  config.seed = seed;
  config.eager_one_in = 0;
  simt::Configure(config);
}

class Pinned {
 public:
  explicit Pinned(size_t count) {
    void* p = nullptr;
    EXPECT_EQ(gpu::MallocHost(&p, count * sizeof(int)), 0);
    p_ = static_cast<int*>(p);
  }
  ~Pinned() { gpu::FreeHost(p_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int* get() const { return p_; }

 private:
  int* p_ = nullptr;
};

TEST(Runtime, PageableSourceIsReadAtTheCallPinnedSourceWhenTheCopyRuns) {
  ConfigureLazily();
  const DeviceArray<int> values(1, "values");
  std::vector<int> pageable = {1};
  gpu::CopyAsync(values.get(), pageable.data(), 4, gpu::Copy::kHostToDevice, nullptr);
  pageable[0] = 2;
  EXPECT_EQ(values.Read()[0], 1);
  const Pinned pinned(1);
  *pinned.get() = 1;
  gpu::CopyAsync(values.get(), pinned.get(), 4, gpu::Copy::kHostToDevice, nullptr);
  *pinned.get() = 2;
  EXPECT_EQ(values.Read()[0], 2);
}

TEST(Runtime, PinnedTargetIsSpoiltUntilTheCopyRunsPageableOneIsReady) {
  ConfigureLazily();
  const DeviceArray<int> values(std::vector<int>{5}, "values");
  const Pinned pinned(1);
  *pinned.get() = 9;
  gpu::CopyAsync(pinned.get(), values.get(), 4, gpu::Copy::kDeviceToHost, nullptr);
  EXPECT_EQ(*pinned.get(), static_cast<int>(0xA5A5A5A5u));
  EXPECT_EQ(gpu::StreamSync(nullptr), 0);
  EXPECT_EQ(*pinned.get(), 5);
  int pageable = 9;
  gpu::CopyAsync(&pageable, values.get(), 4, gpu::Copy::kDeviceToHost, nullptr);
  EXPECT_EQ(pageable, 5);
}

// A round trip through one pinned buffer is legal: the way back must not spoil it too early.
TEST(Runtime, PinnedBufferMayGoThereAndBack) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    simt::Config config;
    config.seed = seed;
    simt::Configure(config);
    const DeviceArray<int> values(1, "values");
    const Pinned pinned(1);
    *pinned.get() = 41;
    gpu::CopyAsync(values.get(), pinned.get(), 4, gpu::Copy::kHostToDevice, nullptr);
    LaunchAdd(values.get(), 1, 1, nullptr);
    gpu::CopyAsync(pinned.get(), values.get(), 4, gpu::Copy::kDeviceToHost, nullptr);
    EXPECT_EQ(gpu::StreamSync(nullptr), 0);
    EXPECT_EQ(*pinned.get(), 42) << "seed " << seed;
  }
}

TEST(Runtime, KernelsMayUsePinnedMemory) {
  ConfigureLazily();
  const Pinned pinned(64);
  std::fill(pinned.get(), pinned.get() + 64, 3);
  LaunchAdd(pinned.get(), 4, 64, nullptr);
  EXPECT_EQ(simt::TakeReport().text, "");
  EXPECT_TRUE(std::all_of(pinned.get(), pinned.get() + 64, [](int v) { return v == 7; }));
}

TEST(Runtime, StreamsRunInSomeOrderEventsFixIt) {
  int first_wins = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    ConfigureLazily(seed);
    gpu::StreamHandle a = nullptr, b = nullptr;
    gpu::EventHandle event = nullptr;
    ASSERT_EQ(gpu::StreamCreate(&a) | gpu::StreamCreate(&b) | gpu::EventCreate(&event), 0);
    const DeviceArray<unsigned char> bytes(2, "bytes");
    gpu::MemsetAsync(bytes.get(), 1, 1, a);  // unordered
    gpu::MemsetAsync(bytes.get(), 2, 1, b);
    gpu::MemsetAsync(bytes.get() + 1, 1, 1, a);  // ordered
    gpu::EventRecord(event, a);
    gpu::StreamWaitEvent(b, event);
    gpu::EventDestroy(event);  // what is enqueued keeps it
    gpu::MemsetAsync(bytes.get() + 1, 2, 1, b);
    EXPECT_EQ(gpu::DeviceSync(), 0);
    const std::vector<unsigned char> got = bytes.Read();
    first_wins += got[0] == 1;
    EXPECT_EQ(got[1], 2) << "seed " << seed;
    gpu::StreamDestroy(a);
    gpu::StreamDestroy(b);
  }
  EXPECT_GT(first_wins, 5);
  EXPECT_LT(first_wins, 35);
}

TEST(Runtime, EventQueryTurnsTrueInTime) {
  ConfigureLazily();
  gpu::StreamHandle stream = nullptr;
  gpu::EventHandle event = nullptr;
  ASSERT_EQ(gpu::StreamCreate(&stream) | gpu::EventCreate(&event), 0);
  bool done = false;
  EXPECT_EQ(gpu::EventQuery(event, &done), 0);
  EXPECT_TRUE(done);  // never recorded, as in CUDA
  const DeviceArray<int> values(64, "values");
  for (int i = 0; i < 20; ++i) LaunchAdd(values.get(), 1, 64, stream);
  gpu::EventRecord(event, stream);
  int queries = 0;
  for (done = false; !done; ++queries) ASSERT_EQ(gpu::EventQuery(event, &done), 0);
  EXPECT_GT(queries, 1);
  EXPECT_EQ(values.Read(), std::vector<int>(64, 20));
  gpu::EventDestroy(event);
  gpu::StreamDestroy(stream);
}

TEST(Runtime, AdoptsACallersStream) {
  ConfigureLazily();
  gpu::StreamHandle stream = nullptr;
  ASSERT_EQ(gpu::StreamCreate(&stream), 0);
  EXPECT_EQ(gpu::AdoptStream(gpu::RawStream(stream)), stream);
  EXPECT_EQ(gpu::AdoptStream(nullptr), nullptr);
  gpu::StreamDestroy(stream);
}

TEST(Runtime, CopiesOutsideDeviceMemoryAreErrors) {
  ConfigureLazily();
  const DeviceArray<int> values(4, "values");
  int host[8] = {};
  EXPECT_NE(gpu::CopyAsync(host, host + 4, 4, gpu::Copy::kDeviceToHost, nullptr), 0);
  EXPECT_EQ(simt::TakeReport().bug, Bug::kHostMemory);
  EXPECT_NE(gpu::CopyAsync(values.get(), host, 20, gpu::Copy::kHostToDevice, nullptr), 0);
  const simt::Report report = simt::TakeReport();
  EXPECT_EQ(report.bug, Bug::kOutOfBounds);
  EXPECT_NE(report.text.find("`values` (16 bytes)"), std::string::npos) << report.text;
  EXPECT_NE(gpu::MemsetAsync(values.get() + 2, 0, 9, nullptr), 0);
  EXPECT_EQ(simt::TakeReport().bug, Bug::kOutOfBounds);
}

TEST(Runtime, MemoryThatIsNotThereIsRefused) {
  ConfigureLazily();
  void* p = nullptr;
  const int error = gpu::Malloc(&p, size_t{2} << 30, "too much");
  EXPECT_EQ(gpu::ErrorText(error), "out of memory");
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(gpu::DeviceSync(), 0);
}

TEST(Runtime, FreedMemoryIsUsedAgainWhenTheHeapIsUsedUp) {
  ConfigureLazily();
  for (int i = 0; i < 40; ++i) {
    void* p = nullptr;
    ASSERT_EQ(gpu::Malloc(&p, size_t{40} << 20, "large"), 0) << i;
    ASSERT_EQ(gpu::Free(p), 0);
  }
}

TEST(Runtime, FourThreadsShareTheDevice) {
  simt::Configure(simt::Config{});
  constexpr int kThreads = 4, kRounds = 20;
  constexpr unsigned kCount = 256;
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([id, &wrong] {
      gpu::StreamHandle stream = nullptr;
      gpu::StreamCreate(&stream);
      void* p = nullptr;
      gpu::Malloc(&p, kCount * sizeof(int), "shared by four");
      std::vector<int> start(kCount, id * 100), result(kCount);
      for (int round = 0; round < kRounds; ++round) {
        gpu::CopyAsync(p, start.data(), kCount * sizeof(int), gpu::Copy::kHostToDevice, stream);
        LaunchAdd(static_cast<int*>(p), round, kCount, stream);
        gpu::CopyAsync(result.data(), p, kCount * sizeof(int), gpu::Copy::kDeviceToHost, stream);
        gpu::StreamSync(stream);
        for (const int v : result) wrong[static_cast<size_t>(id)] += v != id * 100 + round;
      }
      gpu::StreamDestroy(stream);
      gpu::Free(p);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(simt::TakeReport().text, "");
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

}  // namespace
}  // namespace edo::test
