#include "engine/known_reads.h"

#include <string_view>
#include <vector>

namespace edo::engine {

KnownReads::KnownReads(const TableImpl* table, bool on_device)
    : table_(table), place_(on_device ? table->places().device : table->places().host) {
  const StoreContext& context = table->context();
  cache_ = on_device ? context.device_cache.get() : context.cache.get();
  if (place_ == nullptr) cache_ = nullptr;
  if (cache_ != nullptr && !cache_->BeginLookAhead(*place_).ok()) cache_ = nullptr;
}

KnownReads::~KnownReads() { End(); }

void KnownReads::End() {
  if (cache_ != nullptr) cache_->EndLookAhead(*place_);
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
  if (!cache_->AppendBatch(*place_, rows).ok()) End();
}

void KnownReads::Advance() {
  if (cache_ != nullptr && !cache_->AdvanceBatch(*place_).ok()) End();
}

}  // namespace edo::engine
