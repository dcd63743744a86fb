// Workload `prefetch`: a loop that computes on each batch of uniform rows, read cold (O_DIRECT, no
// cache of hot rows): the plain loop, which reads and computes in turn, and pipelines that read
// ahead. How long a batch computes is known: a multiple of what reading one takes in a plain loop,
// measured anew in every round.
//
// Computing is one of two things. `sleep` stands for a loop that waits for a device (a GPU): it
// leaves the processor alone. `spin` stands for one that computes on the processor: it shares the
// cores with the thread that reads, which needs 0.4 of one here, and with whatever else runs.
//
// Figures are those of the loop once it runs: the first batch, whose rows nobody could read ahead,
// is left out. Goals: where computing takes at least as long as reading, the loop waits for rows at
// most 5 % of its time and at least 90 % of the reading is hidden; where it computes nothing, the
// mean depth of the device's queue is at least 0.8 of its limit.
#include <thread>

#include "bench/store/bench_util.h"
#include "edo/store.h"

namespace edo::bench {
namespace {

constexpr double kDepthLimit = 128;  // reads that one thread has under way at most

enum class Compute { kSleep, kSpin };

void ComputeFor(Compute how, double seconds) {
  if (seconds <= 0) return;
  const double end = Now() + seconds;
  if (how == Compute::kSleep) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  } else {
    while (Now() < end) {
    }
  }
}

struct Loop {
  std::string name;
  uint32_t depth = 0;  // of the pipeline; 0: the plain loop
  Compute how = Compute::kSleep;
  double ratio = 0;  // computing to reading
  std::vector<double> rate, bound, stall, decode, hidden, queue_depth, first;
};

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings),
        store_(Take(Store::Open(MakeStore(settings), ReadingOptions(/*direct=*/true, 1)))),
        table_(Take(store_->OpenOnlyTable())) {}

  // Seconds to read a batch in the plain loop.
  double ReadSeconds(uint64_t seed) {
    const auto batches = Batches(seed, 20);
    std::vector<float> out(settings_.batch * table_->info().dim);
    const double start = Now();
    for (const auto& rows : batches) Check(table_->LookupRows(rows, {}, out.data()));
    return (Now() - start) / static_cast<double>(batches.size());
  }

  void Run(Loop* loop, double read_seconds, uint64_t seed) {
    const double compute_seconds = loop->ratio * read_seconds;
    const double batch_seconds = std::max(compute_seconds, read_seconds);
    loop->bound.push_back(1 / batch_seconds);
    const auto count = static_cast<size_t>(settings_.seconds / batch_seconds) + 12;
    const auto batches = Batches(seed, count);
    loop->depth == 0 ? RunPlain(loop, batches, compute_seconds)
                     : RunPipeline(loop, batches, compute_seconds);
  }

  const Table& table() const { return *table_; }
  std::string read_path() const { return store_->stats().read_path; }

 private:
  std::vector<std::vector<uint64_t>> Batches(uint64_t seed, size_t count) const {
    Random random(seed);
    std::vector<std::vector<uint64_t>> batches(count, std::vector<uint64_t>(settings_.batch));
    for (auto& batch : batches) {
      for (uint64_t& row : batch) row = random.Next() % settings_.rows;
    }
    return batches;
  }

  void RunPlain(Loop* loop, const std::vector<std::vector<uint64_t>>& batches,
                double compute_seconds) {
    std::vector<float> out(settings_.batch * table_->info().dim);
    double reading = 0;
    const double start = Now();
    for (const auto& rows : batches) {
      const double before = Now();
      Check(table_->LookupRows(rows, {}, out.data()));
      reading += Now() - before;
      ComputeFor(loop->how, compute_seconds);
    }
    const double seconds = Now() - start;
    loop->rate.push_back(static_cast<double>(batches.size()) / seconds);
    loop->stall.push_back(reading / seconds);
    loop->hidden.push_back(0);
  }

  void RunPipeline(Loop* loop, const std::vector<std::vector<uint64_t>>& batches,
                   double compute_seconds) {
    const auto pipeline = Take(table_->MakePipeline(KeysFrom(batches), {.depth = loop->depth}));
    PipelineBatch batch;
    const double before = Now();
    Take(pipeline->Next(&batch));
    loop->first.push_back(Now() - before);
    ComputeFor(loop->how, compute_seconds);
    const double start = Now();
    const PipelineStats first = pipeline->stats();
    const Stats reads_before = store_->stats();
    while (Take(pipeline->Next(&batch))) {
      Check(batch.status);
      // What is under way at the end is the last `depth` batches, with nobody asking for more: the
      // depth of the queue is looked at before that.
      if (batch.number + loop->depth + 2 == batches.size()) AddDepth(loop, reads_before);
      ComputeFor(loop->how, compute_seconds);
    }
    const double seconds = Now() - start;
    const PipelineStats last = pipeline->stats();
    const double stall = last.stall_seconds - first.stall_seconds;
    const double read = last.read_seconds - first.read_seconds;
    loop->rate.push_back(static_cast<double>(batches.size() - 1) / seconds);
    loop->stall.push_back(stall / seconds);
    loop->decode.push_back((last.lookup_seconds - first.lookup_seconds) /
                           static_cast<double>(batches.size() - 1));
    loop->hidden.push_back(1 - std::min(stall, read) / std::max(read, 1e-9));
  }

  void AddDepth(Loop* loop, const Stats& before) const {
    const Stats stats = store_->stats();
    const double samples =
        static_cast<double>(stats.read_depth_samples - before.read_depth_samples);
    if (samples == 0) return;
    loop->queue_depth.push_back(static_cast<double>(stats.read_depth_sum - before.read_depth_sum) /
                                samples);
  }

  const Settings& settings_;
  const std::unique_ptr<Store> store_;
  const std::unique_ptr<Table> table_;
};

