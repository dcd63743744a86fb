// Warp collectives: a meeting of the lanes that a mask names. The last lane to arrive computes all
// results. Shuffles, votes, matches and reductions exchange values but do not order memory; only
// __syncwarp does, as CUDA documents.
#include "kernels/simt/collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/simt/check.h"
#include "kernels/simt/scheduler.h"
#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

const char* Name(Collective operation) {
  static constexpr const char* kNames[] = {
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
      "__shfl_xor_sync",   "__ballot_sync",     "__any_sync",        "__all_sync",
      "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
      "__reduce_or_sync",  "__reduce_xor_sync"};
  return kNames[static_cast<size_t>(operation)];
}

bool IsShuffle(Collective operation) {
  return operation >= Collective::kShuffle && operation <= Collective::kShuffleXor;
}

// The lane that `lane` reads (PTX ISA, "shfl.sync"): itself where the source is outside its
// segment.
uint32_t ShuffleSource(const Meeting& meeting, uint32_t lane, uint32_t argument) {
  const uint32_t width = meeting.width;
  const uint32_t first = lane / width * width;
  const uint32_t distance = argument % kWarpLanes;
  switch (meeting.operation) {
    case Collective::kShuffle:
      return first + argument % width;
    case Collective::kShuffleUp:
      return lane - first >= distance ? lane - distance : lane;
    case Collective::kShuffleDown:
      return lane + distance < first + width ? lane + distance : lane;
    default: {  // xor may read earlier segments, never later ones
      const uint32_t source = lane ^ distance;
      return source < first + width ? source : lane;
    }
  }
}

void CompleteShuffle(const Warp& warp, const Meeting& meeting) {
  ForEachLane(meeting.arrived, [&](uint32_t lane) {
    const uint32_t source = ShuffleSource(meeting, lane, warp.lanes[lane]->argument);
    if ((meeting.arrived >> source & 1) == 0) {
      Fail(Bug::kShuffleSource, [&] {
        return Format("%s at %s: lane %u reads lane %u, which takes no part (mask %08x)",
                      Name(meeting.operation), DescribeSite(meeting.site).c_str(), lane, source,
                      meeting.mask);
      });
    }
    warp.lanes[lane]->result = warp.lanes[source]->value;
  });
}

void GiveAll(const Warp& warp, uint32_t lanes, uint64_t result) {
  ForEachLane(lanes, [&](uint32_t lane) { warp.lanes[lane]->result = result; });
}

void CompleteVote(const Warp& warp, const Meeting& meeting) {
  uint32_t votes = 0;
  ForEachLane(meeting.arrived, [&](uint32_t lane) {
    if (warp.lanes[lane]->value != 0) votes |= 1u << lane;
  });
  uint64_t result = votes;
  if (meeting.operation == Collective::kAny) result = votes != 0;
  if (meeting.operation == Collective::kAll) result = votes == meeting.arrived;
  GiveAll(warp, meeting.arrived, result);
}

uint32_t LanesWithValue(const Warp& warp, uint32_t lanes, uint64_t value) {
  uint32_t equal = 0;
  ForEachLane(lanes, [&](uint32_t lane) {
    if (warp.lanes[lane]->value == value) equal |= 1u << lane;
  });
  return equal;
}

void CompleteMatch(const Warp& warp, const Meeting& meeting) {
  if (meeting.operation == Collective::kMatchAny) {
    ForEachLane(meeting.arrived, [&](uint32_t lane) {
      Lane& own = *warp.lanes[lane];
      own.result = LanesWithValue(warp, meeting.arrived, own.value);
    });
    return;
  }
  const uint64_t first = warp.lanes[static_cast<size_t>(__builtin_ctz(meeting.arrived))]->value;
  const bool same = LanesWithValue(warp, meeting.arrived, first) == meeting.arrived;
  GiveAll(warp, meeting.arrived, same ? meeting.arrived : 0);
}

uint32_t Reduce(Collective operation, uint32_t a, uint32_t b) {
  const auto signed_a = static_cast<int32_t>(a);
  const auto signed_b = static_cast<int32_t>(b);
  switch (operation) {
    case Collective::kReduceAdd:
      return a + b;
    case Collective::kReduceMinUnsigned:
      return std::min(a, b);
    case Collective::kReduceMaxUnsigned:
      return std::max(a, b);
    case Collective::kReduceMinSigned:
      return static_cast<uint32_t>(std::min(signed_a, signed_b));
    case Collective::kReduceMaxSigned:
      return static_cast<uint32_t>(std::max(signed_a, signed_b));
    case Collective::kReduceAnd:
      return a & b;
    case Collective::kReduceOr:
      return a | b;
    default:
      return a ^ b;
  }
}

void CompleteReduction(const Warp& warp, const Meeting& meeting) {
  const auto first = static_cast<uint32_t>(__builtin_ctz(meeting.arrived));
  auto total = static_cast<uint32_t>(warp.lanes[first]->value);
  ForEachLane(meeting.arrived & ~(1u << first), [&](uint32_t lane) {
    total = Reduce(meeting.operation, total, static_cast<uint32_t>(warp.lanes[lane]->value));
  });
  GiveAll(warp, meeting.arrived, total);
}

