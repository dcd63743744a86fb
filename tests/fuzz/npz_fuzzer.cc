// NumPy archives: the zip directory, entries, the choice among arrays; and arrays as keys, which an
// archive would hide behind its checksums.
#include "storage/readers/key_source.h"
#include "tests/fuzz/fuzz_reader.h"

namespace {

void FuzzKeys(std::string_view bytes) {
  using namespace edo::storage;
  auto input = Input::FromMemory("fuzz", bytes);
  if (!input.ok()) return;
  const auto keys = OpenNpyKeys(std::move(*input));
  if (!keys.ok()) return;
  RowBatch batch;
  const auto got = (*keys)->Next(UINT64_MAX, &batch);
  if (!got.ok()) return;
  if (batch.key_ends.size() + batch.int_keys.size() != (*keys)->count()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edo::SourceOptions options;
  options.format = "npz";
  edo::storage::FuzzReader(data, size, options);
  options.keys = "npz:ids";
  options.tensor = "emb";
  edo::storage::FuzzReader(data, size, options);
  FuzzKeys({reinterpret_cast<const char*>(data), size});
  return 0;
}
