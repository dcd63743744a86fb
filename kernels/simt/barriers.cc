// Block barriers and fences.
#include <cstring>

#include "kernels/simt/check.h"
#include "kernels/simt/collectives.h"
#include "kernels/simt/scheduler.h"
#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

int Result(const Block& block) {
  switch (block.barrier) {
    case Barrier::kPlain:
      return 0;
    case Barrier::kCount:
      return static_cast<int>(block.true_predicates);
    case Barrier::kAnd:
      return block.true_predicates == block.arrived;
    case Barrier::kOr:
      return block.true_predicates != 0;
  }
  return 0;
}

void Complete(Block* block) {
  ++executor.statistics.barriers;
  const int result = Result(*block);
  block->arrived = 0;
  block->true_predicates = 0;
  check::OrderBlock(block);
  static std::vector<Lane*> waiting;
  waiting.clear();
  for (Lane* lane : block->lanes) {
    if (lane->state != LaneState::kWaitsForBlock) continue;
    lane->result = static_cast<uint64_t>(result);
    waiting.push_back(lane);
  }
  MakeReady(waiting.data(), waiting.size());
}

void CheckBarrier(const Block& block, Barrier kind, const Site& site) {
  const bool same_line = !executor.config.one_line_a_collective ||
                         (block.barrier_site.line == site.line &&
                          std::strcmp(block.barrier_site.file, site.file) == 0);
  if (block.arrived != 0 && (block.barrier != kind || !same_line)) {
    Fail(Bug::kDivergentBarrier, [&] {
      return Format("threads of one block meet at different barriers: %s and %s",
                    DescribeSite(block.barrier_site).c_str(), DescribeSite(site).c_str());
    });
  }
  if (executor.config.no_early_exit && block.live != executor.threads_a_block) {
    Fail(Bug::kDivergentBarrier, [&] {
      return Format("__syncthreads at %s after %u threads have returned",
                    DescribeSite(site).c_str(), executor.threads_a_block - block.live);
    });
  }
}

}  // namespace

int SyncThreads(Barrier kind, int predicate, Site site) noexcept {
  const ExecutorSection section;
  Lane* lane = executor.current;
  Block* block = lane->block;
  lane->site = site;
  lane->mask = 0;
  lane->doing = "__syncthreads";
  CheckBarrier(*block, kind, site);
  if (block->arrived == 0) {
    block->barrier = kind;
    block->barrier_site = site;
  }
  block->true_predicates += predicate != 0;
  ++block->arrived;
  lane->state = LaneState::kWaitsForBlock;
  if (block->arrived == block->live) Complete(block);
  LeaveLane(lane);
  lane->doing = "running";
  lane->site.line = 0;
  return static_cast<int>(lane->result);
}

void ExitFromBarrier(Lane* lane) {
  Block* block = lane->block;
  if (block->arrived == 0) return;
  if (executor.config.no_early_exit) {
    Fail(Bug::kDivergentBarrier, [&] {
      return Format("a thread returns while others wait at the __syncthreads of %s",
                    DescribeSite(block->barrier_site).c_str());
    });
  }
  if (block->arrived == block->live) Complete(block);
}

void ThreadFence() noexcept {
  const ExecutorSection section;
  check::AcquireFence(executor.current);
  check::ReleaseFence(executor.current);
}

}  // namespace edo::simt
