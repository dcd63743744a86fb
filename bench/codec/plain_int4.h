// The two plain INT4 quantisers that L4 is held against: what rows become, as floats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace edo::bench {

// Codes -7 .. 7 times M / 7, M the row's largest magnitude, in fp32: (4 dim + 16) / dim bits a
// value were the scale two bytes.
std::vector<float> ThroughAbsmaxInt4(std::span<const float> rows, uint32_t dim);

// Codes 0 .. 15 between the row's least and largest value, offset and step in binary16:
// (4 dim + 32) / dim bits a value.
std::vector<float> ThroughMinMaxInt4(std::span<const float> rows, uint32_t dim);

}  // namespace edo::bench
