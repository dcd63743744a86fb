// The kernels compiled for AVX2 give the same bytes as the library's (see clone_check.h).
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

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define EDO_SIMD_CLONES __attribute__((target("arch=x86-64-v3")))
#define edo edo_clone_v3
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
namespace edo_clone = edo_clone_v3;

#include "tests/kernels/clone_check.h"

TEST(CodecKernels, BytesForAvx2AreTheLibrarys) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  CompareClones();
}
#endif
