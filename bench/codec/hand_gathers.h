// The yardsticks of decoding: gathers written by hand, for one layout each. Rows `picks` of an
// array of rows without gaps, each asked for from memory a few rows ahead as kernels/cpu/gather.cc
// does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edo::bench {

// `rows`: dim codes and a bfloat16 scale each. Intrinsics where the CPU has AVX-512.
void GatherInt8ByHand(const std::byte* rows, uint32_t dim, const uint32_t* picks, uint32_t count,
                      float* out);
// `rows`: dim floats each.
void GatherCopy(const std::byte* rows, uint32_t dim, const uint32_t* picks, uint32_t count,
                float* out);

}  // namespace edo::bench
