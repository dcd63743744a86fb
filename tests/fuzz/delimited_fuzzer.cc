// CSV and TSV.
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edo::SourceOptions options;
  for (const char* format : {"csv", "tsv"}) {
    options.format = format;
    edo::storage::FuzzReader(data, size, options);
  }
  return 0;
}
