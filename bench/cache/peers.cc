#include "bench/cache/peers.h"

#include <algorithm>

namespace edo::bench {

bool Lru::Access(uint32_t row) {
  const bool hit = held_[row];
  if (hit) {
    chain_.Remove(row);
  } else if (chain_.size() == slots_) {
    held_[chain_.Last()] = false;
    chain_.Remove(chain_.Last());
  }
  chain_.PushFirst(row);
  held_[row] = true;
  return hit;
}

void Lfu::Age() {
  for (uint32_t& count : counts_) count /= 2;
  std::vector<std::pair<uint32_t, uint32_t>> aged(by_count_.begin(), by_count_.end());
  for (auto& [count, row] : aged) count /= 2;
  by_count_ = {aged.begin(), aged.end()};
}

bool Lfu::Access(uint32_t row) {
  if (age_every_ != 0 && ++accesses_ % age_every_ == 0) Age();
  const uint32_t count = ++counts_[row];
  if (held_[row]) {
    by_count_.erase({count - 1, row});
    by_count_.insert({count, row});
    return true;
  }
  if (by_count_.size() == slots_) {
    const auto least = by_count_.begin();
    if (count < least->first) return false;
    held_[least->second] = false;
    by_count_.erase(least);
  }
  by_count_.insert({count, row});
  held_[row] = true;
  return false;
}

S3Fifo::S3Fifo(uint32_t rows, uint32_t slots)
    : slots_(slots),
      small_slots_(std::max(1u, slots / 10)),
      main_slots_(slots - small_slots_),
      held_(rows),
      frequency_(rows),
      ghosts_(rows) {}

void S3Fifo::EvictMain() {
  while (!main_.empty()) {
    const uint32_t row = main_.back();
    main_.pop_back();
    if (frequency_[row] == 0) {
      held_[row] = 0;
      return;
    }
    --frequency_[row];
    main_.push_front(row);
  }
}

void S3Fifo::EvictSmall() {
  while (!small_.empty()) {
    const uint32_t row = small_.back();
    small_.pop_back();
    if (frequency_[row] <= 1) {
      held_[row] = 0;
      ++ghosts_[row];
      ghost_.push_front(row);
      if (ghost_.size() > main_slots_) {
        --ghosts_[ghost_.back()];
        ghost_.pop_back();
      }
      return;
    }
    frequency_[row] = 0;
    main_.push_front(row);
    if (main_.size() > main_slots_) EvictMain();
  }
}

bool S3Fifo::Access(uint32_t row) {
  if (held_[row]) {
    frequency_[row] = static_cast<uint8_t>(std::min(3, frequency_[row] + 1));
    return true;
  }
  while (small_.size() + main_.size() >= slots_) {
    if (small_.size() >= small_slots_ || main_.empty()) {
      EvictSmall();
    } else {
      EvictMain();
    }
  }
  frequency_[row] = 0;
  held_[row] = 1;
  (ghosts_[row] ? main_ : small_).push_front(row);
  return false;
}

namespace {

uint64_t SketchPlace(uint32_t row, int i, uint64_t counters) {
  uint64_t z = (uint64_t{row} + 1) * 0x9e3779b97f4a7c15u * (2 * static_cast<uint64_t>(i) + 3);
  z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
  return (z ^ (z >> 32)) % counters;
}

}  // namespace

WTinyLfu::WTinyLfu(uint32_t rows, uint32_t slots)
    : window_slots_(std::max(1u, slots / 100)),
      main_slots_(slots - window_slots_),
      protected_slots_(main_slots_ / 10 * 8),
      window_(rows),
      probation_(rows),
      protected_(rows),
      place_(rows),
      age_at_(uint64_t{slots} * 10) {
  for (auto& counters : counters_) counters.resize(size_t{slots} * 8);
}

uint32_t WTinyLfu::Estimate(uint32_t row) const {
  uint32_t least = 15;
  for (int i = 0; i < 4; ++i) {
    least = std::min<uint32_t>(least, counters_[i][SketchPlace(row, i, counters_[i].size())]);
  }
  return least;
}

void WTinyLfu::Count(uint32_t row) {
  const uint32_t least = Estimate(row);
  for (int i = 0; i < 4 && least < 15; ++i) {
    uint8_t& counter = counters_[i][SketchPlace(row, i, counters_[i].size())];
    if (counter == least) ++counter;
  }
  if (++counted_ < age_at_) return;
  counted_ /= 2;
  for (auto& counters : counters_) {
    for (uint8_t& counter : counters) counter /= 2;
  }
}

void WTinyLfu::Admit(uint32_t candidate) {
  place_[candidate] = kNowhere;
  if (probation_.size() + protected_.size() >= main_slots_) {
    Chain& from = probation_.size() ? probation_ : protected_;
    const uint32_t victim = from.Last();
    if (Estimate(candidate) <= Estimate(victim)) return;
    from.Remove(victim);
    place_[victim] = kNowhere;
  }
  probation_.PushFirst(candidate);
  place_[candidate] = kProbation;
}

bool WTinyLfu::Access(uint32_t row) {
  Count(row);
  switch (place_[row]) {
    case kWindow:
      window_.Remove(row);
      window_.PushFirst(row);
      return true;
    case kProtected:
      protected_.Remove(row);
      protected_.PushFirst(row);
      return true;
    case kProbation:
      probation_.Remove(row);
      protected_.PushFirst(row);
      place_[row] = kProtected;
      if (protected_.size() > protected_slots_) {
        const uint32_t demoted = protected_.Last();
        protected_.Remove(demoted);
        probation_.PushFirst(demoted);
        place_[demoted] = kProbation;
      }
      return true;
    default:
      break;
  }
  window_.PushFirst(row);
  place_[row] = kWindow;
  if (window_.size() > window_slots_) {
    const uint32_t candidate = window_.Last();
    window_.Remove(candidate);
    Admit(candidate);
  }
  return false;
}

Belady::Belady(uint32_t rows, uint32_t slots, const Trace& trace)
    : slots_(slots), next_use_(trace.size()), held_until_(rows) {
  std::vector<uint32_t> use(rows, ~0u);
  for (size_t i = trace.size(); i-- > 0;) {
    next_use_[i] = use[trace[i]];
    use[trace[i]] = static_cast<uint32_t>(i);
  }
}

bool Belady::Access(uint32_t row) {
  const uint32_t next = next_use_[at_++];
  const bool hit = held_until_[row] != 0;
  if (!hit && held_ == slots_) {
    while (held_until_[farthest_.top().second] != farthest_.top().first) farthest_.pop();
    if (farthest_.top().first < next) return false;
    held_until_[farthest_.top().second] = 0;
    farthest_.pop();
    --held_;
  }
  held_ += !hit;
  held_until_[row] = next;
  farthest_.push({next, row});
  return hit;
}

}  // namespace edo::bench
