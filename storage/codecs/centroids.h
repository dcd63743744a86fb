// Codebooks and codes as PQ and RQ store them: centroids in bfloat16, codes of 8 or 4 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace edo::storage {

void StoreCentroids(std::span<const float> centroids, std::byte* out);
// All of `stored`, as binary32.
std::vector<float> LoadCentroids(std::span<const std::byte> stored);

// Sets code `part` of a row whose code bytes were zeros.
void WriteCode(uint32_t part_bits, uint32_t part, uint32_t code, std::byte* codes);

}  // namespace edo::storage
