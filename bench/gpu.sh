#!/bin/sh
# Builds with CUDA on a machine with a GPU, runs the kernels' tests on it, and measures the hit path
# (bench/gpu/gather_bench.cu), with sector counts where Nsight Compute is installed. Takes a few
# minutes. Exits 77 where there is no GPU or no nvcc; prints nothing that it has not measured.
# Usage: bench/gpu.sh [BUILD_DIRECTORY]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/cuda}
PATH=$PATH:/usr/local/cuda/bin
if ! nvidia-smi -L 2>/dev/null; then
  echo "SKIPPED: no GPU (nvidia-smi finds none)"
  exit 77
fi
if ! command -v nvcc >/dev/null; then
  echo "SKIPPED: nvcc was not found"
  exit 77
fi
mkdir -p "$build"
if cmake --preset cuda -B "$build" -DCMAKE_CUDA_ARCHITECTURES=native >"$build/configure.log" 2>&1; then
  cmake --build "$build" --target kernels_tests gpu_gather_bench >"$build/build.log" 2>&1 ||
    { tail -20 "$build/build.log"; exit 1; }
  tests=$build/tests/kernels_tests
  bench=$build/bench/gpu_gather_bench
else
  # Without the library's other dependencies: the kernels alone.
  echo "the whole library cannot be built here ($build/configure.log); the kernels alone are"
  options="-std=c++20 -O3 -arch=native --fmad=false -Xcompiler=-ffp-contract=off -I. -Iinclude"
  kernels="kernels/*.cc kernels/cpu/*.cc kernels/cuda/*.cu"
  rm -rf "$build/objects" && mkdir -p "$build/objects"
  # One nvcc a file, all at once.
  for file in $(ls $kernels | grep -v no_cuda.cc) bench/gpu/gather_bench.cu \
      tests/kernels/backend_suite.cc tests/kernels/backend_test.cc tests/support/main.cc; do
    nvcc $options -DEDO_TEST_DATA='"tests/data"' -c "$file" \
      -o "$build/objects/$(basename "$file").o" || touch "$build/objects/$(basename "$file").failed" &
  done
  wait
  objects=$(ls "$build"/objects/*.o | grep -vE '/(backend_|main|gather_bench)')
  bench=$build/gpu_gather_bench
  nvcc -arch=native $objects "$build/objects/gather_bench.cu.o" -o "$bench"
  tests=
  if [ -e "$build/objects/backend_test.cc.o" ]; then
    tests=$build/backend_tests
    nvcc -arch=native $objects "$build"/objects/backend_*.cc.o "$build/objects/main.cc.o" -lgtest \
      -o "$tests"
  else
    echo "tests SKIPPED: GoogleTest was not found"
  fi
fi
if [ -n "$tests" ]; then
  "$tests" --gtest_filter='*BackendTest*cuda*' --gtest_brief=1
fi
"$bench"
if command -v ncu >/dev/null; then
  ncu --kernel-name regex:HalfRow \
    --metrics dram__bytes_read.sum,lts__t_sectors_op_read.sum,lts__t_sectors.sum \
    "$bench" --layouts || echo "ncu failed (it may need permission to read counters)"
else
  echo "sector counts SKIPPED: ncu was not found"
fi
