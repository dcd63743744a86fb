// The CPU bodies of the kernels in backend.h, one file a group; cpu_backend.cc calls them. They
// keep nothing, allocate nothing and may run on many threads at once, fills excepted.
#pragma once

#include "kernels/backend.h"

namespace edo::kernels::cpu {

void ProbeGather(const ProbeGatherArgs& args);  // probe.cc
void ProbePool(const ProbePoolArgs& args);      // pool.cc
void Pool(const PoolArgs& args);
void Gather(const GatherArgs& args);     // gather.cc
void ChooseSlots(const FillArgs& args);  // fill.cc
void WriteSlots(const FillArgs& args);
void PublishSlots(const FillArgs& args);
void InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last);  // sweep.cc
void Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count);
void Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
         uint8_t* done);
void Foresee(const BlockView& blocks, const uint64_t* positions, const uint32_t* next_use,
             uint32_t count);
void AgeScores(const BlockView& blocks, uint32_t clock);

}  // namespace edo::kernels::cpu
