// NumPy arrays, and raw ones of the same bytes.
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edo::SourceOptions options;
  options.format = "npy";
  edo::storage::FuzzReader(data, size, options);
  options.format = "raw";
  options.dim = 3;
  options.dtype = size % 2 == 0 ? "be-f16" : "f64";
  edo::storage::FuzzReader(data, size, options);
  return 0;
}
