// The CUDA bodies of the kernels in backend.h: functions that enqueue them, one .cu file a group;
// cuda_backend.cu calls them. All return 0 or an error for gpu::ErrorText(). Counts of zero enqueue
// nothing. Kernels take their arguments by value, so that the host may change its own at once.
//
// What a GPU and the CPU may give differently: the order of compacted lists, and the bits of a NaN
// that arithmetic makes (which takes weights that are not finite).
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/dialect.h"

namespace edo::kernels::GPU_BACKEND_NS {

// How launches are cut. Results do not depend on it.
struct LaunchShape {
  uint32_t most_blocks = 8192;  // of a grid; the rest is done in strides
  uint32_t rows_a_warp = 0;     // of ProbeGather and Gather: 8, 16 or 32 at once; 0: by their count
};

// probe.cu
int ProbeGather(const ProbeGatherArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
// pool.cu
int ProbePool(const ProbePoolArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
int Pool(const PoolArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
// gather.cu
int Gather(const GatherArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
// fill.cu
int ChooseSlots(const FillArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
int WriteSlots(const FillArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
int PublishSlots(const FillArgs& args, const LaunchShape& shape, gpu::StreamHandle stream);
// sweep.cu
int InvalidateRange(const BlockView& blocks, uint64_t first, uint64_t last,
                    const LaunchShape& shape, gpu::StreamHandle stream);
int Invalidate(const BlockView& blocks, const uint64_t* positions, uint32_t count,
               const LaunchShape& shape, gpu::StreamHandle stream);
int Pin(const BlockView& blocks, const uint64_t* positions, uint32_t count, int delta,
        uint8_t* done, const LaunchShape& shape, gpu::StreamHandle stream);
int Foresee(const BlockView& blocks, const uint64_t* positions, const uint32_t* next_use,
            uint32_t count, const LaunchShape& shape, gpu::StreamHandle stream);
int AgeScores(const BlockView& blocks, uint32_t clock, const LaunchShape& shape,
              gpu::StreamHandle stream);

}  // namespace edo::kernels::GPU_BACKEND_NS
