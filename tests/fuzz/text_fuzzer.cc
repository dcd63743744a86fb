// word2vec text, GloVe text and fastText .vec.
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edo::SourceOptions options;
  for (const char* format : {"word2vec", "glove"}) {
    options.format = format;
    edo::storage::FuzzReader(data, size, options);
  }
  options.dim = 2;
  edo::storage::FuzzReader(data, size, options);
  return 0;
}
