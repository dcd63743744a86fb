// EpochGate: who is waited for, many readers at once, and that what was there before an epoch is
// never overwritten under a reader (for the thread sanitizer: the data are plain).
#include "gpucache/epoch_gate.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/test_util.h"

namespace edo::gpucache {
namespace {

TEST(EpochGate, NobodyInsideMeansAllPast) {
  EpochGate gate;
  EXPECT_TRUE(gate.AllPast(gate.Advance()));
  { const EpochGate::Reader reader = gate.Enter(); }
  EXPECT_TRUE(gate.AllPast(gate.Advance()));
}

TEST(EpochGate, ReaderFromBeforeIsWaitedForAndALaterOneIsNot) {
  EpochGate gate;
  std::optional<uint64_t> epoch;
  {
    const EpochGate::Reader before = gate.Enter();
    epoch = gate.Advance();
    EXPECT_FALSE(gate.AllPast(*epoch));
    const EpochGate::Reader after = gate.Enter();
    EXPECT_FALSE(gate.AllPast(*epoch));
  }
  const EpochGate::Reader later = gate.Enter();
  EXPECT_TRUE(gate.AllPast(*epoch));
  EXPECT_FALSE(gate.AllPast(gate.Advance()));
  EXPECT_TRUE(gate.AllPast(*epoch));
}

TEST(EpochGate, OneThreadMayEnterAsOftenAsThereAreLines) {
  EpochGate gate;
  std::vector<std::unique_ptr<EpochGate::Reader>> readers;
  for (size_t i = 0; i < EpochGate::kLines; ++i) {
    readers.emplace_back(new EpochGate::Reader(gate.Enter()));
  }
  const uint64_t epoch = gate.Advance();
  while (!readers.empty()) {
    EXPECT_FALSE(gate.AllPast(epoch));
    readers.pop_back();
  }
  EXPECT_TRUE(gate.AllPast(epoch));
}

TEST(EpochGate, MoreReadersThanLinesTakeTurns) {
  constexpr size_t kReaders = EpochGate::kLines + 40;
  EpochGate gate;
  std::atomic<size_t> inside{0};
  std::atomic<size_t> most{0};
  std::atomic<size_t> done{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kReaders; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const EpochGate::Reader reader = gate.Enter();
        const size_t now = ++inside;
        size_t seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        --inside;
      }
      ++done;
    });
  }
  // Epochs pass meanwhile: a reader leaves sooner or later, whoever waits in line.
  while (done < kReaders) gate.WaitUntilPast(gate.Advance());
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, EpochGate::kLines);
  EXPECT_TRUE(gate.AllPast(gate.Advance()));
}

TEST(EpochGate, ReaderBeyondTheLinesGetsInWhenOneLeaves) {
  EpochGate gate;
  std::vector<std::unique_ptr<EpochGate::Reader>> readers;
  for (size_t i = 0; i < EpochGate::kLines; ++i) {
    readers.emplace_back(new EpochGate::Reader(gate.Enter()));
  }
  std::atomic<bool> entered{false};
  std::thread thread([&] {
    const EpochGate::Reader reader = gate.Enter();
    entered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(entered);
  readers.pop_back();
  thread.join();
  EXPECT_TRUE(entered);
}

// One thread replaces the memory that a pointer names; the others read it. Plain values: an
// overwrite too early is a wrong sum, and a race that the thread sanitizer reports.
TEST(EpochGate, NothingIsOverwrittenUnderAReader) {
  EpochGate gate;
  struct Data {
    std::array<uint64_t, 32> values{};
  };
  std::array<Data, 2> both;
  std::atomic<Data*> current{&both[0]};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        const EpochGate::Reader reader = gate.Enter();
        const Data* const data = current.load(std::memory_order_acquire);
        for (const uint64_t value : data->values) ASSERT_EQ(value, data->values[0]);
      }
    });
  }
  uint64_t at_once = 0;
  uint64_t version = 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (; std::chrono::steady_clock::now() < end; ++version) {
    Data* const old = &both[(version + 1) % 2];
    Data* const next = &both[version % 2];
    // `next` was replaced a turn ago; who saw it then must be gone.
    if (version > 1) {
      const uint64_t epoch = gate.Advance();
      at_once += gate.AllPast(epoch);
      gate.WaitUntilPast(epoch);
    }
    next->values.fill(version);
    ASSERT_EQ(current.load(), old);
    current.store(next, std::memory_order_release);
  }
  stop = true;
  for (std::thread& thread : readers) thread.join();
  std::cout << at_once << " of " << version << " overwrites did not wait\n";
}

}  // namespace
}  // namespace edo::gpucache
