// The executor against planted bugs (planted_bugs.cu), 20 seeds each, random and starve in turn.
// The check build must report every bug, as the right class. The fast build checks less: what it
// must report, what must at least give a wrong result, and what it cannot see is in the table. A
// correct twin of each case must be silent, and right, under every policy in both builds.
#include "tests/kernels/simt/planted_bugs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/kernels/simt/schedules.h"

namespace edo::test {
namespace {

using simt::Bug;
using simt::Policy;

enum class Fast { kReports, kWrongResult, kCannotSee };

struct Case {
  const char* name;
  std::set<Bug>
      reports;  // in the check build; several where the schedule decides which comes first
  Fast fast;
};
const Case kCases[kPlantedCases] = {
    {"MissingSyncthreads", {Bug::kRace, Bug::kUninitialised}, Fast::kWrongResult},
    {"MissingSecondBarrierInLoop", {Bug::kRace}, Fast::kWrongResult},
    {"FullMaskShuffleInDivergentBranch", {Bug::kCollectiveMismatch}, Fast::kReports},
    {"ShuffleFromLaneOutsideMask", {Bug::kShuffleSource}, Fast::kReports},
    {"MaskOmitsCaller", {Bug::kMaskExcludesCaller}, Fast::kReports},
    {"SharedOnePastTheEnd", {Bug::kOutOfBounds}, Fast::kCannotSee},
    {"DivergentSyncthreads", {Bug::kDivergentBarrier}, Fast::kReports},
    {"MissingSyncwarp", {Bug::kRace}, Fast::kWrongResult},
    {"FlagWithoutFence", {Bug::kRace}, Fast::kCannotSee},
    {"MisalignedVectorLoad", {Bug::kMisaligned}, Fast::kReports},
    {"UninitialisedSharedRead", {Bug::kUninitialised}, Fast::kWrongResult},
    {"NonAtomicCounter", {Bug::kRace}, Fast::kCannotSee},
    {"ExitBeforeFullMaskShuffle", {Bug::kExitedLane}, Fast::kReports},
    {"GlobalWritePastTheEnd", {Bug::kOutOfBounds}, Fast::kCannotSee},
    {"OtherLanesLocalVariable", {Bug::kForeignStack}, Fast::kCannotSee},
    {"AsyncCopyWithoutWait", {Bug::kUninitialised, Bug::kRace}, Fast::kWrongResult},
    // Only when some block is not resident: with all four it is right by luck.
    {"SpinOnNonResidentBlocks", {Bug::kLivelock}, Fast::kReports},
};
constexpr int kCounterCase = 12, kTightCase = 14, kSpinCase = 17;

// Device memory of one run, filled as every case expects it.
class Buffers {
 public:
  Buffers() {
    std::vector<int> ints(kPlantedInts);
    for (size_t i = 0; i < ints.size(); ++i) ints[i] = static_cast<int>(i) * 7 + 3;
    std::vector<unsigned char> bytes(kPlantedBytes);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 13);
    Allocate(&on_device.in, kPlantedInts, "in");
    Allocate(&on_device.out, kPlantedInts, "out");
    Allocate(&on_device.out_tight, kTightInts, "out_tight");
    Allocate(&on_device.words, 2, "words");
    Allocate(&on_device.bytes, kPlantedBytes, "bytes");
    gpu::CopyAsync(on_device.in, ints.data(), ints.size() * sizeof(int), gpu::Copy::kHostToDevice,
                   nullptr);
    gpu::CopyAsync(on_device.bytes, bytes.data(), bytes.size(), gpu::Copy::kHostToDevice, nullptr);
    gpu::MemsetAsync(on_device.words, 0, 2 * sizeof(unsigned), nullptr);
    gpu::MemsetAsync(on_device.out, 0xff, kPlantedInts * sizeof(int), nullptr);
  }
  ~Buffers() {
    for (void* p : allocated_) gpu::Free(p);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::vector<int> Results(int id) const {
    std::vector<int> results(id == kTightCase ? kTightInts : kPlantedInts);
    const int* from = id == kTightCase ? on_device.out_tight : on_device.out;
    if (id == kCounterCase) {
      results.resize(1);
      from = reinterpret_cast<const int*>(on_device.words);
    }
    gpu::CopyAsync(results.data(), from, results.size() * sizeof(int), gpu::Copy::kDeviceToHost,
                   nullptr);
    return results;
  }

  PlantedBuffers on_device{};

 private:
  template <class T>
  void Allocate(T** p, size_t count, const char* tag) {
    void* address = nullptr;
    ASSERT_EQ(gpu::Malloc(&address, count * sizeof(T), tag), 0);
    *p = static_cast<T*>(address);
    allocated_.push_back(address);
  }
  std::vector<void*> allocated_;
};

struct Outcome {
  simt::Report report;
  std::vector<int> results;
};

Outcome RunCase(int id, bool bug, const simt::Config& config) {
  simt::Configure(config);
  const Buffers buffers;
  LaunchPlanted(id, bug, buffers.on_device, nullptr);
  Outcome outcome;
  outcome.report = simt::TakeReport();
  outcome.results = buffers.Results(id);
  return outcome;
}

// What the twin gives in order: the results that every schedule must give.
std::vector<int> RightResults(int id) {
  simt::Config config;
  config.policy = Policy::kInOrder;
  return RunCase(id, false, config).results;
}

class PlantedBug : public ::testing::TestWithParam<int> {};

TEST_P(PlantedBug, IsSeen) {
  const int id = GetParam();
  const Case& planted = kCases[id - 1];
#if EDO_SANITIZED  // the fast build with AddressSanitizer, which ends the process
  if (planted.reports.contains(Bug::kOutOfBounds)) {
    EXPECT_DEATH(RunCase(id, true, simt::Config{}),
                 "AddressSanitizer: use-after-poison|runtime error: index 128");
    return;
  }
#endif
  const std::vector<int> right = RightResults(id);
  int reported = 0, wrong = 0, runs = 0;
  for (simt::Config config : Schedules({Policy::kRandom})) {
    if (config.seed % 2 == 0) config.policy = Policy::kStarve;
    if (id == kSpinCase) config.resident_blocks = 1 + static_cast<int>(config.seed % 4);
    SCOPED_TRACE(ReplayText(config));
    const Outcome outcome = RunCase(id, true, config);
    ++runs;
    if (outcome.report.bug != Bug::kNone) {
      ++reported;
      EXPECT_TRUE(planted.reports.contains(outcome.report.bug)) << outcome.report.text;
      EXPECT_NE(outcome.report.text.find("planted_bugs.cu:"), std::string::npos)
          << "names no source line: " << outcome.report.text;
    } else if (outcome.results != right) {
      ++wrong;
    }
    if (runs == 1) std::cout << outcome.report.text << "\n";
  }
  std::cout << planted.name << ": reported " << reported << ", wrong result " << wrong << " of "
            << runs << "\n";
  if (id == kSpinCase) {
    EXPECT_GE(reported, 1);
  } else if (simt::IsCheckBuild() || planted.fast == Fast::kReports) {
    EXPECT_EQ(reported, runs);
  } else if (planted.fast == Fast::kWrongResult) {
    EXPECT_EQ(reported, 0);
    EXPECT_GE(wrong, runs * 3 / 4);
  }
}

TEST_P(PlantedBug, TwinIsSilentAndRight) {
  const int id = GetParam();
  const std::vector<int> right = RightResults(id);
  for (const simt::Config& config : Schedules(AllPolicies())) {
    SCOPED_TRACE(ReplayText(config));
    const Outcome outcome = RunCase(id, false, config);
    ASSERT_EQ(outcome.report.text, "");
    ASSERT_EQ(outcome.results, right);
  }
}

INSTANTIATE_TEST_SUITE_P(, PlantedBug, ::testing::Range(1, kPlantedCases + 1),
                         [](const auto& info) { return std::string(kCases[info.param - 1].name); });

}  // namespace
}  // namespace edo::test
