#include "engine/known_reads.h"

#include <string_view>
#include <vector>

namespace edo::engine {

KnownReads::KnownReads(const TableImpl* table)
    : table_(table),
      cache_(table->places().host != nullptr ? table->context().cache.get() : nullptr) {
  if (cache_ != nullptr && !cache_->BeginLookAhead(*table->places().host).ok()) cache_ = nullptr;
}

KnownReads::~KnownReads() { End(); }

void KnownReads::End() {
  if (cache_ != nullptr) cache_->EndLookAhead(*table_->places().host);
  cache_ = nullptr;
}

void KnownReads::Append(const KeyBatch& keys) {
  if (cache_ == nullptr) return;
  std::span<const uint64_t> rows = keys.rows;
  Resolved resolved;
  if (keys.rows.empty()) {
    const std::vector<std::string_view> tokens(keys.tokens.begin(), keys.tokens.end());
    Result<Resolved> got = keys.ids.empty()
                               ? table_->Resolve(std::span<const std::string_view>(tokens), {})
                               : table_->Resolve(std::span<const int64_t>(keys.ids), {});
    // What cannot be resolved now is a batch of which nothing is known: the others keep their turn.
    if (keys.size() != 0 && got.ok()) {
      resolved = std::move(*got);
      rows = resolved.rows;
    }
  }
  if (!cache_->AppendBatch(*table_->places().host, rows).ok()) End();
}

void KnownReads::Advance() {
  if (cache_ != nullptr && !cache_->AdvanceBatch(*table_->places().host).ok()) End();
}

}  // namespace edo::engine
