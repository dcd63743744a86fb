#!/bin/bash
# Installs, builds and runs every test: the release build with all tests, then the fast tests under
# the address, undefined-behaviour and thread sanitizers. About 30 minutes on two cores.
#   scripts/test.sh            everything
#   scripts/test.sh release    one preset only (release, asan, tsan)
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
presets=("${@:-}")
[ -n "${presets[0]}" ] || presets=(release asan tsan)
export CTEST_PARALLEL_LEVEL="${CTEST_PARALLEL_LEVEL:-2}"
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp history_size=4 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="detect_stack_use_after_return=1 ${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"
# A seed that no run had before, printed so that it can be replayed.
seed=$(date +%s)
for preset in "${presets[@]}"; do
  echo "=== $preset"
  # One kind of GPU code for all GPUs, where nvcc is found: it compiles in a minute.
  cmake --preset "$preset" -DCMAKE_CUDA_ARCHITECTURES="${EDO_CUDA_ARCHITECTURES:-80-virtual}" >/dev/null
  cmake --build "build/$preset"
  case "$preset" in
    # RocksDB as packaged is not instrumented: under the thread sanitizer the engine runs over the
    # in-memory row store, and the tests of the command, which need RocksDB, are left out.
    tsan) ctest --test-dir "build/$preset" --output-on-failure -L 'kernels|storage|gpucache|engine' ;;
    *) ctest --test-dir "build/$preset" --output-on-failure ;;
  esac
done
if [ "${presets[0]}" = release ] && [ -x build/release/tests/engine_tests ]; then
  echo "=== random tests with a fresh seed: EDO_TEST_SEED=$seed"
  EDO_TEST_SEED=$seed build/release/tests/engine_tests --gtest_brief=1
  EDO_TEST_SEED=$seed build/release/tests/storage_tests --gtest_brief=1
  EDO_TEST_SEED=$seed build/release/tests/gpucache_tests --gtest_brief=1
  # The CUDA kernels on the executor, where this machine can run it (docs/simt.md).
  for program in $(find build/release/tests -name 'simt_*_tests' -type f -perm -u+x | sort); do
    EDO_TEST_SEED=$seed "$program" --gtest_brief=1
  done
fi
