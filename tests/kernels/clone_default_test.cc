// The kernels compiled for any x86-64 give the same bytes as the library's (see clone_check.h).
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#define EDO_SIMD_CLONES
#define edo edo_clone_base
#include "kernels/cpu/f8_codec.cc"
#include "kernels/cpu/float_codecs.cc"
#include "kernels/cpu/int8_codec.cc"
#include "kernels/cpu/l4_codec.cc"
#include "kernels/cpu/nearest_centroids.cc"
#include "kernels/cpu/pq_codec.cc"
#include "kernels/cpu/profile_codec.cc"
#include "kernels/cpu/row_decoders.cc"
#include "kernels/cpu/row_sums.cc"
#undef edo
namespace edo_clone = edo_clone_base;

#include "tests/kernels/clone_check.h"

TEST(CodecKernels, BytesForAnyX86AreTheLibrarys) { CompareClones(); }
