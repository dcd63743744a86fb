// Any bytes: what they are is found out first (gzip and zstd too).
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edo::storage::FuzzReader(data, size, edo::SourceOptions());
  return 0;
}
