// What every reader fuzzer does: read the bytes to their end under strict and lenient options. The
// outcome does not matter; crashes, hangs and sanitizer findings do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/readers/readers.h"

namespace edo::storage {

inline void ReadWith(std::string_view bytes, SourceOptions options) {
  options.path = "fuzz";
  auto input = Input::FromMemory("fuzz", bytes);
  if (!input.ok()) return;
  auto reader = OpenRowReaderOn(std::move(*input), options);
  if (!reader.ok()) return;
  RowBatch batch;
  uint64_t rows = 0;
  for (;;) {
    const auto more = (*reader)->Next(&batch);
    if (!more.ok() || !*more) return;
    rows += batch.row_count;
    if (batch.positions.size() != batch.row_count) __builtin_trap();
    if (!batch.codes.empty() != (*reader)->info().codec.has_value()) __builtin_trap();
    if (batch.codes.empty() && batch.values.size() != batch.row_count * batch.dim) __builtin_trap();
    if (rows > (1u << 20)) return;  // a small zstd file may hold very many rows
  }
}

// Strict, then with everything let through. `format` empty: sniffed.
inline void FuzzReader(const uint8_t* data, size_t size, SourceOptions options) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadWith(bytes, options);
  options.non_finite = OnNonFinite::kZero;
  options.invalid_utf8 = OnInvalidUtf8::kReplace;
  options.on_bad_row = OnBadRow::kSkip;
  options.note = [](const ImportNote&) {};
  ReadWith(bytes, options);
}

}  // namespace edo::storage
