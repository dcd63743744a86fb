// Kernels with one planted bug each, and a correct twin of each: the executor must report the bugs
// and must be silent about the twins. They stay as its own mutation tests.
#pragma once

#include "kernels/cuda/runtime.h"

namespace edo::test {

inline constexpr int kPlantedCases = 17;
inline constexpr unsigned kPlantedInts = 512;
inline constexpr unsigned kTightInts = 500;
inline constexpr unsigned kPlantedBytes = 128 * 16 + 16;

// Device memory that a case reads and writes.
struct PlantedBuffers {
  int* in;               // kPlantedInts
  int* out;              // kPlantedInts
  int* out_tight;        // kTightInts
  unsigned* words;       // 2, zero
  unsigned char* bytes;  // kPlantedBytes
};

// Launches case `id` (1..kPlantedCases).
int LaunchPlanted(int id, bool bug, const PlantedBuffers& buffers, gpu::StreamHandle stream);

}  // namespace edo::test