std::vector<Loop> Loops() {
  std::vector<Loop> loops;
  const auto add = [&](uint32_t depth, Compute how, double ratio) {
    char name[96];
    if (depth == 0) {
      std::snprintf(name, sizeof name, "plain loop");
    } else {
      std::snprintf(name, sizeof name, "depth %u", depth);
    }
    std::string full = name;
    if (ratio > 0) full += how == Compute::kSleep ? ", sleep" : ", spin";
    std::snprintf(name, sizeof name, ", compute / read %.2f", ratio);
    loops.push_back({full + name, depth, how, ratio, {}, {}, {}, {}, {}, {}, {}});
  };
  for (const double ratio : {0.0, 0.5, 1.0, 1.25, 1.5, 2.0}) {
    add(0, Compute::kSleep, ratio);
    add(2, Compute::kSleep, ratio);
    if (ratio > 0) add(2, Compute::kSpin, ratio);
  }
  for (const uint32_t depth : {1, 4}) {
    for (const double ratio : {0.0, 1.0, 1.25}) add(depth, Compute::kSleep, ratio);
  }
  return loops;
}

}  // namespace

void BenchPrefetch(const Settings& settings) {
  Bench bench(settings);
  std::vector<Loop> loops = Loops();
  std::vector<double> reads;
  (void)bench.ReadSeconds(7);  // opens files, makes rings
  for (int round = 0; round < settings.rounds; ++round) {
    const uint64_t seed = 1000 + static_cast<uint64_t>(round) * 100;
    for (size_t i = 0; i < loops.size(); ++i) {
      // Measured beside each loop: a disk that others use, too, changes its pace.
      const double read = bench.ReadSeconds(seed + i);
      reads.push_back(read);
      bench.Run(&loops[i], read, seed + i + 50);
    }
  }
  const double read_ms = Median(reads) * 1e3;
  std::printf(
      "\nprefetch: batches of %zu uniform rows of %llu bytes, O_DIRECT, no row cache (%s)\n"
      "  reading a batch in a plain loop: %.1f ms\n"
      "  %-38s %9s %9s %7s %7s %7s %10s %9s\n",
      settings.batch, static_cast<unsigned long long>(bench.table().info().row_bytes),
      bench.read_path().c_str(), read_ms, "", "batches/s", "of bound", "waits", "hidden", "depth",
      "decode, ms", "first, ms");
  WriteCsv(settings, "prefetch", {"reading a batch, plain loop", read_ms, "ms", ""}, 1);
  for (const Loop& loop : loops) {
    std::vector<double> of_bound;
    for (size_t i = 0; i < loop.rate.size(); ++i) of_bound.push_back(loop.rate[i] / loop.bound[i]);
    const double depth = Median(loop.queue_depth);
    std::printf("  %-38s %9.2f %9.3f %6.1f%% %6.1f%% %7.1f %10.2f %9.1f\n", loop.name.c_str(),
                Median(loop.rate), Median(of_bound), 100 * Median(loop.stall),
                100 * Median(loop.hidden), depth, 1e3 * Median(loop.decode),
                1e3 * Median(loop.first));
    WriteCsv(settings, "prefetch",
             {loop.name + ": rate", Median(loop.rate), "batches/s",
              "ratio: to the longer of computing and reading"},
             Median(of_bound));
    WriteCsv(settings, "prefetch",
             {loop.name + ": waits", 100 * Median(loop.stall), "%", "ratio: of the loop's time"},
             Median(loop.stall));
    if (loop.depth == 0) continue;
    WriteCsv(settings, "prefetch",
             {loop.name + ": hidden", 100 * Median(loop.hidden), "%", "ratio: of the reading time"},
             Median(loop.hidden));
    WriteCsv(settings, "prefetch",
             {loop.name + ": decoding a batch", 1e3 * Median(loop.decode), "ms", ""}, 0);
    WriteCsv(settings, "prefetch",
             {loop.name + ": queue depth", depth, "reads", "ratio: to the limit of 128"},
             depth / kDepthLimit);
  }
  std::fflush(stdout);
}

}  // namespace edo::bench
