#include "gpucache/look_ahead.h"

namespace edo::gpucache {

namespace {
constexpr size_t kLeastPlaces = 64;
}

size_t LookAhead::PlaceOf(uint64_t row) const {
  const size_t mask = known_.size() - 1;
  // The upper half of the product depends on all bits of the row.
  size_t place = static_cast<size_t>((row * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (known_[place].row != kEmpty && known_[place].row != row) place = (place + 1) & mask;
  return place;
}

void LookAhead::Grow() {
  std::vector<Known> old(known_.empty() ? kLeastPlaces : known_.size() * 2);
  old.swap(known_);  // `known_` is the empty one now
  for (const Known& known : old) {
    if (known.row != kEmpty) known_[PlaceOf(known.row)] = known;
  }
}

// Moves the entries behind it up, so that none is cut off from the place where it is looked for.
void LookAhead::Erase(size_t place) {
  const size_t mask = known_.size() - 1;
  known_[place].row = kEmpty;
  for (size_t at = (place + 1) & mask; known_[at].row != kEmpty; at = (at + 1) & mask) {
    const Known moved = known_[at];
    known_[at].row = kEmpty;
    known_[PlaceOf(moved.row)] = moved;
  }
  --count_;
}

void LookAhead::Append(std::span<const uint64_t> rows, std::vector<Use>* changed) {
  changed->clear();
  const uint32_t batch = next_ + batches();
  const uint32_t first = first_use_ + static_cast<uint32_t>(rows_.size());
  uint32_t use = first;
  for (const uint64_t row : rows) {
    if (row == kEmpty) continue;
    if (count_ * 3 >= known_.size() * 2) Grow();
    Known& known = known_[PlaceOf(row)];
    if (known.row == kEmpty) {
      known = {row, batch, use};
      ++count_;
      changed->push_back({row, Ahead(known)});
    } else {
      if (known.last_use - first < use - first) continue;  // twice in this batch
      again_[known.last_use - first_use_] = batch;
      known.last_use = use;
    }
    rows_.push_back(row);
    again_.push_back(0);
    ++use;
  }
  sizes_.push_back(use - first);
}

void LookAhead::Advance(std::vector<Use>* changed) {
  changed->clear();
  if (sizes_.empty()) return;
  ++next_;
  for (uint32_t i = 0; i < sizes_.front(); ++i) {
    const size_t place = PlaceOf(rows_.front());
    Known& known = known_[place];
    if (known.last_use == first_use_) {
      changed->push_back({known.row, 0});
      Erase(place);
    } else {
      known.next_batch = again_.front();
      changed->push_back({known.row, Ahead(known)});
    }
    rows_.pop_front();
    again_.pop_front();
    ++first_use_;
  }
  sizes_.pop_front();
}

uint32_t LookAhead::NextUse(uint64_t row) const {
  if (row == kEmpty || known_.empty()) return 0;
  const Known& known = known_[PlaceOf(row)];
  return known.row == row ? Ahead(known) : 0;
}

std::vector<uint64_t> LookAhead::KnownRows() const {
  std::vector<uint64_t> rows;
  rows.reserve(count_);
  for (const Known& known : known_) {
    if (known.row != kEmpty) rows.push_back(known.row);
  }
  return rows;
}

uint64_t LookAhead::memory_bytes() const {
  return rows_.size() * (sizeof(uint64_t) + sizeof(uint32_t)) + sizes_.size() * sizeof(uint32_t) +
         known_.size() * sizeof(Known);
}

}  // namespace edo::gpucache
