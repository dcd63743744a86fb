// Files of an order of rows: counts and traces, for text and integer keys.
#include "storage/readers/order_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edo;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const OrderKind kind : {OrderKind::kCounts, OrderKind::kTrace}) {
    for (const KeyKind keys : {KeyKind::kText, KeyKind::kInt64}) {
      auto reader = storage::OrderFileReader::OnBytes(bytes, kind, keys);
      if (!reader.ok()) continue;
      storage::KeyLines lines;
      for (;;) {
        const auto more = (*reader)->Next(&lines);
        if (!more.ok() || !*more) break;
        if (lines.lines.empty() || lines.lines.back().end != lines.key_count()) __builtin_trap();
        if (keys == KeyKind::kText && lines.TextKeys().size() != lines.key_count()) {
          __builtin_trap();
        }
      }
    }
  }
  return 0;
}
