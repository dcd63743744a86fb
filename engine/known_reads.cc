#include "engine/known_reads.h"

#include <string_view>
#include <vector>

namespace edo::engine {

KnownReads::KnownReads(const TableImpl* table, bool on_device)
    : table_(table), on_device_(on_device) {
  const StoreContext& context = table->context();
  cache_ = on_device ? context.device_cache.get() : context.cache.get();
  if (cache_ == nullptr) return;
  for (const Tier& tier : table->tiers()) {
    const gpucache::CachedTable* const place = PlaceOf(tier);
    if (place == nullptr || !cache_->BeginLookAhead(*place).ok()) {
      End();
      return;
    }
    ++begun_;
  }
}

KnownReads::~KnownReads() { End(); }

const gpucache::CachedTable* KnownReads::PlaceOf(const Tier& tier) const {
  return on_device_ ? tier.places.device.get() : tier.places.host.get();
}

void KnownReads::End() {
  if (cache_ == nullptr) return;
  for (size_t t = 0; t < begun_; ++t) cache_->EndLookAhead(*PlaceOf(table_->tiers()[t]));
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
  std::vector<uint64_t> kept;
  for (const Tier& tier : table_->tiers()) {
    if (!cache_->AppendBatch(*PlaceOf(tier), NumbersIn(tier, rows, &kept)).ok()) return End();
  }
}

void KnownReads::Advance() {
  if (cache_ == nullptr) return;
  for (const Tier& tier : table_->tiers()) {
    if (!cache_->AdvanceBatch(*PlaceOf(tier)).ok()) return End();
  }
}

}  // namespace edo::engine