void Complete(Warp* warp, uint32_t which) {
  const Meeting meeting = warp->meetings[which];
  warp->meetings[which] = warp->meetings[--warp->meeting_count];
  ++executor.statistics.collectives;
  if (meeting.operation == Collective::kSyncWarp) {
    check::OrderWarp(warp, meeting.arrived);
  } else if (IsShuffle(meeting.operation)) {
    CompleteShuffle(*warp, meeting);
  } else if (meeting.operation <= Collective::kAll) {
    CompleteVote(*warp, meeting);
  } else if (meeting.operation <= Collective::kMatchAll) {
    CompleteMatch(*warp, meeting);
  } else {
    CompleteReduction(*warp, meeting);
  }
  std::array<Lane*, kWarpLanes> waiting;
  size_t count = 0;
  ForEachLane(meeting.arrived, [&](uint32_t lane) {
    if (warp->lanes[lane]->state == LaneState::kWaitsForWarp) waiting[count++] = warp->lanes[lane];
  });
  MakeReady(waiting.data(), count);
}

void CheckMask(const Lane& lane, Collective operation, uint32_t mask, const Site& site) {
  const auto fail = [&](Bug bug, const char* what, uint32_t lanes) {
    Fail(bug, [&] {
      return Format("%s at %s with mask %08x %s %08x", Name(operation), DescribeSite(site).c_str(),
                    mask, what, lanes);
    });
  };
  const Warp& warp = *lane.warp;
  const uint32_t self = 1u << lane.index_in_warp;
  if ((mask & self) == 0) fail(Bug::kMaskExcludesCaller, "does not name the caller, lane", self);
  if ((mask & ~warp.present) != 0) {
    fail(Bug::kMaskNamesMissingLane, "names more lanes than the warp has, which are", warp.present);
  }
  if (executor.config.no_early_exit && (mask & warp.exited) != 0) {
    fail(Bug::kExitedLane, "names lanes that have returned:", mask & warp.exited);
  }
}

bool SameLine(const Site& a, const Site& b) {
  return !executor.config.one_line_a_collective ||
         (a.line == b.line && std::strcmp(a.file, b.file) == 0);
}

// The meeting under this mask, opened by the first lane to come.
uint32_t FindMeeting(Warp* warp, const CollectiveCall& call, uint32_t mask, const Site& site) {
  for (uint32_t i = 0; i < warp->meeting_count; ++i) {
    const Meeting& open = warp->meetings[i];
    if (open.mask != mask) continue;
    if (open.operation != call.operation || open.value_bytes != call.value_bytes ||
        open.width != call.width || !SameLine(open.site, site)) {
      Fail(Bug::kCollectiveMismatch, [&] {
        return Format(
            "lanes of one warp meet at different collectives under mask %08x: %s at %s and %s at "
            "%s",
            mask, Name(open.operation), DescribeSite(open.site).c_str(), Name(call.operation),
            DescribeSite(site).c_str());
      });
    }
    return i;
  }
  warp->meetings[warp->meeting_count] =
      Meeting{mask, 0, call.width, call.operation, call.value_bytes, site};
  return warp->meeting_count++;
}

}  // namespace

uint64_t RunCollective(const CollectiveCall& call, uint32_t mask, Site site) noexcept {
  const ExecutorSection section;
  Lane* lane = executor.current;
  Warp* warp = lane->warp;
  lane->site = site;
  lane->mask = mask;
  lane->doing = Name(call.operation);
  CheckMask(*lane, call.operation, mask, site);
  const uint32_t which = FindMeeting(warp, call, mask, site);
  Meeting& meeting = warp->meetings[which];
  meeting.arrived |= 1u << lane->index_in_warp;
  lane->value = call.value;
  lane->argument = call.argument;
  if (((meeting.arrived | warp->exited) & mask) != mask) {
    lane->state = LaneState::kWaitsForWarp;
    LeaveLane(lane);
  } else if (IsFirstComeFirstServed()) {
    Complete(warp, which);
  } else {
    lane->state = LaneState::kWaitsForWarp;  // it competes with those that it lets go
    Complete(warp, which);
    LeaveLane(lane);
  }
  lane->doing = "running";
  lane->site.line = 0;
  return lane->result;
}

void ExitFromMeetings(Lane* lane) {
  Warp* warp = lane->warp;
  for (uint32_t i = 0; i < warp->meeting_count;) {
    const Meeting& meeting = warp->meetings[i];
    if ((meeting.mask >> lane->index_in_warp & 1) == 0) {
      ++i;
      continue;
    }
    if (executor.config.no_early_exit) {
      Fail(Bug::kExitedLane, [&] {
        return Format("lane %u returns, but %s at %s waits for it (mask %08x)", lane->index_in_warp,
                      Name(meeting.operation), DescribeSite(meeting.site).c_str(), meeting.mask);
      });
    }
    if (((meeting.arrived | warp->exited) & meeting.mask) == meeting.mask) {
      Complete(warp, i);  // puts another meeting in its place
    } else {
      ++i;
    }
  }
}

}  // namespace edo::simt
