// The executor itself: schedules, barriers, shared memory, parameters, errors. Collectives are
// compared with a plain model in conformance_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/kernels/simt/device_array.h"
#include "tests/kernels/simt/executor_kernels.h"
#include "tests/kernels/simt/schedules.h"

namespace edo::test {
namespace {

using simt::Bug;
using simt::Policy;

simt::Config WithPolicy(Policy policy, uint64_t seed = 1) {
  simt::Config config;
  config.policy = policy;
  config.seed = seed;
  return config;
}

// The order in which 6 blocks of 64 lanes reach one atomic.
std::vector<unsigned> Tickets(const simt::Config& config) {
  simt::Configure(config);
  const DeviceArray<unsigned> counter(1, "counter");
  const DeviceArray<unsigned> tickets(384, "tickets");
  EXPECT_EQ(LaunchTickets(counter.get(), tickets.get(), dim3(6), dim3(64)), 0);
  EXPECT_EQ(simt::TakeReport().text, "");
  EXPECT_EQ(counter.Read()[0], 384u);
  return tickets.Read();
}

TEST(Executor, EqualSeedsGiveEqualSchedules) {
  for (const simt::Config& config : Schedules(AllPolicies(), 4)) {
    SCOPED_TRACE(ReplayText(config));
    const std::vector<unsigned> first = Tickets(config);
    const simt::Statistics statistics = simt::CurrentStatistics();
    const DeviceArray<char> moves_the_heap(1000, "other");
    EXPECT_EQ(Tickets(config), first);
    EXPECT_EQ(simt::CurrentStatistics().switches, statistics.switches);
  }
}

TEST(Executor, RandomSeedsGiveDifferentSchedules) {
  EXPECT_NE(Tickets(WithPolicy(Policy::kRandom, 1)), Tickets(WithPolicy(Policy::kRandom, 2)));
  EXPECT_NE(Tickets(WithPolicy(Policy::kStarve, 1)), Tickets(WithPolicy(Policy::kStarve, 2)));
}

TEST(Executor, InOrderIsAscendingAndReverseDescending) {
  simt::Config config = WithPolicy(Policy::kInOrder);
  config.atomic_yield_one_in = 0;
  std::vector<unsigned> expected(384);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(Tickets(config), expected);
  config.policy = Policy::kReverse;
  config.resident_blocks = 1;
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(Tickets(config), expected);
}

// The same in every process, wherever it is loaded: a seed that a test printed can be replayed.
// When the scheduler changes on purpose, the numbers here change.
TEST(Executor, SchedulesDoNotDependOnAddresses) {
  simt::Config config = WithPolicy(Policy::kRandom, 7);
  config.report_uninitialised = false;
  const std::vector<unsigned> tickets = Tickets(config);
  uint64_t hash = 1469598103934665603u;
  for (const unsigned ticket : tickets) hash = (hash ^ ticket) * 1099511628211u;
  EXPECT_EQ(hash, simt::IsCheckBuild() ? 9546436890793015191u : 17279983767141471851u);
}

TEST(Executor, BarriersVote) {
  for (const simt::Config& config : Schedules(AllPolicies(), 3)) {
    SCOPED_TRACE(ReplayText(config));
    simt::Configure(config);
    for (const unsigned limit : {0u, 50u, 96u}) {
      const DeviceArray<int> results(96 * 3, "results");
      LaunchBarrierVotes(limit, results.get());
      ASSERT_EQ(simt::TakeReport().text, "");
      const std::vector<int> got = results.Read();
      for (size_t t = 0; t < 96; ++t) {
        EXPECT_EQ(got[t * 3], 32);
        EXPECT_EQ(got[t * 3 + 1], limit == 96);
        EXPECT_EQ(got[t * 3 + 2], limit != 96);
      }
    }
  }
}

TEST(Executor, CoordinatesFollowTheShape) {
  simt::Configure(WithPolicy(Policy::kRandom));
  const dim3 grid(3, 2, 2), block(5, 3, 2);
  const DeviceArray<unsigned> places(360, "places");
  LaunchCoordinates(places.get(), grid, block);
  ASSERT_EQ(simt::TakeReport().text, "");
  const std::vector<unsigned> got = places.Read();
  for (unsigned i = 0; i < 360; ++i) {
    const unsigned t = i % 30, b = i / 30;
    const unsigned thread = t % 5 + 10 * (t / 5 % 3) + 100 * (t / 15);
    const unsigned block_number = b % 3 + 10 * (b / 3 % 2) + 100 * (b / 6);
    EXPECT_EQ(got[i], 1 + thread + 1000 * block_number);
  }
}

TEST(Executor, BlocksHaveSharedMemoryOfTheirOwn) {
  for (const size_t dynamic_bytes : {size_t{0}, size_t{4}, size_t{1000}, size_t{90 * 1024}}) {
    for (const simt::Config& config : Schedules(AllPolicies(), 2)) {
      SCOPED_TRACE(ReplayText(config));
      simt::Configure(config);
      const DeviceArray<unsigned> sums(4, "sums");
      LaunchSharedSums(sums.get(), dynamic_bytes);
      ASSERT_EQ(simt::TakeReport().text, "");
      const unsigned words = static_cast<unsigned>(dynamic_bytes / 4);
      const unsigned dynamic_sum = words == 0 ? 0 : words * (words - 1) / 2;
      const std::vector<unsigned> got = sums.Read();
      for (unsigned b = 0; b < 4; ++b) EXPECT_EQ(got[b], 3 * 2016 + 64 * b + dynamic_sum);
    }
  }
}

TEST(Executor, SharedMemoryIsAligned) {
  simt::Configure(simt::Config{});
  const DeviceArray<unsigned> aligned(3, "aligned");
  LaunchSharedAlignment(aligned.get());
  ASSERT_EQ(simt::TakeReport().text, "");
  EXPECT_EQ(aligned.Read(), (std::vector<unsigned>{1, 1, 1}));
}

TEST(Executor, SharedMemoryOfAnEarlierBlockIsGone) {
  simt::Config config;
  config.report_uninitialised = false;
  simt::Configure(config);
  const DeviceArray<unsigned> sums(4, "sums"), out(32, "out");
  LaunchSharedSums(sums.get(), 4096);
  LaunchReadsFill(out.get());
  ASSERT_EQ(simt::TakeReport().text, "");
  EXPECT_EQ(out.Read(), std::vector<unsigned>(32, 0xCBCBCBCBu));
}

TEST(Executor, AsyncCopyGroupsLandInOrderWithZeros) {
  std::vector<unsigned> in(512), expected;
  std::iota(in.begin(), in.end(), 1000u);
  expected = in;
  for (size_t i = 3; i < 512; i += 4) expected[i] = 0;
  for (const simt::Config& config : Schedules(AllPolicies(), 3)) {
    SCOPED_TRACE(ReplayText(config));
    simt::Configure(config);
    const DeviceArray<unsigned> from(in, "from"), to(512, "to");
    LaunchAsyncGroups(from.get(), to.get());
    ASSERT_EQ(simt::TakeReport().text, "");
    EXPECT_EQ(to.Read(), expected);
  }
}

TEST(Executor, RelaxedAccessesOf16BitsDoNotRace) {
  for (const simt::Config& config : Schedules(AllPolicies(), 5)) {
    SCOPED_TRACE(ReplayText(config));
    simt::Configure(config);
    const DeviceArray<unsigned short> values(64, "values");
    LaunchRelaxed16(values.get());
    ASSERT_EQ(simt::TakeReport().text, "");
    const std::vector<unsigned short> got = values.Read();
    for (unsigned t = 0; t < 64; ++t) EXPECT_EQ(got[t], t + 0x8000u);
  }
}

TEST(Executor, KernelsReadTheirParameters) {
  simt::Configure(simt::Config{});
  ManyNumbers parameter;
  std::iota(std::begin(parameter.numbers), std::end(parameter.numbers), 1);
  const DeviceArray<int> sum(32, "sum");
  LaunchStructParameter(parameter, sum.get());
  ASSERT_EQ(simt::TakeReport().text, "");
  EXPECT_EQ(sum.Read(), std::vector<int>(32, 1275));
}

// ---- a lock that lane 0 takes for its warp
// --------------------------------------------------------
int LockReports(LockBug bug) {
  int reports = 0;
  for (const simt::Config& config : Schedules({Policy::kRandom, Policy::kStarve})) {
    SCOPED_TRACE(ReplayText(config));
    simt::Configure(config);
    const DeviceArray<unsigned> lock(1, "lock"), counters(32, "counters");
    LaunchLocked(bug, lock.get(), counters.get());
    const simt::Report report = simt::TakeReport();
    if (report.bug == Bug::kNone) {
      if (bug == LockBug::kNone) {
        EXPECT_EQ(counters.Read(), std::vector<unsigned>(32, 24));
      }
      continue;
    }
    ++reports;
    EXPECT_EQ(report.bug, Bug::kRace) << report.text;
  }
  return reports;
}

TEST(Executor, WarpLockIsSilent) { EXPECT_EQ(LockReports(LockBug::kNone), 0); }
TEST(Executor, WarpLockWithoutFencesOrWarpSyncIsReportedByTheCheckBuild) {
  if (!simt::IsCheckBuild()) GTEST_SKIP() << "only the check build follows happens-before";
  EXPECT_EQ(LockReports(LockBug::kNoAcquireFence), 2 * kSeeds);
  EXPECT_EQ(LockReports(LockBug::kNoReleaseFence), 2 * kSeeds);
  EXPECT_EQ(LockReports(LockBug::kNoWarpSync), 2 * kSeeds);
}

// ---- errors
// --------------------------------------------------------------------------------------
TEST(Errors, AreStickyUntilTaken) {
  simt::Configure(simt::Config{});
  const DeviceArray<int> values(64, "values");
  LaunchTrap();
  const int error = gpu::DeviceSync();
  EXPECT_NE(error, 0);
  EXPECT_NE(gpu::ErrorText(error).find("trap"), std::string::npos);
  LaunchAdd(values.get(), 1, 64, nullptr);  // does not run
  EXPECT_EQ(gpu::DeviceSync(), error);
  EXPECT_EQ(values.Read(), std::vector<int>(64, 0));  // copies do
  EXPECT_EQ(simt::TakeReport().bug, Bug::kTrap);
  EXPECT_EQ(gpu::DeviceSync(), 0);
  EXPECT_EQ(simt::TakeReport().bug, Bug::kNone);
  EXPECT_EQ(LaunchAdd(values.get(), 1, 64, nullptr), 0);
  EXPECT_EQ(values.Read(), std::vector<int>(64, 1));
}

TEST(Errors, NameKernelPlaceAndSeed) {
  simt::Configure(WithPolicy(Policy::kInOrder, 11));
  LaunchTrap();
  const std::string text = simt::TakeReport().text;
  EXPECT_NE(text.find("executor_kernels.cu:"), std::string::npos) << text;
  EXPECT_NE(text.find("Trap block (0,0,0) thread (5,0,0) warp 0 lane 5"), std::string::npos)
      << text;
  EXPECT_NE(text.find("seed 11, policy in-order"), std::string::npos) << text;
}

TEST(Errors, RaceNamesBothSides) {
  if (!simt::IsCheckBuild()) GTEST_SKIP() << "only the check build sees races";
  simt::Configure(simt::Config{});
  const DeviceArray<unsigned> lock(1, "lock"), counters(32, "counters");
  LaunchLocked(LockBug::kNoAcquireFence, lock.get(), counters.get());
  const std::string text = simt::TakeReport().text;
  const size_t first = text.find("executor_kernels.cu:");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("executor_kernels.cu:", first + 1), std::string::npos) << text;
  EXPECT_NE(text.find("on device `counters` (128 bytes) +"), std::string::npos) << text;
}

TEST(Errors, DeadlockSaysWhoWaitsWhere) {
  for (const Policy policy : AllPolicies()) {
    simt::Configure(WithPolicy(policy));
    LaunchDeadlock();
    const simt::Report report = simt::TakeReport();
    EXPECT_EQ(report.bug, Bug::kDeadlock) << report.text;
    EXPECT_NE(report.text.find("32 lanes at __syncwarp executor_kernels.cu:"), std::string::npos)
        << report.text;
    EXPECT_NE(report.text.find("32 lanes at __syncthreads executor_kernels.cu:"), std::string::npos)
        << report.text;
  }
}

TEST(Errors, MaskMayNotNameLanesThatTheWarpLacks) {
  simt::Configure(simt::Config{});
  LaunchNamesMissingLanes();
  EXPECT_EQ(simt::TakeReport().bug, Bug::kMaskNamesMissingLane);
}

TEST(Errors, SharedMemoryHasLimits) {
  simt::Configure(simt::Config{});
  LaunchTooMuchStaticShared();
  EXPECT_EQ(simt::TakeReport().bug, Bug::kSharedLimit);
  const DeviceArray<unsigned> sums(4, "sums");
  EXPECT_NE(LaunchSharedSums(sums.get(), 99 * 1024 + 4), 0);  // refused, as by CUDA
  LaunchSharedSums(sums.get(), 99 * 1024);                    // with the static part it is too much
  EXPECT_EQ(simt::TakeReport().bug, Bug::kSharedLimit);
}

TEST(Errors, ShapesThatCudaRefusesAreRefusedAtTheCall) {
  simt::Configure(simt::Config{});
  const DeviceArray<unsigned> places(1, "places");
  for (const auto& [grid, block] : std::vector<std::pair<dim3, dim3>>{{dim3(0), dim3(32)},
                                                                      {dim3(1), dim3(0)},
                                                                      {dim3(1), dim3(1025)},
                                                                      {dim3(1), dim3(1, 1, 65)},
                                                                      {dim3(1, 65536), dim3(1)}}) {
    EXPECT_EQ(gpu::ErrorText(LaunchCoordinates(places.get(), grid, block)),
              "invalid configuration argument");
  }
  EXPECT_EQ(simt::TakeReport().bug, Bug::kNone);  // not sticky
}

TEST(Errors, CheckBuildKeepsKernelsOffHostAndFreedMemory) {
  if (!simt::IsCheckBuild()) GTEST_SKIP() << "only the check build knows every access";
  simt::Configure(simt::Config{});
  const DeviceArray<int> to(1, "to");
  const int on_host = 7;
  LaunchRead(&on_host, to.get());
  EXPECT_EQ(simt::TakeReport().bug, Bug::kHostMemory);
  void* p = nullptr;
  gpu::Malloc(&p, 4, "freed");
  gpu::Free(p);
  LaunchRead(static_cast<const int*>(p), to.get());
  EXPECT_EQ(simt::TakeReport().bug, Bug::kUseAfterFree);
  gpu::Malloc(&p, 4, "unwritten");
  LaunchRead(static_cast<const int*>(p), to.get());
  EXPECT_EQ(simt::TakeReport().bug, Bug::kUninitialised);
  gpu::Free(p);
}

}  // namespace
}  // namespace edo::test
