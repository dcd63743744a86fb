// The names of the dialect against plain models, on whatever runs the kernels: the executor in the
// tests, a GPU when conformance.cu is compiled by nvcc with -DEDO_CONFORMANCE_MAIN. So it says both
// whether the executor is right and whether it agrees with hardware. Needs sm_80 or later.
#pragma once

#include <cstdint>
#include <string>

namespace edo::test {

// Empty when everything agrees; else the first differences. `seed` draws masks, widths and values.
std::string CheckWarpConformance(uint64_t seed);    // shuffles, votes, matches, reductions, Tile
std::string CheckScalarConformance(uint64_t seed);  // bits, integers, float16, atomics

}  // namespace edo::test
