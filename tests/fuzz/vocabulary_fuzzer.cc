// tokenizer.json and vocab.json as sources of keys.
#include <string_view>

#include "storage/readers/key_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edo::storage;
  auto input = Input::FromMemory("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!input.ok()) return 0;
  auto keys = OpenVocabulary(std::move(*input));
  RowBatch batch;
  if (!keys.ok()) return 0;
  if (const auto got = (*keys)->Next(UINT64_MAX, &batch); !got.ok()) return 0;
  if (batch.key_ends.size() != (*keys)->count()) __builtin_trap();
  return 0;
}
