// JSONL.
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edo::SourceOptions options;
  options.format = "jsonl";
  edo::storage::FuzzReader(data, size, options);
  return 0;
}
